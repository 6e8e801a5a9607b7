"""The best plan in one respect, and how sure it is that no other GPU's is better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from profet_core.advice.certainty import INTERVAL_LEVEL, format_certainty
from profet_core.advice.plans import Plan, compare

#: Below this chance that one offer beats another there is no telling them apart.
CLOSE_CALL = 0.80
#: The same where the GPU of one was not profiled: the interval must exclude a tie, and the 90 % one leaves 5 % on that
#: side. How often such claims about the A10G came true is in `profet validate --transfer`.
CLOSE_CALL_OF_ESTIMATES = (1 + INTERVAL_LEVEL) / 2

#: What a pick can be best in -> the figure that decides it.
RESPECTS = {"faster": "total_s", "cheaper": "total_usd"}


@dataclass(frozen=True, slots=True)
class Pick:
    """The best plan in one respect.

    Attributes
    ----------
    respect : "faster" or "cheaper".
    certainty : chance that it is so than `rival`, 0 to 1; None without intervals or rival.
    rival : the plan that it is least surely better than, one too close to call before others; None if there is no
        other GPU.
    """

    plan: Plan
    respect: str
    certainty: float | None
    rival: Plan | None

    @property
    def too_close(self) -> bool:
        """Whether the rival may as well be the better one."""
        return self.certainty is not None and self.certainty < claim_from(self.plan, self.rival)


def claim_from(a: Plan, b: Plan) -> float:
    """The chance from which on it is said that one of two plans beats the other."""
    return CLOSE_CALL if all(plan.basis.is_profiled for plan in (a, b)) else CLOSE_CALL_OF_ESTIMATES


def why_too_close(certainty: float) -> str:
    """Follows a chance that makes no claim though it would between profiled GPUs; else empty."""
    if certainty < CLOSE_CALL:
        return ""
    return f"; with a GPU that nobody profiled a claim takes over {format_certainty(CLOSE_CALL_OF_ESTIMATES)}"


def pick_of(plan: Plan, plans: Iterable[Plan], respect: str) -> Pick:
    """`plan` beside the plan of another GPU that it is least surely better than."""
    rivals = [compare(plan, other) for other in plans if other.offer.gpu != plan.offer.gpu]
    if not rivals or any(getattr(rival, respect) is None for rival in rivals):
        return Pick(plan, respect, None, None)
    closest = min(
        rivals,
        key=lambda rival: (
            getattr(rival, respect) >= claim_from(rival.a, rival.b),
            getattr(rival, respect),
            getattr(rival.b, RESPECTS[respect]),
        ),
    )
    return Pick(plan, respect, getattr(closest, respect), closest.b)
