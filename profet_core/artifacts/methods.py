"""Methods of a models folder: ensemble members and combination rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EnsembleRule:
    """Members that a method uses, and how it combines their latencies: "median", "mean" or "geometric mean".

    Attributes
    ----------
    weights : of the geometric mean, one per member; None: equal weights.
    """

    members: tuple[str, ...]
    combine: str
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A prediction method: one rule with the anchor's latency and one without.

    Attributes
    ----------
    kind : "classes": one network for all targets of an anchor, over classes of operations; "pairs": one model per
        anchor and target, over clusters of operations.
    """

    name: str
    with_latency: EnsembleRule
    without_latency: EnsembleRule
    kind: str = "pairs"

    def rule(self, latency_known: bool) -> EnsembleRule:
        """The rule for this case."""
        return self.with_latency if latency_known else self.without_latency


def method_of(name: str, values: Mapping[str, Any]) -> Method:
    """Parse a method from its manifest entry."""
    return Method(name, _rule(values["with_latency"]), _rule(values["without_latency"]), values.get("kind", "pairs"))


def _rule(values: Mapping[str, Any]) -> EnsembleRule:
    weights = values.get("weights")
    return EnsembleRule(tuple(values["members"]), values["combine"], None if weights is None else tuple(weights))
