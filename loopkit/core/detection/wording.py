"""What the model is told of its own repetition (spec/loop.md 6.4)."""

from __future__ import annotations

from loopkit.core.detection import settings as names

_WORDS = {
    names.IDENTICAL_BATCHES: "You have made the same tool call {count} times in a row: {tool}. "
    "Repeating it will not give another result. Try another approach, or answer with what you have.",
    names.CYCLE: "You have gone through the same tool calls {count} times in the same order: {tool}. "
    "Another round will not change anything. Try another approach, or answer with what you have.",
    names.SAME_RESULT: "{tool} has given you the same result {count} times for the same arguments. "
    "Asking again will not give another one. Work with it, or try another approach.",
    names.REPEATED_ERRORS: "{tool} has failed {count} times in a row. "
    "Read the errors before you use it again, or reach the goal another way.",
    names.REPEATED_TEXT: "You have said the same words {count} times, now with {tool}. "
    "Say what is different this time, try another approach, or answer with what you have.",
    names.UNKNOWN_TOOLS: "You have asked for tools that do not exist {count} times in a row: {tool}. "
    "Use the tools that you were given, or answer without them.",
}


def warning_for_model(tool_name: str, count: int, detector: str = names.IDENTICAL_BATCHES) -> str:
    """Return the injected warning, which names the tool and the count (spec/loop.md 6.4)."""
    words = _WORDS.get(detector, _WORDS[names.IDENTICAL_BATCHES])
    return words.format(count=count, tool=tool_name)
