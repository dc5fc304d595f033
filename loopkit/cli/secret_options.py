"""The options that say what is hidden in a recording, and what stands behind its placeholders."""

from __future__ import annotations

import argparse
import os

from loopkit.errors import UserError


def add_redaction(parser: argparse.ArgumentParser) -> None:
    """Declare `--no-redaction`."""
    parser.add_argument(
        "--no-redaction",
        action="store_true",
        help="write secrets into the recording as they are (default: placeholders in their place)",
    )


def add_secrets(parser: argparse.ArgumentParser) -> None:
    """Declare `--secret`."""
    parser.add_argument(
        "--secret",
        metavar="PLACEHOLDER=VARIABLE",
        action="append",
        default=[],
        help="the environment variable that holds what a placeholder stands for, such as password-1=DB_PASSWORD",
    )


def secrets_given(options: argparse.Namespace) -> dict[str, str]:
    """Return the values of placeholders, read from the environment, so that they stand in no history of commands.

    Raises:
        UserError: an option is no such pair, or the variable isn't set.
    """
    secrets: dict[str, str] = {}
    for pair in options.secret:
        placeholder, equals, variable = pair.partition("=")
        if not (placeholder and equals and variable):
            raise UserError("--secret names a placeholder and an environment variable: --secret password-1=DB_PASSWORD")
        if variable not in os.environ:
            raise UserError(f"--secret {placeholder}: the environment variable {variable} is not set")
        secrets[placeholder] = os.environ[variable]
    return secrets


__all__ = ["add_redaction", "add_secrets", "secrets_given"]
