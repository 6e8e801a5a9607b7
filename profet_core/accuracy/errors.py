"""A figure that is measured twice: with the anchor's latency given, and without."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errors:
    """A figure with the anchor's latency given, and without; percent."""

    with_latency: float
    without_latency: float

    def of(self, latency_known: bool) -> float:
        """The one that applies."""
        return self.with_latency if latency_known else self.without_latency
