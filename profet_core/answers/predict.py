"""Predict a question's profile, its training's steps at any size, and what is inside it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self, Unpack

from msgspec import Struct, structs
from msgspec.structs import replace

from profet_core.answers.by_layers import NetworkPrediction, NetworkProfile, network_prediction, recorded_transformer
from profet_core.answers.context import Context, Targets, filtered_context, filtered_rows, question_anchor
from profet_core.answers.document import Document
from profet_core.catalog import Catalog
from profet_core.catalog.collection import prices_version
from profet_core.catalog.custom_gpus import CustomGpu, SpeedPoint, with_offers_of
from profet_core.catalog.gpus import FP32, HALF, TF32, canonical, requested_precision
from profet_core.catalog.instance import machine_with
from profet_core.ensemble.members import Similarity
from profet_core.ensemble.operations import UnknownOperations, is_set_aside, kind_of, load_operation_classes
from profet_core.errors import Code, InputError, NoPredictionError, Note, OptionalInputError, ProfetError
from profet_core.layers.by_name import ByCounts, step_by_counts
from profet_core.layers.custom_gpu import speed_bounds, with_custom_gpus
from profet_core.layers.estimate import checkpointed_note
from profet_core.offers import GpuRow, OfferTable, StepRow, rows_as
from profet_core.prediction.checks import (
    Diagnosis,
    check_latency,
    check_profile,
    counted,
    diagnose,
    is_transformer,
    read_as,
    refusal,
)
from profet_core.prediction.models import Models
from profet_core.prediction.predict import Prediction, PredictOptions, predict
from profet_core.prediction.scaler import AXIS_RANGE
from profet_core.prediction.sizes import curves_at, joint_predictions, other_networks, steps_at
from profet_core.prediction.targets import find_anchor
from profet_core.questions import PredictQuestion, ProfileQuestion, TrainingQuestion
from profet_core.training.memory import (
    ACTIVATIONS_IN_HALF,
    CHECKPOINTING,
    FitAnswer,
    fit_answer,
    gpu_memory_gib,
    recorded_step,
)
from profet_profiles import Profile
from profet_profiles.record import DEVICE_PREFIX, HOST_PREFIX, IDLE_OPERATIONS, StepsBasis
from profet_profiles.units import format_ms, format_significant, positive_number, whole_number

NO_BATCH = "The profile doesn't include its batch size: give the batch size it was recorded at."


def predicted_question(context: Context, question: ProfileQuestion) -> Prediction:
    """Predict the question's own profile, corrected by the latencies in `measured`."""
    if isinstance(question.profile, NetworkProfile):
        return network_prediction(context, question)
    targets = question.targets if isinstance(question, PredictQuestion) else None
    profile = read_as(question.profile, question.steps)
    profile = _sized(profile, question.profiled_batch, question.profiled_pixels, "profiled")
    more: PredictOptions = {"targets": targets}
    if question.measured:
        more |= {"measured_ms": question.measured}
        if question.measured_trace is not None:
            more |= {"measured_from": _measured_workload(context, question, question.measured_trace, targets)}
    return predicted_profile(context, question, profile, question.latency_ms, **more)


def _measured_workload(
    context: Context, question: ProfileQuestion, recorded: Profile, targets: Sequence[str] | None
) -> Prediction:
    """Prediction of the profile that the measured latencies belong to, if that is another one."""
    question_anchor(context, question)
    try:
        return predicted_profile(context, question, recorded, question.measured_trace_latency_ms, targets=targets)
    except NoPredictionError as error:
        lines = f"{{measured_trace}}: {error.args[0]}"
        raise NoPredictionError(lines, "measured_trace", *error.fields) from None


def predicted_profile(
    context: Context,
    question: ProfileQuestion,
    profile: Profile,
    latency_ms: float | None,
    **options: Unpack[PredictOptions],
) -> Prediction:
    """Predict any profile with the question's anchor and method; `latency_ms` defaults to the profile's own.

    Raises NoPredictionError if there is none.
    """
    anchor, stated = question_anchor(context, question), question.profiled_precision
    recorded = profile.meta.precision
    if stated is not None and recorded is None:
        profile = profile.with_meta(precision=stated)
    elif stated is not None and recorded is not None and canonical(recorded) != requested_precision(stated):
        raise InputError(
            f"The profile says its precision is {recorded}, not {stated}: remove {{profiled_precision}}.",
            "profiled_precision",
        )
    if is_transformer(profile, question.network):
        asked = structs.replace(question, latency_ms=latency_ms, anchor=anchor)
        network = recorded_transformer(context, asked, profile, anchor)
        return network_prediction(context, structs.replace(asked, profile=network))
    if latency_ms is None and not question.without_latency:
        latency_ms = profile.meta.step_latency_ms
    every: PredictOptions = {
        "method": question.method,
        "trust_latency": question.trust_latency,
        "precision": question.precision,
        "training_code": question.training_code,
        "by_counts": partial(step_by_counts, given=question.network),
        **options,
    }
    predicted = predict(context.models, context.catalog, profile, anchor, latency_ms=latency_ms, **every)
    if not question.checkpointing:
        return predicted
    again = CHECKPOINTING[False]
    table = predicted.table.slowed(again.time_factor, again.time_log_sd)
    warnings = *predicted.warnings, checkpointed_note(is_transformer=False)
    return structs.replace(predicted, table=table, warnings=warnings, checkpointing=True)


def _sized(profile: Profile, batch_size: int | None, pixels: int | None, which: str) -> Profile:
    """Return the profile with its size, as given or recorded; `which`, profiled or second, is the fields' prefix."""
    if batch_size is None and pixels is None:
        return profile
    sizes: dict[str, Any] = {}
    for field, option, what, given in (
        ("batch_size", "batch", "batch size", batch_size),
        ("pixels", "pixels", "pixel size", pixels),
    ):
        recorded = getattr(profile.meta, field)
        if given is not None and recorded is not None and given != recorded:
            name = f"{which}_{option}"
            raise InputError(
                f"The profile says it was recorded at {what} {recorded}, not {given}: remove {{{name}}}.", name
            )
        sizes[field] = recorded if given is None else whole_number(f"The {what}", given)
    return profile.with_meta(**sizes)


class PredictedTraining(Struct, frozen=True):
    """Step latencies of a training, at its batch and pixel size.

    Attributes
    ----------
    predictions : of the profile, and of the second one, at their own sizes.
    batch_size, pixels : of the training; pixels None: unknown.
    step_times : one per instance, each with its basis.
    warnings : of the predictions, and of scaling to another size.
    ran_on : instances on which the profiled step was measured.
    """

    predictions: tuple[Prediction, ...]
    batch_size: int
    pixels: int | None
    step_times: OfferTable
    warnings: tuple[Note, ...]
    ran_on: tuple[str, ...] = ()

    @property
    def prediction(self) -> Prediction:
        """Prediction of the profile at its own size."""
        return self.predictions[0]

    @property
    def profile(self) -> Profile:
        """The profile with its known sizes and number of steps."""
        return self.prediction.profile

    @property
    def scaled(self) -> bool:
        """Whether the steps are scaled from a profile's size."""
        own = any(prediction.is_at(self.batch_size, self.pixels) for prediction in self.predictions)
        return self.prediction.batch_size is not None and not own

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> milliseconds per step, for all instances with a latency."""
        return self.step_times.latencies_ms


def predicted_training(
    context: Context, question: TrainingQuestion, prediction: Prediction | None = None
) -> PredictedTraining:
    """Predict the profile, and scale its latencies to `at_batch` and `at_pixels` if these are given.

    Parameters
    ----------
    prediction : the answer of `predicted_question`, if there is one already.

    Raises
    ------
    InputError : a size is out of range, unknown, or contradicts a profile.
    OptionalInputError : `second` or `measured` can't be used.
    """
    first = prediction or predicted_question(context, question)
    if isinstance(first, NetworkPrediction):
        if question.second is not None:
            raise OptionalInputError("{second} is for CNNs: other sizes follow from the network's layers.", "second")
        here = first.at(question.at_batch or first.batch_size or 1, question.at_pixels, None)
        return PredictedTraining((first,), here.batch_size or 1, here.pixels, here.predictions, here.warnings)
    if first.batch_size is None and question.images is not None:
        raise InputError(NO_BATCH)
    if question.at_pixels is not None and first.pixels is None:
        raise InputError("Give the pixel size it was recorded at: {profiled_pixels}.", "profiled_pixels")
    predictions: tuple[Prediction, ...] = (first,)
    warnings = list(first.warnings)
    if question.second is not None:
        second = _second_prediction(context, question, question.second, first)
        warnings += [Note(Code.SECOND_PROFILE, text=note) for note in second.warnings if note not in first.warnings]
        predictions = joint_predictions((first, second))
    is_large = (first.pixels or 0) > AXIS_RANGE["pixels"][1]
    if (
        question.at_pixels is not None
        and not is_large
        and any(recorded.pixels != question.at_pixels for recorded in predictions)
    ):
        warnings.append(Note(Code.MORE_CLASSES))
    pixels = first.pixels if question.at_pixels is None else question.at_pixels
    batch_size = first.batch_size if question.at_batch is None else question.at_batch
    if batch_size is None or predictions[0].is_at(batch_size, pixels):
        # Sizes beyond the scaling range are valid if they were profiled.
        rows = predictions[0].predictions
    else:
        rows = steps_at(context.models, predictions, batch_size=batch_size, pixels=pixels)
    ran_on = () if question.measured_trace is not None else tuple(question.measured)
    return PredictedTraining(predictions, batch_size or 1, pixels, rows, tuple(warnings), ran_on)


def steps_along(
    context: Context,
    training: PredictedTraining,
    axis: str,
    sizes: Sequence[int],
    other: int | None,
    instances: Collection[str],
) -> list[OfferTable]:
    """Return the steps of instances at each size of an axis; those of a network alone are estimated at each."""
    first = training.prediction
    if not isinstance(first, NetworkPrediction):
        return curves_at(context.models, training.predictions, axis, sizes, other, instances=instances)
    every = [(size, other) if axis == "batch" else (other or training.batch_size, size) for size in sizes]
    return [first.at(*size, list(instances)).predictions for size in every]


def fits_in_training(
    context: Context, training: PredictedTraining, instances: Iterable[str], at: tuple[int, int | None] | None = None
) -> Mapping[str, FitAnswer]:
    """Instance -> whether a training step fits in its memory; empty without a memory model.

    Parameters
    ----------
    at : batch size and pixels, if not the training's.
    """
    batch_size, pixels = at or (training.batch_size, training.pixels)
    known_size = batch_size if training.prediction.batch_size else None
    return memory_fits(context, training.predictions, training.ran_on, instances, batch_size=known_size, pixels=pixels)


def memory_fits(
    context: Context,
    predictions: Sequence[Prediction],
    ran_on: Sequence[str],
    instances: Iterable[str],
    *,
    batch_size: int | None = None,
    pixels: int | None = None,
) -> Mapping[str, FitAnswer]:
    """Instance -> whether the predicted step fits in its memory.

    Parameters
    ----------
    predictions : one or two of the network.
    ran_on : other instances that the first one's step ran on.
    batch_size, pixels : of the step, if not the profile's.
    """
    models, catalog, gpus = context.models, context.catalog, context.gpus
    if models.memory is None:
        return {}
    if isinstance(only := predictions[0], NetworkPrediction):
        return only.at(batch_size or only.batch_size or 1, pixels, list(instances)).fits
    first, second = predictions[0], predictions[1].profile if len(predictions) > 1 else None
    half, recorded_half = first.precision in HALF, canonical(first.profile.meta.precision) in HALF
    share = ACTIVATIONS_IN_HALF
    # Activations in the precision of the answer over those of the profiled step.
    growth = 1.0 if half == recorded_half else share if half else 1 / share
    step = recorded_step(
        first.profile, catalog, gpus, (first.anchor, *ran_on), second, checkpointing=first.checkpointing
    )
    memories_gib = {name: gpu_memory_gib(catalog, gpus, name) for name in instances}
    # Only an instance's memory matters, and many have the same.
    every = set(memories_gib.values())
    answers = {
        gib: fit_answer(models.memory, step, gib, precision_growth=growth, batch_size=batch_size, pixels=pixels)
        for gib in every
    }
    return {name: answers[gib] for name, gib in memories_gib.items()}


class NoSecondPredictionError(OptionalInputError, NoPredictionError):
    """Nothing can be predicted from the second profile."""


def _second_prediction(context: Context, question: TrainingQuestion, second: Profile, first: Prediction) -> Prediction:
    """Prediction of `second`; OptionalInputError says why it can't be combined with the first."""
    try:
        profile = _sized(
            read_as(second, question.second_steps), question.second_batch, question.second_pixels, "second"
        )
        more: PredictOptions = {}
        if question.measured:
            recorded = question.measured_trace
            measured_from = (
                predicted_question(context, structs.replace(question, measured={}))
                if recorded is None
                else _measured_workload(context, question, recorded, None)
            )
            more = {"measured_ms": question.measured, "measured_from": measured_from}
        predicted = predicted_profile(context, question, profile, question.second_latency_ms, **more)
        if isinstance(predicted, NetworkPrediction):
            raise InputError("it is a transformer's, the first a CNN's: give a profile of the same network.")
        if predicted.profile.operations == first.profile.operations:
            raise InputError("it is the same as the first profile: give a profile at another size.")
        if predicted.batch_size is None:
            raise InputError("give the batch size it was recorded at: {second_batch}.", "second_batch")
        if first.pixels is not None and predicted.pixels is None:
            raise InputError("give the pixel size it was recorded at: {second_pixels}.", "second_pixels")
        if lines := other_networks(first.profile, predicted.profile):
            raise InputError(lines[0])
        if (first.batch_size, first.pixels) == (predicted.batch_size, predicted.pixels):
            raise InputError("it has the same batch and pixel size as the first: give a profile at another size.")
    except ProfetError as error:
        kind = NoSecondPredictionError if isinstance(error, NoPredictionError) else OptionalInputError
        raise kind(f"{{second}}: {error.args[0]}", "second", *error.fields) from None
    return predicted


class PredictAnswer(Struct, frozen=True):
    """The prediction, and memory fit per instance, and per GPU of `gpus`: targets that no offer has."""

    prediction: Prediction
    fits: Mapping[str, FitAnswer]
    gpus: OfferTable

    @property
    def profile(self) -> Profile:
        """The profile with its step count."""
        return self.prediction.profile


def answer_predict(context: Context, question: PredictQuestion) -> PredictAnswer:
    """Predict, corrected by latencies measured on targets."""
    offer_filter = question.offer_filter
    context, names, targets = filtered_context(context, offer_filter, question.targets, question.anchor)
    gpus = OfferTable.of((), (), (), ())
    if targets is not None and context.models.method(question.method).kind != "classes":
        # The documented ensemble refuses every GPU but its own.
        targets = Targets(targets.instances | targets.gpus, {})
    if targets is None or not targets.gpus or targets.instances:
        question = structs.replace(question, targets=targets and list(targets.instances))
        prediction = predicted_question(context, question)
    if targets is not None and targets.gpus:
        # Each stands in a machine of its own; apart from the others, whose order with it would change them.
        # A machine's name is no GPU's, which may be the anchor.
        alone = [machine_with(name, context.gpus[name].memory_gib, f"machine with {name}") for name in targets.gpus]
        wider = replace(context, catalog=Catalog([*context.catalog.all_offers, *alone]))
        predicted = predicted_question(wider, structs.replace(question, targets=[offer.name for offer in alone]))
        rows = [row for row in predicted.predictions if row.offer in alone]
        named = [replace(row.offer, name=row.offer.gpu) for row in rows]
        gpus = predicted.predictions.take([row.number for row in rows], named)
        if not targets.instances:
            prediction = replace(predicted, offers=tuple(offer for offer in predicted.offers if offer[0] not in alone))
    rows = filtered_rows(prediction.predictions, offer_filter, names, prediction.anchor)
    kept = {row.instance: None for row in rows}
    if len(kept) < len(prediction.predictions):
        prediction = replace(prediction, offers=tuple(offer for offer in prediction.offers if offer[0].name in kept))
    ran_on = () if question.measured_trace is not None else tuple(question.measured)
    fits = memory_fits(context, (prediction,), ran_on, [*kept, *gpus.numbers])
    return PredictAnswer(prediction, fits, gpus)


class PredictRow(StepRow, frozen=True):
    """The step on an instance, and what each ensemble member says."""

    members: Mapping[str, float]


class PredictDocument(Document, frozen=True):
    """`PredictAnswer` as JSON; an interval is null for a method without one."""

    anchor: str
    anchor_latency_ms: float | None
    method: str
    steps: int
    steps_basis: StepsBasis
    predictions: Sequence[PredictRow]
    interval_level: float | None
    unknown_operations: UnknownOperations
    similarity: Similarity | None
    warnings: Sequence[Note]
    gpus: Sequence[GpuRow]
    ignored: Sequence[str]
    memory: Mapping[str, FitAnswer]
    prices_version: str

    @classmethod
    def of(cls, record: PredictAnswer) -> Self:
        """Write an answer."""
        prediction = record.prediction
        table = prediction.predictions
        return cls(
            anchor=prediction.anchor,
            anchor_latency_ms=prediction.anchor_latency_ms,
            method=prediction.method,
            steps=prediction.steps,
            steps_basis=prediction.steps_basis,
            predictions=rows_as(PredictRow, {**table.columns(), "members": table.member_cells}),
            interval_level=prediction.interval_level,
            unknown_operations=prediction.unknown_operations,
            similarity=prediction.similarity,
            warnings=prediction.warnings,
            gpus=record.gpus.gpu_rows,
            ignored=prediction.profile.ignored,
            memory=record.fits,
            prices_version=prices_version(table.offers),
        )


class ComparedPrediction(Struct, frozen=True):
    """Prediction for one profile with the steps used for it; None if its anchor is unknown, or it is refused.

    `refusal` says why it can't be predicted, `doubt` why its latency was ignored, one line each; else empty.
    """

    profile: Profile
    prediction: Prediction | None = None
    refusal: str = ""
    doubt: str = ""


def answer_compare(context: Context, questions: Iterable[ProfileQuestion]) -> list[ComparedPrediction]:
    """Predict each profile from its own anchor and latency; a refused one does not affect the others."""
    return [_compared(context, question) for question in questions]


def _compared(context: Context, question: ProfileQuestion) -> ComparedPrediction:
    models, catalog = context.models, context.catalog
    models.method(question.method)
    if isinstance(question.profile, NetworkProfile):
        try:
            return ComparedPrediction(question.profile, predicted_question(context, question))
        except (InputError, NoPredictionError) as error:
            return ComparedPrediction(question.profile, refusal=str(error))
    profile, latency_ms, doubt = counted(question.profile, question.latency_ms), question.latency_ms, ""
    try:
        check_profile(models, profile, question.network)
    except NoPredictionError as error:
        return ComparedPrediction(profile, refusal=str(error))
    if question.anchor is None:
        return ComparedPrediction(profile)
    anchor = find_anchor(models, catalog, question.anchor)
    try:
        if latency_ms is not None:
            check_latency(models, profile, anchor.instance, latency_ms)
    except InputError as error:
        latency_ms, doubt = None, f"{error.args[0]} The prediction doesn't use it."
    try:
        prediction = predicted_profile(context, structs.replace(question, without_latency=True), profile, latency_ms)
    except InputError as error:
        # The method doesn't support this anchor.
        return ComparedPrediction(profile, refusal=str(error), doubt=doubt)
    return ComparedPrediction(profile, prediction, doubt=doubt)


class Placement(Struct, frozen=True):
    """One operation.

    Attributes
    ----------
    share : part of the profile's busy (not idle) time, 0 to 1; None for idle time.
    kind : its kind; None if unknown.
    operation_class : class in the default method; None if there is none.
    cluster : feature of the documented method, a cluster of device operations or a host operation; None if there is
        none.
    class_known, cluster_known : seen in training; otherwise it went to the class of its kind and the cluster with the
        most similar names, or to none.
    is_unseen_kind : its class had no operation of this kind in training, or it has no class.
    set_aside : communication between GPUs, excluded from everything.
    """

    operation: str
    time_us: float
    share: float | None
    kind: str | None
    operation_class: str | None
    class_known: bool
    cluster: str | None
    cluster_known: bool
    is_unseen_kind: bool
    set_aside: bool

    @property
    def on_device(self) -> bool:
        """Whether it is a GPU row."""
        return self.operation.startswith(DEVICE_PREFIX)

    @property
    def idle(self) -> bool:
        """Whether it is idle time of the GPU or of the host's threads."""
        return self.operation in IDLE_OPERATIONS


def placements(models: Models, profile: Profile) -> tuple[Placement, ...]:
    """All operations of `profile`, longest first."""
    classes, features = load_operation_classes(), models.features
    names = tuple(profile.operations)
    class_columns, cluster_columns = classes.place(names), features.place(names)
    busy_us = profile.busy_total_us
    rows = [
        Placement(
            operation=name,
            time_us=time_us,
            share=None if name in IDLE_OPERATIONS or busy_us == 0 else time_us / busy_us,
            kind=None if (kind := kind_of(name)) is None else kind.name,
            operation_class=None if (column := class_columns[name]) is None else classes.names[column],
            class_known=name in classes.columns,
            cluster=None if (column := cluster_columns[name]) is None else features.names[column],
            cluster_known=name in features.columns,
            is_unseen_kind=name.startswith(DEVICE_PREFIX) and classes.is_unseen_kind(name),
            set_aside=is_set_aside(name),
        )
        for name, time_us in profile.operations.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.time_us, row.operation)))


class InsideAnswer(Struct, frozen=True):
    """Contents of a profile.

    Attributes
    ----------
    profile : of one step.
    warnings : one sentence each; the reason for a missing prediction comes first.
    operations : longest first, with each operation's class in the models.
    host_us, gpu_us : busy and idle time of all rows, microseconds.
    """

    profile: Profile
    warnings: tuple[str, ...]
    diagnosis: Diagnosis
    operations: tuple[Placement, ...]
    host_us: tuple[float, float]
    gpu_us: tuple[float, float]


def answer_inside(context: Context, profile: Profile, latency_ms: float | None) -> InsideAnswer:
    """Inspect a profile; `latency_ms` is the step latency on its anchor, None if unknown."""
    mean_step = counted(profile, latency_ms)
    idle_us = {prefix: mean_step.operations.get(f"{prefix}IDLE", 0.0) for prefix in (HOST_PREFIX, DEVICE_PREFIX)}
    return InsideAnswer(
        profile=mean_step,
        warnings=tuple(dict.fromkeys(line for line in (refusal(mean_step), *mean_step.warnings) if line)),
        diagnosis=diagnose(mean_step, latency_ms),
        operations=tuple(placements(context.models, mean_step)),
        host_us=(mean_step.host_total_us - idle_us[HOST_PREFIX], idle_us[HOST_PREFIX]),
        gpu_us=(mean_step.device_total_us - idle_us[DEVICE_PREFIX], idle_us[DEVICE_PREFIX]),
    )


#: Repeatability of a step's median latency (0.6 to 2.5% in the measurements' own runs).
STEP_LOG_SD = 0.03
_HALVINGS = 40


def speed_of_step(
    context: Context,
    prediction: Prediction,
    custom: CustomGpu,
    measured_ms: float,
    *,
    tf32: bool = True,
    by_counts: ByCounts = step_by_counts,
) -> SpeedPoint:
    """Speed at which the prediction for the same profile on a custom GPU equals a latency that was measured there.

    Parameters
    ----------
    tf32 : the step ran in TF32 if the GPU has it.
    by_counts : as the prediction had it.

    Raises
    ------
    InputError : no speed within its specs gives such a step.
    the same as `predict`.
    """
    positive_number("A step's latency", measured_ms)
    priced = with_offers_of(context.catalog, [custom])
    # Without TF32 cores the precision is FP32 in any case.
    precision = TF32 if tf32 and custom.gpu.tf32_tensor_dense_tflops is not None else FP32
    options: PredictOptions = {"targets": [custom.instance], "trust_latency": True, "precision": TF32 if tf32 else FP32}
    options["by_counts"] = by_counts
    profile, anchor, latency_ms = prediction.profile, prediction.anchor, prediction.anchor_latency_ms

    def step(log_speed: float) -> tuple[float, bool]:
        """Milliseconds per step at a speed, and whether the host limits it."""
        at = replace(custom, point=SpeedPoint(math.exp(log_speed), STEP_LOG_SD, precision))
        models = with_custom_gpus(context.models, [at])
        row = predict(models, priced, profile, anchor, latency_ms=latency_ms, **options).predictions[-1]
        return positive_number(f"The latency of {row.instance}", row.latency_ms), row.limited_by_host

    low, high = (math.log(times) for times in speed_bounds(custom.gpu))
    (slow_ms, _), (fast_ms, limited_by_host) = step(low), step(high)
    if limited_by_host and measured_ms <= fast_ms:
        raise InputError(
            f"{custom.name}: CPU launch overhead alone takes {format_ms(fast_ms)}, so {format_ms(measured_ms)} "
            "doesn't show the GPU's speed. Measure a larger batch."
        )
    if not fast_ms < measured_ms < slow_ms:
        raise InputError(
            f"{custom.name}: {format_ms(measured_ms)} per step is not plausible: its specs allow "
            f"{format_significant(fast_ms)} to {format_ms(slow_ms)}. Check that it is in milliseconds, for this "
            "network at this size."
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if step(middle)[0] > measured_ms else (low, middle)
    return SpeedPoint(float(f"{math.exp(high):.6g}"), STEP_LOG_SD, precision)
