"""Compare profiles, and inspect one profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.answers.questions import Knowledge
from profet_core.precision.names import AS_PROFILED
from profet_core.prediction.diagnosis import Diagnosis, diagnose
from profet_core.prediction.placement import Placement, placements
from profet_core.prediction.predict_each import EachPrediction, RecordedProfile, predict_each
from profet_core.prediction.refusals import refusal
from profet_core.prediction.steps import counted
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX, Profile


def answer_compare(
    knowledge: Knowledge,
    profiles: Sequence[RecordedProfile],
    *,
    method: str = "default",
    precision: str = AS_PROFILED,
) -> list[EachPrediction]:
    """Predict each profile from its own anchor and latency.

    A failure does not affect the others.

    Raises
    ------
    InputError : unknown method, or an anchor without models.
    """
    return predict_each(knowledge.models, knowledge.catalog, profiles, method=method, precision=precision)


@dataclass(frozen=True, slots=True)
class Side:
    """Time of the GPU's or the host's profile rows, microseconds."""

    name: str
    busy_us: float
    idle_us: float

    @property
    def total_us(self) -> float:
        """Total recorded time."""
        return self.busy_us + self.idle_us


@dataclass(frozen=True, slots=True)
class InsideAnswer:
    """Contents of a profile.

    Attributes
    ----------
    profile : of one step. warnings : one sentence each; the reason for a missing prediction comes first.
    operations : longest first, with each operation's class in the models.
    """

    profile: Profile
    warnings: tuple[str, ...]
    diagnosis: Diagnosis
    operations: tuple[Placement, ...]
    host: Side
    gpu: Side


def answer_inside(knowledge: Knowledge, profile: Profile, latency_ms: float | None) -> InsideAnswer:
    """Inspect a profile.

    Parameters
    ----------
    latency_ms : step latency on its anchor; None if unknown.
    """
    found = counted(profile, latency_ms)
    idle_us = {prefix: found.operations.get(f"{prefix}IDLE", 0.0) for prefix in (HOST_PREFIX, DEVICE_PREFIX)}
    return InsideAnswer(
        profile=found,
        warnings=tuple(dict.fromkeys(line for line in (refusal(found), *found.warnings) if line)),
        diagnosis=diagnose(found, latency_ms),
        operations=tuple(placements(knowledge.models, found)),
        host=Side("host", found.host_total_us - idle_us[HOST_PREFIX], idle_us[HOST_PREFIX]),
        gpu=Side("GPU", found.device_total_us - idle_us[DEVICE_PREFIX], idle_us[DEVICE_PREFIX]),
    )
