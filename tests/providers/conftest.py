"""Fixtures of the provider tests."""

from tests.providers.aimock import aimock
from tests.providers.real_model import real_model

__all__ = ["aimock", "real_model"]
