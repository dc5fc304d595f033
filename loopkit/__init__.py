"""A debugger for LLM agents: a replayable loop core, an event log, and interfaces to step through both."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from loopkit.agent import Agent as Agent
    from loopkit.core.config import LoopAction as LoopAction
    from loopkit.core.config import LoopDetectionConfig as LoopDetectionConfig
    from loopkit.core.config import StopContext as StopContext
    from loopkit.core.config import ToolDetection as ToolDetection
    from loopkit.core.config import ToolLoopConfig as ToolLoopConfig
    from loopkit.core.context_tools import ExtractionContext as ExtractionContext
    from loopkit.core.context_tools import ResultCacher as ResultCacher
    from loopkit.core.context_tools import ResultMasking as ResultMasking
    from loopkit.core.depth import LoopContext as LoopContext
    from loopkit.core.depth import LoopDepth as LoopDepth
    from loopkit.core.settings import ToolLoopSettings as ToolLoopSettings
    from loopkit.debugger.recorded import open_recording as open_recording
    from loopkit.drivers.background import StreamedDelta as StreamedDelta
    from loopkit.drivers.fork import fork as fork
    from loopkit.drivers.handle import Completed as Completed
    from loopkit.drivers.handle import Failed as Failed
    from loopkit.drivers.handle import InjectMessages as InjectMessages
    from loopkit.drivers.handle import LoopHandle as LoopHandle
    from loopkit.drivers.handle import Yielded as Yielded
    from loopkit.drivers.replay import replay as replay
    from loopkit.drivers.result import ToolLoopResult as ToolLoopResult
    from loopkit.drivers.resume import resume as resume
    from loopkit.drivers.stream import Done as Done
    from loopkit.drivers.stream import tool_loop_stream as tool_loop_stream
    from loopkit.drivers.tool_loop import tool_loop as tool_loop
    from loopkit.errors import AgentBuildError as AgentBuildError
    from loopkit.errors import MaxDepthExceeded as MaxDepthExceeded
    from loopkit.errors import ProviderError as ProviderError
    from loopkit.errors import RecordedToolError as RecordedToolError
    from loopkit.errors import ReplayDivergence as ReplayDivergence
    from loopkit.errors import ToolError as ToolError
    from loopkit.known_secrets import redact as redact
    from loopkit.messages import ChatResponse as ChatResponse
    from loopkit.messages import Image as Image
    from loopkit.messages import Message as Message
    from loopkit.messages import StopReason as StopReason
    from loopkit.messages import ToolCall as ToolCall
    from loopkit.messages import ToolDefinition as ToolDefinition
    from loopkit.messages import ToolOutput as ToolOutput
    from loopkit.messages import ToolResult as ToolResult
    from loopkit.messages import Usage as Usage
    from loopkit.outcomes import AddMessages as AddMessages
    from loopkit.outcomes import Approve as Approve
    from loopkit.outcomes import Cancelled as Cancelled
    from loopkit.outcomes import Complete as Complete
    from loopkit.outcomes import Continue as Continue
    from loopkit.outcomes import Deny as Deny
    from loopkit.outcomes import EditAnswer as EditAnswer
    from loopkit.outcomes import EditMessage as EditMessage
    from loopkit.outcomes import EditResult as EditResult
    from loopkit.outcomes import LoopDetected as LoopDetected
    from loopkit.outcomes import MaxIterations as MaxIterations
    from loopkit.outcomes import Modify as Modify
    from loopkit.outcomes import Respond as Respond
    from loopkit.outcomes import Stop as Stop
    from loopkit.outcomes import StopCondition as StopCondition
    from loopkit.outcomes import StopWithReason as StopWithReason
    from loopkit.outcomes import TerminationReason as TerminationReason
    from loopkit.outcomes import Timeout as Timeout
    from loopkit.outcomes import ToolApproval as ToolApproval
    from loopkit.outcomes import UnknownTool as UnknownTool
    from loopkit.providers.anthropic import AnthropicMessages as AnthropicMessages
    from loopkit.providers.binding import ModelBinding as ModelBinding
    from loopkit.providers.ollama import Ollama as Ollama
    from loopkit.providers.openai_chat import OpenAIChat as OpenAIChat
    from loopkit.providers.openai_responses import OpenAIResponses as OpenAIResponses
    from loopkit.providers.retrying import RetryPolicy as RetryPolicy
    from loopkit.providers.scripted import ScriptedProvider as ScriptedProvider
    from loopkit.recording.redaction.settings import Redaction as Redaction
    from loopkit.recording.writer import Recorder as Recorder
    from loopkit.tools.definition import tool as tool
    from loopkit.tools.mcp.server import MCPServer as MCPServer
    from loopkit.tools.progress import report_progress as report_progress
    from loopkit.tools.registry import ToolRegistry as ToolRegistry
    from loopkit.tools.retrying import ToolRetry as ToolRetry

_HOMES = {
    "loopkit.agent": ("Agent",),
    "loopkit.core.config": ("LoopAction", "LoopDetectionConfig", "StopContext", "ToolDetection", "ToolLoopConfig"),
    "loopkit.core.context_tools": ("ExtractionContext", "ResultCacher", "ResultMasking"),
    "loopkit.core.depth": ("LoopContext", "LoopDepth"),
    "loopkit.core.settings": ("ToolLoopSettings",),
    "loopkit.drivers.background": ("StreamedDelta",),
    "loopkit.drivers.fork": ("fork",),
    "loopkit.drivers.handle": ("Completed", "Failed", "InjectMessages", "LoopHandle", "Yielded"),
    "loopkit.drivers.replay": ("replay",),
    "loopkit.drivers.result": ("ToolLoopResult",),
    "loopkit.drivers.resume": ("resume",),
    "loopkit.drivers.stream": ("Done", "tool_loop_stream"),
    "loopkit.drivers.tool_loop": ("tool_loop",),
    "loopkit.errors": (
        "AgentBuildError",
        "MaxDepthExceeded",
        "ProviderError",
        "RecordedToolError",
        "ReplayDivergence",
        "ToolError",
    ),
    "loopkit.known_secrets": ("redact",),
    "loopkit.messages": (
        "ChatResponse",
        "Image",
        "Message",
        "StopReason",
        "ToolCall",
        "ToolDefinition",
        "ToolOutput",
        "ToolResult",
        "Usage",
    ),
    "loopkit.outcomes": (
        "EditResult",
        "EditMessage",
        "EditAnswer",
        "AddMessages",
        "Approve",
        "Cancelled",
        "Complete",
        "Continue",
        "Deny",
        "LoopDetected",
        "MaxIterations",
        "Modify",
        "Respond",
        "Stop",
        "StopCondition",
        "StopWithReason",
        "TerminationReason",
        "Timeout",
        "ToolApproval",
        "UnknownTool",
    ),
    "loopkit.providers.anthropic": ("AnthropicMessages",),
    "loopkit.providers.binding": ("ModelBinding",),
    "loopkit.providers.ollama": ("Ollama",),
    "loopkit.providers.openai_chat": ("OpenAIChat",),
    "loopkit.providers.openai_responses": ("OpenAIResponses",),
    "loopkit.providers.retrying": ("RetryPolicy",),
    "loopkit.providers.scripted": ("ScriptedProvider",),
    "loopkit.debugger.recorded": ("open_recording",),
    "loopkit.recording.redaction.settings": ("Redaction",),
    "loopkit.recording.writer": ("Recorder",),
    "loopkit.tools.definition": ("tool",),
    "loopkit.tools.mcp.server": ("MCPServer",),
    "loopkit.tools.progress": ("report_progress",),
    "loopkit.tools.retrying": ("ToolRetry",),
    "loopkit.tools.registry": ("ToolRegistry",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605  # one table serves the lazy lookup and the star import


def __getattr__(name: str) -> object:
    """Load a public name at its first use: `import loopkit` itself loads no framework."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'loopkit' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
