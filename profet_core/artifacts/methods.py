"""The methods of a models folder: which members each one uses, and how it joins their latencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EnsembleRule:
    """Which members a method uses, and how it joins their latencies: "median", "mean" or "geometric mean".

    Attributes
    ----------
    weights : of the geometric mean, one a member; None: equal ones.
    """

    members: tuple[str, ...]
    combine: str
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """One way to predict: its rule with the anchor's latency given and its rule without.

    Attributes
    ----------
    kind : "classes": one network for all targets of an anchor, over classes of operations; "pairs": models of one
        anchor and one target, over clusters of operations.
    """

    name: str
    with_latency: EnsembleRule
    without_latency: EnsembleRule
    kind: str = "pairs"

    def rule(self, latency_known: bool) -> EnsembleRule:
        """The rule that applies."""
        return self.with_latency if latency_known else self.without_latency


def method_of(name: str, values: Mapping[str, Any]) -> Method:
    """The method that an entry of the manifest holds."""
    return Method(name, _rule(values["with_latency"]), _rule(values["without_latency"]), values.get("kind", "pairs"))


def _rule(values: Mapping[str, Any]) -> EnsembleRule:
    weights = values.get("weights")
    return EnsembleRule(tuple(values["members"]), values["combine"], None if weights is None else tuple(weights))
