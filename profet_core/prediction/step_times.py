"""Step latencies that advice starts from, and what stands behind each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

#: What stands behind a latency, in words for a person.
BASIS_WORDS = {
    "given": "your own measurement",
    "measured": "predicted by models that learned from profiles of this GPU",
    "derived": "derived from others' timings of this GPU, which are biased; nobody profiled it",
    "transferred": "estimated from data sheets and benchmarks; nobody profiled this GPU",
    "carried": "carried to another batch size",
}
#: Rows without an error of their own: what the user measured.
EXACT = ("given",)
#: Rows whose GPU was profiled.
PROFILED = ("given", "measured")


class StepTime(Protocol):
    """One instance's step latency, milliseconds, like an `InstancePrediction`; None: not known; a `note` is welcome."""

    instance: str
    latency_ms: float | None
    low_ms: float | None
    high_ms: float | None
    basis: str


@dataclass(frozen=True, slots=True)
class CarriedStep:
    """A step latency that was carried to another batch size: it has no interval."""

    instance: str
    latency_ms: float | None
    basis: str
    note: str
    low_ms: None = None
    high_ms: None = None


def carried_steps(latencies_ms: Mapping[str, float], predicted: Iterable[StepTime]) -> list[CarriedStep]:
    """Latencies at another batch size; what was no measurement of its GPU there is none here.

    Parameters
    ----------
    latencies_ms : instance -> milliseconds a step at the other batch size.
    predicted : the rows they were carried from, with the basis of each.
    """
    basis = {row.instance: row.basis for row in predicted}
    notes = {row.instance: getattr(row, "note", "") for row in predicted}
    return [
        CarriedStep(
            name,
            latency_ms,
            "carried" if basis.get(name, "carried") in PROFILED else basis.get(name, "carried"),
            "; ".join(part for part in (BASIS_WORDS["carried"], notes.get(name, "")) if part),
        )
        for name, latency_ms in latencies_ms.items()
    ]
