"""Fixtures of the provider tests."""

from tests.providers.aimock import aimock

__all__ = ["aimock"]
