"""What happened in a run: past-tense facts, and the envelope that orders them (DESIGN §3).

*Inputs* come from outside and can't be recomputed. *Derived* facts follow from the inputs and are checked by replay.
A loop's path is `root`, or its parent's call and an ordinal: `root/3.2#1`. A call's id is its loop's path, its
iteration and its position in the response, both from 1: `root/3.2`.
"""

from __future__ import annotations

from typing import TypeAlias

from loopkit.events.derived import DecisionRequested as DecisionRequested
from loopkit.events.derived import IterationStarted as IterationStarted
from loopkit.events.derived import LoopFailed as LoopFailed
from loopkit.events.derived import LoopFinished as LoopFinished
from loopkit.events.derived import ModelRequested as ModelRequested
from loopkit.events.derived import RepetitionDetected as RepetitionDetected
from loopkit.events.derived import ResultsMasked as ResultsMasked
from loopkit.events.derived import ToolSkipped as ToolSkipped
from loopkit.events.derived import ToolStarted as ToolStarted
from loopkit.events.edits import AgentChanged as AgentChanged
from loopkit.events.edits import AnswerEdited as AnswerEdited
from loopkit.events.edits import EditRefused as EditRefused
from loopkit.events.edits import ResultEdited as ResultEdited
from loopkit.events.fact import NO_PROBLEMS as NO_PROBLEMS
from loopkit.events.fact import ROOT as ROOT
from loopkit.events.fact import CallVerdict as CallVerdict
from loopkit.events.fact import Derived as Derived
from loopkit.events.fact import Event as Event
from loopkit.events.fact import Fact as Fact
from loopkit.events.fact import Failure as Failure
from loopkit.events.fact import Input as Input
from loopkit.events.fact import Unrecognised as Unrecognised
from loopkit.events.fact import call_key as call_key
from loopkit.events.fact import child_path as child_path
from loopkit.events.inputs import CallbackFailed as CallbackFailed
from loopkit.events.inputs import ClockRead as ClockRead
from loopkit.events.inputs import Decided as Decided
from loopkit.events.inputs import DecisionExpired as DecisionExpired
from loopkit.events.inputs import DecisionRefused as DecisionRefused
from loopkit.events.inputs import HistoryEdited as HistoryEdited
from loopkit.events.inputs import LoopStarted as LoopStarted
from loopkit.events.inputs import MessagesInjected as MessagesInjected
from loopkit.events.inputs import ModelAttemptFailed as ModelAttemptFailed
from loopkit.events.inputs import ModelInterrupted as ModelInterrupted
from loopkit.events.inputs import ModelReplied as ModelReplied
from loopkit.events.inputs import Paused as Paused
from loopkit.events.inputs import RecordingEnded as RecordingEnded
from loopkit.events.inputs import Reopened as Reopened
from loopkit.events.inputs import ResultProcessed as ResultProcessed
from loopkit.events.inputs import Resumed as Resumed
from loopkit.events.inputs import RunStopped as RunStopped
from loopkit.events.inputs import StopAnswered as StopAnswered
from loopkit.events.inputs import StopCommanded as StopCommanded
from loopkit.events.inputs import ToolAbandoned as ToolAbandoned
from loopkit.events.inputs import ToolAttemptFailed as ToolAttemptFailed
from loopkit.events.inputs import ToolEndedLate as ToolEndedLate
from loopkit.events.inputs import ToolFailed as ToolFailed
from loopkit.events.inputs import ToolProgressed as ToolProgressed
from loopkit.events.inputs import ToolReturned as ToolReturned

AnyFact: TypeAlias = (
    LoopStarted
    | ClockRead
    | ModelAttemptFailed
    | ModelReplied
    | ModelInterrupted
    | StopAnswered
    | CallbackFailed
    | Decided
    | DecisionRefused
    | DecisionExpired
    | ToolProgressed
    | ToolAttemptFailed
    | ToolReturned
    | ToolFailed
    | ToolAbandoned
    | ToolEndedLate
    | ResultProcessed
    | MessagesInjected
    | HistoryEdited
    | AgentChanged
    | AnswerEdited
    | ResultEdited
    | EditRefused
    | Paused
    | Resumed
    | Reopened
    | StopCommanded
    | RunStopped
    | RecordingEnded
    | IterationStarted
    | ModelRequested
    | RepetitionDetected
    | DecisionRequested
    | ToolStarted
    | ToolSkipped
    | ResultsMasked
    | LoopFinished
    | LoopFailed
)
FACT_CLASSES: dict[str, type[Fact]] = {cls.__name__: cls for cls in AnyFact.__args__}
