"""The options of commands whose run others may attach to."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from loopkit.errors import UserError

if TYPE_CHECKING:
    from loopkit.debugger.doors import Door
    from loopkit.debugger.places import Place

ALONE = ("policy", "wait")


def add_serving(parser: argparse.ArgumentParser) -> None:
    """Declare where a run is served, and how it goes on alone."""
    parser.add_argument(
        "--serve",
        metavar="PATH|HOST:PORT",
        nargs="?",
        const="",
        help="let `loopkit attach` debug the run: every call asks whoever is attached; default: a new socket that only you can open",
    )
    parser.add_argument(
        "--unattended",
        choices=ALONE,
        help="with --serve, while nobody is attached: go on as --approve says (policy, default), or wait for somebody at the next call",
    )
    parser.add_argument(
        "--serve-network",
        action="store_true",
        help="with --serve HOST:PORT, let other machines connect; nothing is encrypted",
    )


def place_to_serve(options: argparse.Namespace) -> Place | None:
    """Return where the run is to be served, or None.

    Raises:
        UserError: it is no place, or an option needs --serve.
    """
    if options.serve is None:
        if options.unattended is not None or options.serve_network:
            raise UserError("--unattended and --serve-network need --serve")
        return None
    from loopkit.debugger.places import new_socket_place, read_place

    return read_place(options.serve) if options.serve else new_socket_place()


def tell_where(door: Door) -> None:
    """Say on stderr how to attach."""
    import shlex

    from loopkit.cli.output import warn

    token = "" if door.token_path is None else f" (its token is in {door.token_path})"
    warn(f"served: loopkit attach {shlex.quote(str(door.place))}{token}")
