"""Confidence required to call a plan faster or cheaper."""

from __future__ import annotations

from profet_core.advice.certainty import format_certainty, whole_percent
from profet_core.advice.plans import Plan
from profet_core.latency import LEVEL

#: Below this confidence two offers are statistically tied.
CLOSE_CALL = 0.80
#: The threshold for unprofiled GPUs: the interval must exclude a tie, and the 90% interval leaves 5% on that side.
#: `profet validate --transfer` shows how often such statements about the A10G were right.
CLOSE_CALL_OF_ESTIMATES = (1 + LEVEL) / 2


def is_claimed(chance: float, a: Plan, b: Plan) -> bool:
    """Whether that probability, in whole percent as shown, is enough to state that one plan beats the other."""
    least = CLOSE_CALL if a.basis.is_profiled and b.basis.is_profiled else CLOSE_CALL_OF_ESTIMATES
    return whole_percent(chance) >= whole_percent(least)


def why_too_close(certainty: float) -> str:
    """Suffix for a probability that is too low only because a GPU is unprofiled; else empty."""
    if whole_percent(certainty) < whole_percent(CLOSE_CALL):
        return ""
    return f"; unprofiled GPUs need {format_certainty(CLOSE_CALL_OF_ESTIMATES)}"
