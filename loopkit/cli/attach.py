"""Debug a run of another process in the terminal: one that was started with `loopkit run --serve`.

WHERE is the socket's path or HOST:PORT that it is served at; without it, the one session that you serve on this
machine. The first viewer decides on calls and steers, others see the same; --take-over decides in its place. Leaving
detaches: the run goes on, by its policy or waiting, as its --unattended says.

A port wants a token: the file that the run names on its stderr (--token-file), or the variable LOOPKIT_TOKEN. On the
same machine it is found by itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopkit.debugger.places import Role


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "where", metavar="WHERE", nargs="?", help="a socket's path, HOST:PORT, or a port of this machine"
    )
    role = parser.add_mutually_exclusive_group()
    role.add_argument("--watch", action="store_true", help="only look, also when nobody decides")
    role.add_argument("--take-over", action="store_true", help="decide, also when somebody else does")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="holds the token of a port")


def run(options: argparse.Namespace) -> int:
    """Attach, and open the terminal interface on the session."""
    from loopkit.cli.interfaces import start_interface
    from loopkit.debugger.listening import only_place
    from loopkit.debugger.places import PortPlace, read_place, token_for
    from loopkit.debugger.remote import attach

    place = only_place() if options.where is None else read_place(options.where)
    token = token_for(place, options.token_file) if isinstance(place, PortPlace) else ""
    role: Role = "watch" if options.watch else "take over" if options.take_over else "decide"
    session = attach(place, role, token=token)
    try:
        return start_interface("tui", session=session)
    finally:
        session.close()
