"""Predict step latency from one profile, or side by side from several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from profet_core.answers.context import Context, check_wanted, filtered_context, filtered_rows
from profet_core.answers.questions import PredictQuestion
from profet_core.answers.training import measured_there, memory_fits, predicted_question
from profet_core.errors import InputError
from profet_core.precision.names import AS_PROFILED
from profet_core.prediction.anchors import find_anchor
from profet_core.prediction.checks import check_latency, counted, refusal, refusal_by
from profet_core.prediction.diagnosis import Diagnosis, Placement, diagnose, placements
from profet_core.prediction.predict import predict
from profet_core.prediction.records import Prediction
from profet_core.training.memory import FitAnswer
from profet_recorder.profiles.record import DEVICE_PREFIX, HOST_PREFIX, Profile


@dataclass(frozen=True, slots=True)
class PredictAnswer:
    """The prediction, the profile with its step count, and memory fit per instance."""

    profile: Profile
    prediction: Prediction
    fits: Mapping[str, FitAnswer]


def answer_predict(context: Context, question: PredictQuestion) -> PredictAnswer:
    """Predict, corrected by latencies measured on targets."""
    offer_filter = question.offer_filter
    if question.targets is not None:
        # A target that is a GPU selects all instances with it; unknown names are rejected when they are read.
        targets: dict[str, None] = {}
        for target in question.targets:
            gpus = set() if target in context.catalog else {gpu.name for gpu in context.gpus.meant(target)}
            targets |= dict.fromkeys([name for name, row in context.catalog.items() if row.gpu in gpus] or [target])
        question = replace(question, targets=list(targets))
    context, names = filtered_context(context, offer_filter)
    check_wanted(context, question.targets, {*names, question.anchor})
    profile, prediction = predicted_question(context, question)
    rows = filtered_rows(prediction.predictions, offer_filter, names, prediction.anchor)
    if len(rows) < len(prediction.predictions):
        kept = {row.instance for row in rows}
        prediction = replace(prediction, offers=tuple(one for one in prediction.offers if one[0].name in kept))
    instances, ran_on = [row.instance for row in rows], measured_there(question)
    return PredictAnswer(profile, prediction, memory_fits(context, profile, prediction, instances, ran_on=ran_on))


@dataclass(frozen=True, slots=True)
class RecordedProfile:
    """A profile with its instance or GPU, and a step's latency there; None: unknown."""

    profile: Profile
    anchor: str | None
    latency_ms: float | None


@dataclass(frozen=True, slots=True)
class EachPrediction:
    """Prediction for one profile with the steps used for it; None if its anchor is unknown, or it is refused.

    `refusal` says why it can't be predicted, `doubt` why its latency was ignored, one line each; else empty.
    """

    profile: Profile
    prediction: Prediction | None = None
    refusal: str = ""
    doubt: str = ""


def answer_compare(
    context: Context,
    profiles: Sequence[RecordedProfile],
    *,
    method: str = "default",
    precision: str = AS_PROFILED,
) -> list[EachPrediction]:
    """Predict each profile from its own anchor and latency; a refused one does not affect the others."""
    context.models.method(method)
    return [_each(context, one, method, precision) for one in profiles]


def _each(context: Context, one: RecordedProfile, method: str, precision: str) -> EachPrediction:
    models, catalog = context.models, context.catalog
    profile, latency_ms, doubt = counted(one.profile, one.latency_ms), one.latency_ms, ""
    if refused := refusal_by(models, profile):
        return EachPrediction(profile, refusal=refused)
    if one.anchor is None:
        return EachPrediction(profile)
    anchor = find_anchor(models, catalog, one.anchor)
    try:
        if latency_ms is not None:
            check_latency(models, profile, anchor.instance, latency_ms)
    except InputError as error:
        latency_ms, doubt = None, f"{error.args[0]} The prediction doesn't use it."
    try:
        found = predict(models, catalog, profile, one.anchor, latency_ms=latency_ms, method=method, precision=precision)
    except InputError as error:
        # The method doesn't support this anchor.
        return EachPrediction(profile, refusal=str(error), doubt=doubt)
    return EachPrediction(profile, found, doubt=doubt)


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


def answer_inside(context: Context, profile: Profile, latency_ms: float | None) -> InsideAnswer:
    """Inspect a profile; `latency_ms` is the step latency on its anchor, None if unknown."""
    found = counted(profile, latency_ms)
    idle_us = {prefix: found.operations.get(f"{prefix}IDLE", 0.0) for prefix in (HOST_PREFIX, DEVICE_PREFIX)}
    return InsideAnswer(
        profile=found,
        warnings=tuple(dict.fromkeys(line for line in (refusal(found), *found.warnings) if line)),
        diagnosis=diagnose(found, latency_ms),
        operations=tuple(placements(context.models, found)),
        host=Side("host", found.host_total_us - idle_us[HOST_PREFIX], idle_us[HOST_PREFIX]),
        gpu=Side("GPU", found.device_total_us - idle_us[DEVICE_PREFIX], idle_us[DEVICE_PREFIX]),
    )
