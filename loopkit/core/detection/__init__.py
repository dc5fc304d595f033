"""Loop detection: what repeats in a loop, told from a bounded window of its last turns (spec/loop.md 6)."""

from loopkit.core.detection.settings import DETECTORS as DETECTORS
from loopkit.core.detection.settings import LoopAction as LoopAction
from loopkit.core.detection.settings import LoopDetectionConfig as LoopDetectionConfig
from loopkit.core.detection.settings import ToolDetection as ToolDetection
from loopkit.core.detection.signatures import batch_name as batch_name
from loopkit.core.detection.signatures import batch_signature as batch_signature
from loopkit.core.detection.turns import Outcome as Outcome
from loopkit.core.detection.turns import Repetition as Repetition
from loopkit.core.detection.turns import told as told
from loopkit.core.detection.watch import Watch as Watch
from loopkit.core.detection.wording import warning_for_model as warning_for_model
