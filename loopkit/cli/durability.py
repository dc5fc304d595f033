"""The option that says when a recording reaches the disk."""

from __future__ import annotations

import argparse

DURABILITIES = ("iteration", "event", "none")


def add_durability(parser: argparse.ArgumentParser) -> None:
    """Declare `--durability`."""
    parser.add_argument(
        "--durability",
        choices=DURABILITIES,
        default=DURABILITIES[0],
        help="what a power failure may take: what came after the last iteration (default), nothing that was acted on "
        "(slower), or what the system had not written yet; a crash of loopkit itself takes nothing",
    )
