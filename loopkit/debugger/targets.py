"""What a person may name on a command line: an agent in their code, a recording, a folder of recordings."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

from loopkit.agent import Agent
from loopkit.debugger.display import one_line
from loopkit.errors import AgentBuildError, AgentPathError, LoopkitError, UserError

_NOT_THE_USERS = tuple(
    str(Path(path).resolve()) + os.sep
    for path in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        str(Path(__file__).parents[1]),
    )
)


@dataclass(frozen=True, slots=True)
class Target:
    """What a word on the command line means.

    Args:
        kind: which of the three it is.
        text: the path, or the agent's `path.py:name` or `package.module:name`.
    """

    kind: Literal["recording", "folder", "agent"]
    text: str


def find_target(text: str) -> Target:
    """Tell a recording, a folder and an agent apart.

    Raises:
        UserError: it is none of them.
    """
    if not text.strip():
        raise UserError("nothing is named: name a recording, a folder, or an agent as path.py:name")
    path = Path(text).expanduser()
    if path.is_dir():
        return Target("folder", str(path))
    if path.exists() and path.suffix != ".py":
        return Target("recording", str(path))
    if path.suffix == ".py" or _is_agent_spec(text):
        return Target("agent", text)
    raise UserError(
        f"{one_line(text)}: there is no such file or folder; an agent is named as path.py:name or package.module:name"
    )


def load_agent(spec: str, *, anew: bool = False) -> Agent:
    """Import the agent that `path.py:name` or `package.module:name` names.

    Args:
        anew: read its code, and what it imports from beside it, once more.

    Raises:
        AgentPathError: the file, the module or the name is missing, importing it fails, or it is no agent.
    """
    place, colon, name = spec.rpartition(":")
    if not colon:
        place, name = spec, ""
    if anew:
        _forget(place)
    module = _load_file(place) if _names_a_file(place) else _load_module(place)
    if not name:
        raise AgentPathError(f"{one_line(place)}: say which agent, as {one_line(place)}:NAME; {_agents_in(module)}")
    value: object = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise AgentPathError(f"{one_line(place)} has no {one_line(name)!r}; {_agents_in(module)}")
        value = getattr(value, part)
    if not isinstance(value, Agent):
        kind = type(value).__name__
        raise AgentPathError(f"{one_line(spec)} is not an Agent but of type {kind}; {_agents_in(module)}")
    return value


def recordings_folder() -> Path:
    """Return where recordings are kept.

    `LOOPKIT_RECORDINGS` decides; without it, `./recordings` when it is there, else a folder of the user's data.
    """
    chosen = os.environ.get("LOOPKIT_RECORDINGS")
    if chosen:
        return Path(chosen).expanduser()
    here = Path("recordings")
    if here.is_dir():
        return here
    data = os.environ.get("XDG_DATA_HOME")
    base = Path(data) if data and Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "loopkit" / "recordings"


def new_recording_path(agent_name: str) -> Path:
    """Return a path in the recordings folder that no file has yet; the folder is made.

    Args:
        agent_name: becomes part of the file's name.

    Raises:
        UserError: the folder can't be made.
    """
    folder = recordings_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: recordings can't be kept here ({error.strerror}); name a file, or set LOOPKIT_RECORDINGS"
        ) from None
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", agent_name).strip("-")[:40] or "agent"
    stem = f"{time.strftime('%Y-%m-%d-%H%M%S')}-{words}"
    path = folder / f"{stem}.jsonl"
    ordinal = 2
    while path.exists():
        path = folder / f"{stem}-{ordinal}.jsonl"
        ordinal += 1
    return path


def _is_agent_spec(text: str) -> bool:
    place, colon, name = text.rpartition(":")
    return bool(colon and place and name) and (_names_a_file(place) or _is_dotted(place))


def _names_a_file(place: str) -> bool:
    return place.endswith(".py") or os.sep in place


def _is_dotted(place: str) -> bool:
    return all(part.isidentifier() for part in place.split("."))


def _agents_in(module: ModuleType) -> str:
    # a module may name agents in `__all__` that it makes at their first use
    candidates = dict.fromkeys([*vars(module), *getattr(module, "__all__", ())])
    names = [name for name in candidates if isinstance(getattr(module, name, None), Agent)]
    if not names:
        return "there is no agent in it"
    return f"{'agent' if len(names) == 1 else 'agents'} in it: {one_line(', '.join(names))}"


def _forget(place: str) -> None:
    """Have the user's own code beside an agent imported again at its next import."""
    if _names_a_file(place):
        folder = str(Path(place).expanduser().resolve().parent) + os.sep
        for name, module in list(sys.modules.items()):
            file: str = getattr(module, "__file__", None) or "<none>"
            beside = str(Path(file).resolve()).startswith(folder)
            if beside and _is_the_users(file) and name != "__main__":
                del sys.modules[name]
    else:
        package = place.partition(".")[0]
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            if package != __name__.partition(".")[0]:
                del sys.modules[name]
    importlib.invalidate_caches()


def _load_file(place: str) -> ModuleType:
    path = Path(place).expanduser()
    if path.is_dir():
        raise AgentPathError(f"{one_line(place)} is a folder; name a Python file in it")
    if not path.is_file():
        raise AgentPathError(f"{one_line(place)}: there is no such file")
    path = path.resolve()
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = _free_module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AgentPathError(f"{one_line(place)} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise AgentPathError(_import_failure(place, error)) from error
    return module


def _free_module_name(path: Path) -> str:
    """The file's own name, as a plain import would give it, unless another module has it."""
    name = path.stem
    other = sys.modules.get(name)
    if other is None or getattr(other, "__file__", None) == str(path):
        return name
    return f"agent_file_{re.sub('[^A-Za-z0-9_]', '_', name)}"


def _load_module(place: str) -> ModuleType:
    if not _is_dotted(place):
        names_none = f"{one_line(place)} names no agent;" if place.strip() else "no agent is named;"
        raise AgentPathError(f"{names_none} write path.py:name or package.module:name")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{place}.".startswith(f"{error.name}."):
            raise AgentPathError(
                f"there is no module {one_line(error.name)!r} here or in this environment; "
                "an agent in a file is named as path.py:name"
            ) from None
        raise AgentPathError(_import_failure(place, error)) from error
    except (Exception, SystemExit) as error:
        raise AgentPathError(_import_failure(place, error)) from error


def _import_failure(place: str, error: BaseException) -> str:
    """Say what went wrong in the user's own code, at the innermost line that is theirs."""
    if isinstance(error, SyntaxError):
        where = f"{_shown(error.filename or place)}, line {error.lineno}"
        return one_line(f"{where}: syntax error: {error.msg}", 400)
    words = _words(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_the_users(frame.filename)]
    if not frames:
        return one_line(f"{place} can't be imported: {words}", 400)
    frame = frames[-1]
    return one_line(f"{_shown(frame.filename)}, line {frame.lineno}: {words}", 400)


def _words(error: BaseException) -> str:
    if not str(error):
        return type(error).__name__
    own = isinstance(error, (LoopkitError, AgentBuildError))
    return str(error) if own else f"{type(error).__name__}: {error}"


def _is_the_users(filename: str) -> bool:
    return not filename.startswith("<") and not str(Path(filename).resolve()).startswith(_NOT_THE_USERS)


def _shown(filename: str) -> str:
    """A path as the person would write it from here."""
    try:
        return str(Path(filename).resolve().relative_to(Path.cwd()))
    except ValueError:
        return filename
