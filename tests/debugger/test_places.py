"""Where sessions are served: nobody else gets in, and what can't be opened or reached is one clear line."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from loopkit.debugger.doors import Door
from loopkit.debugger.listening import connect, only_place
from loopkit.debugger.places import (
    PortPlace,
    SocketPlace,
    new_socket_place,
    private_folder,
    read_place,
    token_file,
    token_for,
    write_token,
)
from loopkit.errors import UserError


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder of its own, with a name as short as a socket's path must be."""
    monkeypatch.delenv("LOOPKIT_TOKEN", raising=False)
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a/run.sock", SocketPlace(Path("a/run.sock"))),
        ("run.sock", SocketPlace(Path("run.sock"))),
        ("/tmp/x", SocketPlace(Path("/tmp/x"))),
        ("~/x", SocketPlace(Path("~/x").expanduser())),
        ("4000", PortPlace("127.0.0.1", 4000)),
        (":4000", PortPlace("127.0.0.1", 4000)),
        ("localhost:0", PortPlace("localhost", 0)),
        ("[::1]:4000", PortPlace("::1", 4000)),
    ],
)
def test_a_place_is_read_as_a_person_writes_it(text: str, place: object) -> None:
    assert read_place(text) == place


@pytest.mark.parametrize(
    "text", ["", "here", "host:", "host:x", "host:65536", "a b:1", "1:2:3", "٣", "x:٣", "[::1]", "\x1b:1"]
)
def test_what_is_no_place_is_one_line(text: str) -> None:
    with pytest.raises(UserError, match="is no place for a session") as refusal:
        read_place(text)
    assert "\x1b" not in str(refusal.value)


def test_a_socket_is_its_owners_only_and_gone_at_the_end(runtime: Path) -> None:
    place = new_socket_place()
    with closing(Door(place)) as door:
        assert door.token is None
        assert place.path.parent == runtime / "loopkit"
        assert place.path.stat().st_mode & 0o777 == 0o600
        assert place.path.parent.stat().st_mode & 0o777 == 0o700
        assert only_place() == place
        connect(place).close()
        assert new_socket_place() != place
    assert not place.path.exists()
    with pytest.raises(UserError, match="no session is served here"):
        only_place()


def test_a_folder_that_others_may_enter_is_not_used(runtime: Path) -> None:
    private_folder().chmod(0o755)
    with pytest.raises(UserError, match="only you can enter"):
        private_folder()
    (runtime / "loopkit").rmdir()
    (runtime / "elsewhere").mkdir(mode=0o700)
    (runtime / "loopkit").symlink_to(runtime / "elsewhere")
    with pytest.raises(UserError, match="only you can enter"):
        private_folder()


def test_a_socket_that_a_killed_process_left_is_replaced_and_nothing_else(runtime: Path) -> None:
    path = runtime / "x.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with closing(Door(SocketPlace(path))), pytest.raises(UserError, match="a session is served there already"):
        Door(SocketPlace(path))
    path.write_text("precious")
    with pytest.raises(UserError, match="no socket"):
        Door(SocketPlace(path))
    assert path.read_text() == "precious"
    with pytest.raises(UserError, match="at most 103 bytes"):
        Door(SocketPlace(runtime / ("x" * 200)))
    with pytest.raises(UserError, match="can't be served there"):
        Door(SocketPlace(runtime / "none" / "x.sock"))


def test_several_sessions_are_named() -> None:
    first, second = new_socket_place(), SocketPlace(private_folder() / "other.sock")
    with closing(Door(first)), closing(Door(second)), pytest.raises(UserError, match="several") as refusal:
        only_place()
    assert str(first.path) in str(refusal.value)
    assert str(second.path) in str(refusal.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_port_is_open_to_this_machine_only_unless_asked_for(host: str) -> None:
    with pytest.raises(UserError, match="other machines could reach it"):
        Door(PortPlace(host, 0))
    if host == "0.0.0.0":
        with closing(Door(PortPlace(host, 0), network=True)) as door:
            assert door.token


def test_a_token_is_kept_for_its_owner_and_new_each_time() -> None:
    with closing(Door(PortPlace("127.0.0.1", 0))) as door, closing(Door(PortPlace("127.0.0.1", 0))) as other:
        assert isinstance(door.place, PortPlace)
        assert door.token_path is not None
        assert token_for(door.place) == door.token != other.token
        assert door.token_path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UserError, match="there is no token for 127"):
        token_for(door.place)


def test_a_token_may_be_given_and_is_not_kept_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOOPKIT_TOKEN", "short")
    with pytest.raises(UserError, match="LOOPKIT_TOKEN: a token has 16 to 512 ASCII characters"):
        Door(PortPlace("127.0.0.1", 0))
    monkeypatch.setenv("LOOPKIT_TOKEN", "long enough for it")
    with closing(Door(PortPlace("127.0.0.1", 0))) as door:
        assert isinstance(door.place, PortPlace)
        assert (door.token, door.token_path) == ("long enough for it", None)
        assert token_for(door.place) == "long enough for it"
        file = tmp_path / "token"
        file.write_text("another one, also long\n")
        assert token_for(door.place, file) == "another one, also long"
        for wrong in ("x", "é" * 20, "two lines of it\nand more"):
            file.write_text(wrong)
            with pytest.raises(UserError):
                token_for(door.place, file)


def test_a_token_never_goes_through_a_link_that_was_planted(runtime: Path) -> None:
    path = token_file(PortPlace("127.0.0.1", 4000))
    (runtime / "other").write_text("precious")
    path.symlink_to(runtime / "other")
    write_token(path, "a token that is long enough")
    assert (runtime / "other").read_text() == "precious"
    assert not path.is_symlink()


def test_a_place_where_nobody_serves_is_one_line(runtime: Path) -> None:
    for place in (SocketPlace(runtime / "none.sock"), SocketPlace(Path("a\0b.sock")), PortPlace("127.0.0.1", 1)):
        with pytest.raises(UserError) as refusal:
            connect(place)
        assert "\n" not in str(refusal.value)
        assert os.sep not in str(refusal.value).partition(":")[2]
