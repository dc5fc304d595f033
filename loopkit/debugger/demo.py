"""The bundled demo, for the interfaces."""

from __future__ import annotations

from loopkit.demo import DEMO_TASK, demo_agent

__all__ = ["DEMO_TASK", "demo_agent"]
