"""One third-party profile: how it was read, and predicted beside measured latencies."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.latency import Basis


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
