"""From which certainty on one plan is claimed to be faster or cheaper than another."""

from __future__ import annotations

from profet_core.advice.certainty import format_certainty, whole_percent
from profet_core.advice.plans import Plan
from profet_core.latency import LEVEL

#: Below this confidence two offers are statistically tied.
CLOSE_CALL = 0.80
#: The same where the GPU of one was not profiled: the interval must exclude a tie, and the 90% one leaves 5% on that
#: side. How often such claims about the A10G came true is in `profet validate --transfer`.
CLOSE_CALL_OF_ESTIMATES = (1 + LEVEL) / 2


def is_claimed(chance: float, a: Plan, b: Plan) -> bool:
    """Whether one of two plans is claimed to beat the other at that chance: by the percent of it that is shown."""
    least = CLOSE_CALL if a.basis.is_profiled and b.basis.is_profiled else CLOSE_CALL_OF_ESTIMATES
    return whole_percent(chance) >= whole_percent(least)


def why_too_close(certainty: float) -> str:
    """Follows a chance that makes no claim though it would between steps of profiled GPUs; else empty."""
    if whole_percent(certainty) < whole_percent(CLOSE_CALL):
        return ""
    return f"; unprofiled GPUs need {format_certainty(CLOSE_CALL_OF_ESTIMATES)}"
