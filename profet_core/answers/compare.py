"""Several profiles side by side, and what is inside one."""

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
    """Predict each profile from its own anchor and latency; one that can't be predicted spares the others.

    Raises
    ------
    InputError : unknown method, or an anchor that the models don't know.
    """
    return predict_each(knowledge.models, knowledge.catalog, profiles, method=method, precision=precision)


@dataclass(frozen=True, slots=True)
class Side:
    """Time of the GPU's or the host's rows, microseconds."""

    name: str
    busy_us: float
    idle_us: float

    @property
    def total_us(self) -> float:
        """All that was recorded."""
        return self.busy_us + self.idle_us


@dataclass(frozen=True, slots=True)
class InsideAnswer:
    """What is inside a profile.

    Attributes
    ----------
    profile : of one step. warnings : one sentence each, and why nothing can be predicted from it first.
    operations : the longest first, with how the models see each.
    """

    profile: Profile
    warnings: tuple[str, ...]
    diagnosis: Diagnosis
    operations: tuple[Placement, ...]
    host: Side
    gpu: Side


def answer_inside(knowledge: Knowledge, profile: Profile, latency_ms: float | None) -> InsideAnswer:
    """Look inside a profile.

    Parameters
    ----------
    latency_ms : of a step on its anchor; None: not known.
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
