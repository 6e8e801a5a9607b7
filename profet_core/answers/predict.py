"""Predict step latency from one profile, or side by side from several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from profet_core.answers.questions import Context, check_wanted, narrowed_context, narrowed_rows, question_anchor
from profet_core.catalog import Catalog
from profet_core.errors import InputError, LatencyDoubtError, NoPredictionError, OptionalInputError
from profet_core.fields.questions import FieldNames, PredictQuestion, ProfileQuestion
from profet_core.memory.fit import FitAnswer, fits_by_instance
from profet_core.precision.names import AS_PROFILED, asked_precision, canonical
from profet_core.prediction.anchors import find_anchor
from profet_core.prediction.checks import check_latency, counted, read_as, refusal, refusal_by
from profet_core.prediction.correction import correct_by_measurement
from profet_core.prediction.diagnosis import Diagnosis, Placement, diagnose, placements
from profet_core.prediction.in_precision import activation_growth, predict
from profet_core.prediction.records import Prediction
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX, Profile
from profet_core.units import whole_number

SIZE_WORDS = {"batch_size": "batch size", "pixels": "pixel size"}


@dataclass(frozen=True, slots=True)
class PredictAnswer:
    """The prediction, the profile with its step count, and memory fit per instance."""

    profile: Profile
    prediction: Prediction
    fits: Mapping[str, FitAnswer]


def answer_predict(context: Context, question: PredictQuestion, field_names: FieldNames) -> PredictAnswer:
    """Predict, corrected by latencies measured on targets.

    Raises
    ------
    ProfetError : the question is invalid; one line says what is wrong and what to do.
    """
    narrowing = question.narrowing
    if question.targets is not None:
        question = replace(question, targets=_instances_of(context, question.targets))
    context, names = narrowed_context(context, narrowing)
    check_wanted(context, question.targets, {*names, question.anchor}, field_names)
    profile, prediction = predicted_question(context, question, field_names, question.targets)
    prediction = corrected(context, question, field_names, profile, prediction)
    rows = narrowed_rows(prediction.predictions, narrowing, names, prediction.anchor)
    prediction = replace(prediction, predictions=tuple(rows))
    return PredictAnswer(profile, prediction, memory_fits(context, profile, prediction, [row.instance for row in rows]))


def memory_fits(
    context: Context, profile: Profile, prediction: Prediction, instances: Iterable[str], **size: Any
) -> Mapping[str, FitAnswer]:
    """Instance -> whether the predicted step fits in its memory; `size` as `fits_by_instance` takes it."""
    growth = activation_growth(context.models, profile, prediction.precision)
    known = context.models.memory, context.catalog, context.gpus
    return fits_by_instance(*known, profile, prediction.anchor, instances, precision_growth=growth, **size)


def _instances_of(context: Context, targets: Sequence[str]) -> list[str]:
    """Instances of targets; a target that is a GPU selects all instances with it."""
    found: list[str] = []
    for target in targets:
        gpus = set() if target in context.catalog else {gpu.name for gpu in context.gpus.meant(target)}
        having = [name for name, offer in context.catalog.items() if offer.gpu in gpus]
        # Unknown names are rejected when they are read.
        found += having or [target]
    return list(dict.fromkeys(found))


def predicted_question(
    context: Context, question: ProfileQuestion, field_names: FieldNames, targets: Sequence[str] | None = None
) -> tuple[Profile, Prediction]:
    """Predict the question's own profile.

    Returns it with the known sizes and the number of steps used for the prediction.
    """
    profile = read_as(question.profile, question.steps)
    profile = sized(profile, question.profiled_batch, question.profiled_pixels, field_names, "profiled")
    return predicted_profile(context, question, field_names, profile, question.latency_ms, targets)


def predicted_profile(
    context: Context,
    question: ProfileQuestion,
    field_names: FieldNames,
    profile: Profile,
    latency_ms: float | None,
    targets: Sequence[str] | None = None,
) -> tuple[Profile, Prediction]:
    """Predict any profile with the question's anchor and method.

    `latency_ms` defaults to the profile's own.

    Returns the profile with the number of steps used for the prediction.

    Raises
    ------
    NoPredictionError : nothing can be predicted from the profile.
    """
    anchor = question_anchor(context, question, field_names)
    profile = _in_stated_precision(profile, question.profiled_precision, field_names)
    if latency_ms is None and not question.without_latency:
        latency_ms = profile.meta.step_latency_ms
    try:
        prediction = predict(
            context.models,
            context.catalog,
            profile,
            anchor,
            latency_ms=latency_ms,
            targets=targets,
            method=question.method,
            trust_latency=question.trust_latency,
            precision=question.precision,
        )
    except LatencyDoubtError as doubt:
        steps = f"{field_names.option('steps')} {doubt.suggested_steps} if so, " if doubt.suggested_steps else ""
        raise doubt.advised(f" Use {steps}{field_names.option('trust_latency')} if it is right.") from None
    return counted(profile, prediction.anchor_latency_ms), prediction


def _in_stated_precision(profile: Profile, stated: str | None, field_names: FieldNames) -> Profile:
    """The profile with its precision, as recorded or as the question states it."""
    recorded = profile.meta.precision
    if stated is None:
        return profile
    if recorded is not None and canonical(recorded) != asked_precision(stated):
        raise InputError(
            f"The profile says its precision is {recorded}, not {stated}: remove "
            f"{field_names.option('profiled_precision')}."
        )
    return profile if recorded else replace(profile, meta=replace(profile.meta, precision=stated))


def sized(profile: Profile, batch_size: int | None, pixels: int | None, field_names: FieldNames, which: str) -> Profile:
    """The profile with its batch and pixel size, as given or recorded.

    Parameters
    ----------
    which : "profiled" or "second", the prefix of the option names.

    Raises
    ------
    InputError : the profile has a different size.
    """
    meta = profile.meta
    found: dict[str, Any] = {}
    for name, option, given in (("batch_size", "batch", batch_size), ("pixels", "pixels", pixels)):
        recorded = getattr(meta, name)
        if given is not None and recorded is not None and given != recorded:
            raise InputError(
                f"The profile says it was recorded at {SIZE_WORDS[name]} {recorded}, not {given}: remove "
                f"{field_names.option(f'{which}_{option}')}."
            )
        found[name] = recorded if given is None else whole_number(f"The {SIZE_WORDS[name]}", given)
    return replace(profile, meta=replace(meta, **found))


def corrected(
    context: Context, question: ProfileQuestion, field_names: FieldNames, profile: Profile, prediction: Prediction
) -> Prediction:
    """Correct the prediction by the latencies in `measured`, which may belong to another profile of the network.

    Raises
    ------
    OptionalInputError : a measured latency can't be used.
    """
    if not question.measured:
        return prediction
    targets = question.targets if isinstance(question, PredictQuestion) else None
    reference, reference_meta = prediction, profile.meta
    if question.measured_trace is not None:
        try:
            measured, reference = predicted_profile(
                context,
                question,
                field_names,
                question.measured_trace,
                question.measured_trace_latency_ms,
                targets,
            )
        except NoPredictionError as error:
            raise NoPredictionError(f"{field_names.option('measured_trace')}: {error}") from None
        reference_meta = measured.meta
    try:
        return correct_by_measurement(
            prediction,
            reference,
            question.measured,
            meta=profile.meta,
            reference_meta=reference_meta,
            same_gpu=_same_gpu(context.catalog, prediction, question.measured),
        )
    except InputError as error:
        raise OptionalInputError(str(error), "measured") from None


def _same_gpu(catalog: Catalog, prediction: Prediction, measured: Collection[str]) -> dict[str, str]:
    """Other target -> the first measured one with the same GPU; the anchor is excluded."""
    by_gpu = {catalog[name].gpu: name for name in reversed(list(measured)) if name in catalog}
    rows = [row for row in prediction.predictions if row.instance in catalog and row.instance != prediction.anchor]
    found = {row.instance: by_gpu.get(catalog[row.instance].gpu) for row in rows}
    return {name: target for name, target in found.items() if target is not None and name not in measured}


@dataclass(frozen=True, slots=True)
class RecordedProfile:
    """A profile with its instance or GPU, and a step's latency there; None: unknown."""

    profile: Profile
    anchor: str | None
    latency_ms: float | None


@dataclass(frozen=True, slots=True)
class EachPrediction:
    """Prediction for one profile.

    Attributes
    ----------
    profile : with the number of steps used for the prediction.
    prediction : None if its anchor is unknown, or if it can't be predicted.
    refusal : why it can't be predicted, one line; empty if it can.
    doubt : why its latency is implausible and was ignored, one line; else empty.
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
    """Predict each profile from its own anchor and latency.

    A failure does not affect the others.

    Raises
    ------
    InputError : unknown method, or an anchor without models.
    """
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
        latency_ms, doubt = None, f"{error} The prediction doesn't use it."
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
        operations=tuple(placements(context.models, found)),
        host=Side("host", found.host_total_us - idle_us[HOST_PREFIX], idle_us[HOST_PREFIX]),
        gpu=Side("GPU", found.device_total_us - idle_us[DEVICE_PREFIX], idle_us[DEVICE_PREFIX]),
    )
