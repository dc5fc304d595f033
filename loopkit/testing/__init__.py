"""For tests of agents: replay a recording in a test with the network blocked, and say what its run should have done.

Names are loaded at their first use, so that the pytest plugin costs a test session nothing until it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopkit.testing.failures import ReplayFailed as ReplayFailed
    from loopkit.testing.faults import FailingModel as FailingModel
    from loopkit.testing.faults import FailingTool as FailingTool
    from loopkit.testing.faults import Fault as Fault
    from loopkit.testing.faults import GarbledAnswer as GarbledAnswer
    from loopkit.testing.faults import GarbledResult as GarbledResult
    from loopkit.testing.faults import LateResult as LateResult
    from loopkit.testing.faults import SlowModel as SlowModel
    from loopkit.testing.faults import SlowTool as SlowTool
    from loopkit.testing.faulty_replay import replay_with_faults as replay_with_faults
    from loopkit.testing.network import NetworkBlocked as NetworkBlocked
    from loopkit.testing.network import no_network as no_network
    from loopkit.testing.observing import observe as observe
    from loopkit.testing.observing import observe_sync as observe_sync
    from loopkit.testing.replayer import LoopkitReplay as LoopkitReplay
    from loopkit.testing.replays import assert_replays as assert_replays
    from loopkit.testing.replays import explain as explain
    from loopkit.testing.trajectory import Trajectory as Trajectory
    from loopkit.testing.wanted_calls import Call as Call

_HOMES = {
    "loopkit.testing.faults": (
        "FailingModel",
        "FailingTool",
        "Fault",
        "GarbledAnswer",
        "GarbledResult",
        "LateResult",
        "SlowModel",
        "SlowTool",
    ),
    "loopkit.testing.failures": ("ReplayFailed",),
    "loopkit.testing.faulty_replay": ("replay_with_faults",),
    "loopkit.testing.network": ("NetworkBlocked", "no_network"),
    "loopkit.testing.observing": ("observe", "observe_sync"),
    "loopkit.testing.replayer": ("LoopkitReplay",),
    "loopkit.testing.replays": ("assert_replays", "explain"),
    "loopkit.testing.trajectory": ("Trajectory",),
    "loopkit.testing.wanted_calls": ("Call",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605  # one table serves the lazy lookup and the star import


def __getattr__(name: str) -> object:
    """Load a public name at its first use."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'loopkit.testing' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
