"""Servers that nobody here wrote: `mcp-server-git` from PyPI and the file system server from npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.messages import ToolOutput
from loopkit.tools.mcp import MCPServer
from loopkit.tools.registry import ToolRegistry
from tests.providers.aimock import unavailable
from tests.tools.mcp.kitchen import by_name, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.wire]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for words in ("init -q -b main", "config user.email a@example.com", "config user.name A"):
        subprocess.run(["git", "-C", str(tmp_path), *words.split()], check=True)
    tmp_path.joinpath("soup.txt").write_text("salt")
    return tmp_path


async def test_the_git_server_reads_and_writes_a_repository(repository: Path) -> None:
    command = [sys.executable, "-m", "mcp_server_git", "--repository", str(repository)]
    async with MCPServer(command, timeout=30) as tools:
        git = by_name(tools)
        effects = {name: git[name].definition.side_effect for name in ("git_status", "git_add", "git_commit")}
        assert effects == {"git_status": "read", "git_add": "idempotent", "git_commit": None}
        assert "soup.txt" in await text_of(git["git_status"], repo_path=str(repository))
        await text_of(git["git_add"], repo_path=str(repository), files=["soup.txt"])
        assert "committed" in await text_of(git["git_commit"], repo_path=str(repository), message="soup")
        (problem,) = git["git_add"].problems({"repo_path": str(repository)})
        assert problem.message == "'files' is missing"
        outside = await git["git_status"](repo_path=str(repository.parent))
        assert isinstance(outside, ToolOutput)
        assert outside.is_error


async def test_the_file_system_server_reads_and_writes_files(tmp_path: Path) -> None:
    folder = os.environ.get("LOOPKIT_MCP_SERVERS", "")
    script = Path(folder, "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
    node = shutil.which("node")
    if not folder or not script.is_file() or node is None:  # noqa: ASYNC240  # once, before anything runs
        unavailable(
            "this test needs the npm file system server: "
            "export LOOPKIT_MCP_SERVERS=$(.ci/install-mcp-servers), with node installed"
        )
    async with MCPServer([str(node), str(script), str(tmp_path)], prefix="fs_") as tools:
        fs = by_name(tools)
        assert ToolRegistry(tools).names == tuple(fs)
        effects = {
            name: fs[name].definition.side_effect for name in ("fs_read_text_file", "fs_write_file", "fs_edit_file")
        }
        assert effects == {"fs_read_text_file": "read", "fs_write_file": "idempotent", "fs_edit_file": "irreversible"}
        soup = str(tmp_path / "soup.txt")
        await text_of(fs["fs_write_file"], path=soup, content="salt\n")
        assert await text_of(fs["fs_read_text_file"], path=soup) == "salt\n"
        tmp_path.joinpath("dot.png").write_bytes(b"\x89PNG")
        assert "image/png, 4 bytes" in await text_of(fs["fs_read_media_file"], path=str(tmp_path / "dot.png"))
        outside = await fs["fs_read_text_file"](path="/etc/hostname")
        assert isinstance(outside, ToolOutput)
        assert outside.is_error
        assert "denied" in str(outside.content)
