"""Finds an interface by its entry point, so that the command line depends on none."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from loopkit.errors import UserError

if TYPE_CHECKING:
    from loopkit.debugger.session import Session

GROUP = "loopkit.interfaces"


def start_interface(
    name: str,
    target: str | None = None,
    task: str | None = None,
    *,
    session: Session | None = None,
    policy: str | None = None,
) -> int:
    """Load an interface and hand it the target.

    Args:
        name: of the entry point and of the extra that brings its dependencies.
        target: what the person named, or None.
        task: what a named agent is asked to do, or None.
        session: a run to show, instead of a target.
        policy: a file of rules that decide on the calls of a named agent, or None.

    Raises:
        UserError: the interface, or what it needs, is not installed.
    """
    interface = _load(name)
    if session is not None:
        return int(interface(session=session) or 0)
    return int((interface(target, task) if policy is None else interface(target, task, policy=policy)) or 0)


def _load(name: str) -> Any:
    found: EntryPoint | None = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        raise UserError(f"the {name!r} interface is not installed: {_install(name)}")
    try:
        return found.load()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing.startswith("loopkit") and missing != found.module.partition(".")[0]:
            raise
        raise UserError(
            f"the {name!r} interface is installed without what it needs: {_install(name)} (there is no {missing})"
        ) from error


def _install(name: str) -> str:
    return f"pip install 'loopkit[{name}]'"
