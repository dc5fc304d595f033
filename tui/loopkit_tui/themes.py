"""The two looks: a dark one and a light one, calm grounds and one accent."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="loopkit-dark",
    dark=True,
    primary="#7aa2f7",
    secondary="#7dcfcf",
    accent="#e0af68",
    warning="#e5c07b",
    error="#f2777a",
    success="#8fc98b",
    foreground="#cdd3e0",
    background="#14171f",
    surface="#191d27",
    panel="#222735",
    variables={
        "muted": "#7d869c",
        "rule": "#343b4d",
        "person": "#c8a0f0",
        "heading": "#f0f3fa",
        "cursor-ground": "#2c3650",
        "away-ground": "#232938",
        "bar-ground": "#1d2230",
        "wait-ground": "#3a3020",
        "string": "#a9c9a4",
        "number": "#e0b48a",
    },
)
LIGHT = Theme(
    name="loopkit-light",
    dark=False,
    primary="#2f5fc4",
    secondary="#0f7b83",
    accent="#9a5b00",
    warning="#8a6100",
    error="#b3262e",
    success="#2b7a3a",
    foreground="#2a2f3a",
    background="#faf9f6",
    surface="#f4f2ed",
    panel="#e9e6df",
    variables={
        "muted": "#6d7280",
        "rule": "#d5d1c7",
        "person": "#7a3fb0",
        "heading": "#10131a",
        "cursor-ground": "#d8e3fb",
        "away-ground": "#e8e9ec",
        "bar-ground": "#efece5",
        "wait-ground": "#fbeccb",
        "string": "#3d6b39",
        "number": "#8a4f12",
    },
)
THEMES = (DARK, LIGHT)
