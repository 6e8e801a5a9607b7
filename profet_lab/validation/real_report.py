"""Report on predictions from third-party profiles, `real_profiles.json`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import msgspec

from profet_core.latency import Basis

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PredictedLatency:
    """A predicted step latency and its 90% interval, milliseconds."""

    latency_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class RealCheck:
    """One profile towards one GPU on which the same workload was measured.

    Attributes
    ----------
    profile : its file, and the record in it where it holds several.
    anchor, target : instances that stand for the two GPUs; `target` is the GPU's name where it was never profiled.
    anchor_gpu, target_gpu : short names.
    framework : with its version, as the index has it. kind : what was trained.
    basis : measured, derived or transferred, as a prediction's row says.
    trained_on : measurements of this very network are among those the models learned from.
    step_ms : measured on the anchor. truth_ms, truth : measured on the target, and by whom.
    with_latency, without_latency : what is predicted with `step_ms` given, and without.
    """

    profile: str
    anchor: str
    anchor_gpu: str
    target: str
    target_gpu: str
    framework: str
    kind: str
    basis: Basis
    trained_on: bool
    step_ms: float
    truth_ms: float
    truth: str
    with_latency: PredictedLatency
    without_latency: PredictedLatency

    def predicted(self, latency_known: bool) -> PredictedLatency:
        """The prediction that applies."""
        return self.with_latency if latency_known else self.without_latency

    def error(self, latency_known: bool) -> float:
        """Predicted less measured, percent of the measured."""
        return 100 * (self.predicted(latency_known).latency_ms / self.truth_ms - 1)

    def covered(self, latency_known: bool) -> bool:
        """True if the measured latency lies inside the interval."""
        predicted = self.predicted(latency_known)
        return predicted.low_ms <= self.truth_ms <= predicted.high_ms

    @property
    def library(self) -> str:
        """The framework without its version."""
        return self.framework.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class RealReading:
    """What the readers made of one profile.

    Attributes
    ----------
    gpu : as the index names it.
    format : of the file; empty if it was refused.
    steps, steps_found, steps_basis : how many steps the index says, how many were found in the file and how.
    left_out : share of the GPU's busy time without an operation class, percent; None where nothing was read.
    here_ms : measured by others for the same workload on the same GPU, or None.
    checks : targets it is compared on. source : who published it, and under what terms.
    refusal : why it was not read or not predicted from, empty if it was.
    note : why there is no comparison, or what a visitor would have to answer first; empty if nothing is to say.
    """

    profile: str
    gpu: str
    framework: str
    kind: str
    format: str
    steps: int | None
    steps_found: int | None
    steps_basis: str
    left_out: float | None
    here_ms: float | None
    checks: int
    source: str
    refusal: str
    note: str

    @property
    def steps_right(self) -> bool | None:
        """None if the index doesn't tell or nothing was read."""
        return None if None in (self.steps, self.steps_found) else self.steps == self.steps_found


@dataclass(frozen=True)
class RealReport:
    """All profiles of a folder, tied to one set of models."""

    models_checksum: str
    made: str
    checks: Sequence[RealCheck]
    readings: Sequence[RealReading]

    @property
    def of_profiled(self) -> list[RealCheck]:
        """Checks towards GPUs that were profiled for the training data: what the means are over."""
        return [check for check in self.checks if check.basis is Basis.MEASURED]

    def document(self) -> dict[str, Any]:
        """The report as `profet validate --real --format json` prints it; all figures percent or milliseconds."""
        by_pair = grouped(self.checks, lambda check: (check.anchor, check.target))
        ends = ("anchor", "anchor_gpu", "target", "target_gpu", "basis")
        by_library = grouped(self.of_profiled, lambda check: check.library)
        by_kind = grouped(self.of_profiled, lambda check: check.kind)
        return {
            "models_checksum": self.models_checksum,
            "made": self.made,
            "pairs": [
                {**{name: getattr(rows[-1], name) for name in ends}, **figures(rows)} for rows in by_pair.values()
            ],
            "frameworks": [{"framework": name, **figures(rows)} for name, rows in by_library.items()],
            "kinds": [{"kind": name, **figures(rows)} for name, rows in by_kind.items()],
            "mean": figures(self.of_profiled) if self.of_profiled else None,
            "profiles": [asdict(check) for check in self.checks],
            "read": [{**asdict(row), "steps_right": row.steps_right} for row in self.readings],
        }


def read_real_report(document: Mapping[str, Any]) -> RealReport:
    """The report of its document."""
    return RealReport(
        models_checksum=document["models_checksum"],
        made=document["made"],
        checks=msgspec.convert(document["profiles"], tuple[RealCheck, ...]),
        readings=msgspec.convert(document["read"], tuple[RealReading, ...]),
    )


def figures(checks: Sequence[RealCheck]) -> dict[str, float]:
    """Mean absolute error and share of measurements inside the 90% interval, percent; every check counts the same."""
    n = len(checks)
    return {
        "n": n,
        **{
            f"mape_{case}_latency": sum(abs(check.error(known)) for check in checks) / n
            for case, known in (("with", True), ("without", False))
        },
        "coverage_90": sum(100.0 * check.covered(True) for check in checks) / n,
        "coverage_90_without_latency": sum(100.0 * check.covered(False) for check in checks) / n,
    }


def grouped(checks: Iterable[RealCheck], key: Callable[[RealCheck], Key]) -> dict[Key, list[RealCheck]]:
    """Checks that share a key, in the order the keys are first met."""
    groups: dict[Key, list[RealCheck]] = {}
    for check in checks:
        groups.setdefault(key(check), []).append(check)
    return groups
