"""Makes the recordings again: runs each story live, with a person's decisions, in a session like any interface's.

`python recordings/make.py` makes all of them, `python recordings/make.py plain-success` only those that are named. A story
that needs something which isn't here, such as a real model, keeps its old recording.
"""

import os
import sys
import threading
import time
from pathlib import Path

from loopkit.debugger.demo import DEMO_TASK, demo_agent
from loopkit.debugger.session import Session
from loopkit.debugger.targets import load_agent
from loopkit.outcomes import Approve, Deny, Modify, Respond, Stop

HERE = Path(__file__).parent
STORIES = HERE / "stories"
DEMO = HERE.parent / "loopkit" / "demo" / "flaky-test.jsonl"
DEMO_DECISIONS = {
    "root/2.1": Modify({"rounds": 6, "order": "shuffled"}),
    "root/8.1": Deny("The accountant wants to see them first. Leave them until Friday."),
}
PLAIN_SECONDS, THOUGHTFUL_SECONDS = 0.4, 2.0


def record(agent, task, decisions, path):
    """Run an agent and decide on its calls: as `decisions` says by the call's id, else by approving."""
    path.unlink(missing_ok=True)
    session = Session.start(agent, task, record=path)
    news = threading.Event()
    session.on_change(news.set)
    try:
        while not session.wait(0):
            news.wait(1)
            news.clear()
            session.poll()
            for pending in session.pending():
                decision = decisions.get(pending.call, Approve())
                # a person takes a moment, and the recorded waiting time should look like it
                time.sleep(PLAIN_SECONDS if isinstance(decision, Approve) else THOUGHTFUL_SECONDS)
                decide(session, pending, decision)
    finally:
        session.close()
    if session.error:
        raise SystemExit(f"{path.name}: {session.error}")


def decide(session, pending, decision):
    """Give one decision."""
    match decision:
        case Approve():
            session.approve(pending.call, pending.version)
        case Deny(reason):
            session.deny(pending.call, pending.version, reason)
        case Modify(arguments):
            session.edit(pending.call, pending.version, arguments)
        case Respond(output, is_error):
            session.respond(pending.call, pending.version, output, is_error)
        case Stop(reason):
            session.stop(reason)


def main(names):
    """Make the named recordings, or all."""
    for story in sorted(STORIES.glob("*.py")):
        name = story.stem.replace("_", "-")
        if not names or name in names:
            agent = load_agent(f"{story}:agent")
            module = sys.modules[story.stem]
            needed = getattr(module, "NEEDS", None)
            if needed and not os.environ.get(needed):
                print(f"kept {name}.jsonl: to make it again, set {needed}")
                continue
            record(agent, module.TASK, module.DECISIONS, HERE / f"{name}.jsonl")
            print(f"made {name}.jsonl")
    if not names or DEMO.stem in names:
        record(demo_agent(), DEMO_TASK, DEMO_DECISIONS, DEMO)
        print(f"made {DEMO.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
