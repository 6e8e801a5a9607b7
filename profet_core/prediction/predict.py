"""Predict step latency on every offer from profiles: the stages of a prediction, in order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import Catalog, Instance
from profet_core.catalog.collection import nearest_instances
from profet_core.catalog.gpus import AS_PROFILED, CHANNELS_LAST, FP32, HALF, PLAIN, requested_code, requested_precision
from profet_core.catalog.instance import gpu_words
from profet_core.ensemble.members import ProfileBatch, Similarity, profile_batch
from profet_core.ensemble.operations import UnknownOperations, load_operation_classes
from profet_core.ensemble.work import StepTimes
from profet_core.errors import Code, InputError, NoPredictionError, Note, OptionalInputError
from profet_core.latency import Basis, Estimate, FloatArray, combined_sd, log_sd_of
from profet_core.layers.by_name import TODAYS, Asked, ByCounts, CountedStep, Recorded, inputs_there
from profet_core.layers.rates import calibrated_gpus, has_rates
from profet_core.offers import OfferTable
from profet_core.prediction.checks import (
    NO_ANCHOR,
    NO_TRANSFORMER,
    check_latency,
    check_profile,
    counted,
    diagnose,
    host_times_ms,
    input_wait_ms,
    is_transformer,
    unattributed_log_sd,
    without_input_wait,
)
from profet_core.prediction.counts import (
    MEASURED_LOG_SD,
    PREDICTED_LOG_SD,
    StepsByCounts,
    counted_steps,
    program_notes,
    with_counts,
)
from profet_core.prediction.members import Estimates, caveats, class_estimates, documented_estimates
from profet_core.prediction.mixed_precision import (
    Change,
    RecordedStep,
    is_tuned,
    precision_notes,
    recorded_step,
    with_other_kernels,
)
from profet_core.prediction.models import Method, Models
from profet_core.prediction.scaler import AXIS_RANGE
from profet_core.prediction.targets import (
    Anchor,
    Layout,
    StepTable,
    anchor_gpu,
    find_anchor,
    offer_table,
    offer_targets,
)
from profet_profiles.record import STAND_IN, Profile, ProfileMeta, StepsBasis
from profet_profiles.units import format_ms, positive_number

NOTHING_MEASURED: Mapping[str, float] = MappingProxyType({})


class Prediction(Struct, frozen=True, eq=False, dict=True):
    """Step latencies of one profiled network on the anchor and on every target.

    Attributes
    ----------
    anchor : where the profile was recorded; a GPU without an offer has no row.
    profile : with its known sizes and the number of steps used for the prediction.
    table : steps by GPU and host.
    offers : each offer, and the table's row of all offers with its GPU and host.
    by_counts : what the counts of its network say of other sizes; None: its network is unknown.
    checkpointing : whether activations are computed again in the backward pass.
    precision : of all rows: "fp32", "tf32", "amp" or "bf16"; "as profiled" for each GPU's default of FP32 or TF32.
    read_by : profiled instance whose models read the profile, if not the anchor; else empty.
    """

    anchor: str
    anchor_latency_ms: float | None
    method: str
    profile: Profile
    table: StepTable
    offers: tuple[tuple[Instance, int], ...]
    interval_level: float | None
    unknown_operations: UnknownOperations
    similarity: Similarity | None
    warnings: tuple[Note, ...]
    read_by: str = ""
    precision: str = AS_PROFILED
    checkpointing: bool = False
    by_counts: StepsByCounts | None = None

    @property
    def steps(self) -> int:
        """Number of training steps in the profile's file."""
        return self.profile.steps

    @property
    def steps_basis(self) -> StepsBasis:
        """How the number of steps was determined."""
        return self.profile.steps_basis

    @property
    def batch_size(self) -> int | None:
        """Batch size of the profile; None if unknown."""
        return self.profile.meta.batch_size

    @property
    def pixels(self) -> int | None:
        """Height and width of the profile's images; None if unknown."""
        return self.profile.meta.pixels

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Batch size and pixels of the profile."""
        return self.batch_size, self.pixels

    def is_at(self, batch_size: int, pixels: int | None) -> bool:
        """Whether the profile was recorded at these sizes; pixels None: any pixel size."""
        return self.batch_size == batch_size and (pixels is None or self.pixels == pixels)

    @property
    def size_words(self) -> str:
        """'batch 64' or 'batch 64, 224 pixels'."""
        pixels = "" if self.pixels is None else f", {self.pixels} pixels"
        return f"batch {self.batch_size}{pixels}"

    @cached_property
    def predictions(self) -> OfferTable:
        """One row per offer, the anchor's first."""
        return offer_table(self.table, self.offers)

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> latency, for all rows with one."""
        latencies_ms, has_latency = self.table.latency_ms.tolist(), self.table.known.tolist()
        return {name: latencies_ms[row] for name, row in self.table.rows(self.offers).items() if has_latency[row]}

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, interval, cost."""
        return self.predictions.to_frame()


class PredictOptions(TypedDict, total=False):
    """Options of a prediction.

    targets : instances to predict; None: all that the method can. These are the measured ones, and with the default
        method also catalog instances with a known GPU.
    method : "default", or "profet": the median of three members with the latency, the mean of two without it
        (arXiv:2208.05130).
    trust_latency : use latencies even if they contradict their profiles.
    precision : of the training: "fp32" (without TF32), "tf32", "amp", "bf16" or "as profiled": the profile's. With "as
        profiled", an FP32 profile means the frameworks' default, which is TF32 on Ampere and later. Measured instances
        don't have it.
    training_code : of the training: "plain", "channels-last" (and compiled), "tuned" or "as profiled"; for half.
    by_counts : what layer counts say of a profile whose network is known, which joins the members.
    measured_ms : target -> latency that was measured there with the same network, milliseconds per step. It is the
        answer there, and corrects the GPU's other hosts and, if it is of another profile, this one.
    measured_from : prediction from the profile that these belong to, if that is another one of the network.
    """

    targets: Sequence[str] | None
    method: str
    trust_latency: bool
    precision: str
    training_code: str
    by_counts: ByCounts
    measured_ms: Mapping[str, float]
    measured_from: Prediction | None


def predict(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    *,
    latency_ms: float | None = None,
    **options: Unpack[PredictOptions],
) -> Prediction:
    """Predict one profile's step latency on every target; takes and raises what `predict_many` does."""
    latencies_ms = None if latency_ms is None else [latency_ms]
    return predict_many(models, catalog, [profile], anchor, latencies_ms=latencies_ms, **options)[0]


def predict_many(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    anchor: str,
    *,
    latencies_ms: Sequence[float] | None = None,
    targets: Sequence[str] | None = None,
    method: str = "default",
    trust_latency: bool = False,
    precision: str = AS_PROFILED,
    training_code: str = AS_PROFILED,
    by_counts: ByCounts | None = None,
    measured_ms: Mapping[str, float] = NOTHING_MEASURED,
    measured_from: Prediction | None = None,
) -> Predictions:
    """Predict step latency on every target from profiles of one anchor.

    Parameters
    ----------
    anchor : where the profiles were recorded: a catalog instance, or a GPU by its name.
    latencies_ms : one latency on the anchor for every profile, milliseconds, or None for none of them.
    targets, method, trust_latency, precision, training_code, by_counts, measured_ms, measured_from : as in
        `PredictOptions`.

    Raises
    ------
    InputError : unknown anchor, target, method, precision or training code, or a latency that is not a positive number.
    LatencyDoubtError : the first latency or number of steps that contradicts its profile's device time.
    NoPredictionError : a profile has no GPU time, or too little that belongs to operations, or its GPU matches no
        anchor.
    """
    requested, code = requested_precision(precision), requested_code(training_code)
    where, chosen = find_anchor(models, catalog, anchor), models.method(method)
    question = _Question(
        models=models,
        catalog=catalog,
        method=chosen,
        anchor=where,
        precision=requested,
        training_code=code,
        wanted=_wanted(models, catalog, where, chosen, targets),
        by_counts=by_counts,
        measured_ms=measured_ms,
        measured_from=measured_from,
    )
    steps = _recorded(models, where, profiles, latencies_ms, trust_latency)
    return Predictions(question, _run_stages(question, steps) if steps else None)


def _recorded(
    models: Models,
    anchor: Anchor,
    profiles: Sequence[Profile],
    latencies_ms: Sequence[float] | None,
    trust_latency: bool,
) -> list[RecordedStep]:
    """Check each profile with its latency, and convert it to FP32 or TF32."""
    for profile in profiles:
        check_profile(models, profile)
        if is_transformer(profile):
            raise NoPredictionError(NO_TRANSFORMER)
        if STAND_IN in profile.warnings and not (anchor.gpu and anchor.gpu.name in calibrated_gpus(models)):
            raise NoPredictionError(NO_ANCHOR)
    known_ms: list[float | None] = [None] * len(profiles)
    if latencies_ms is not None:
        if len(latencies_ms) != len(profiles):
            raise InputError(
                f"{len(latencies_ms)} latencies were given for {len(profiles)} profiles: give one per profile."
            )
        known_ms = [positive_number("The anchor's latency", value) for value in latencies_ms]
    for profile, latency_ms in zip(profiles, known_ms, strict=True):
        if latency_ms is not None:
            check_latency(models, counted(profile, latency_ms), anchor.instance, latency_ms, trusted=trust_latency)
    return [recorded_step(models, anchor, *step) for step in zip(profiles, known_ms, strict=True)]


def _wanted(
    models: Models, catalog: Catalog, anchor: Anchor, method: Method, targets: Sequence[str] | None
) -> Sequence[str] | None:
    """Check the targets; None: all."""
    # The documented ensemble is limited to its four instances.
    if method.kind != "classes" and anchor.name not in models.instances:
        raise InputError(
            f"The documented ensemble supports only the anchors {', '.join(models.instances)}: use the default method."
        )
    if targets is None and method.kind == "classes":
        return None
    names: Iterable[str] = models.instances
    if method.kind == "classes":
        names = (offer.name for offer, _ in offer_targets(models, catalog).layout(anchor).offers)
    supported = [name for name in names if name != anchor.name and name in catalog]
    if targets is None:
        return supported
    targets = [targets] if isinstance(targets, str) else targets
    others = [target for target in dict.fromkeys(targets) if target != anchor.name]
    for target in others:
        if target not in supported:
            without_offer = "" if target in catalog else models.transfer.gpus.without_offer(target)
            raise InputError(without_offer or f"Unknown target {target!r}: {nearest_instances(target, supported)}.")
    if not others:
        raise InputError(
            f"Name at least one target other than the anchor: {nearest_instances(anchor.name, supported)}."
        )
    return others


class _Question(Struct, frozen=True):
    """Targets to predict for every profile of one anchor; `wanted` None: all."""

    models: Models
    catalog: Catalog
    method: Method
    anchor: Anchor
    precision: str
    training_code: str
    wanted: Sequence[str] | None
    by_counts: ByCounts | None
    measured_ms: Mapping[str, float]
    measured_from: Prediction | None

    def here(self, batch: ProfileBatch, times: StepTimes) -> Estimate:
        """Return steps on the anchor, measured or inferred from the profiles."""
        profiled = self.models.transfer.profiled
        instances = profiled.values() if self.anchor.gpu else [profiled[self.anchor.instance]]
        width = max(instance.inferred_log_half_width for instance in instances)
        if batch.latency_ms is None:
            return Estimate(latency_ms=times.latency_ms, log_sd=log_sd_of(width) + batch.inputs.doubt)
        # A latency beyond what the profile explains is the GPU's in part.
        unexplained = np.maximum(np.log(batch.latency_ms / times.latency_ms) - width, 0.0)
        return Estimate(latency_ms=batch.latency_ms, log_sd=combined_sd(MEASURED_LOG_SD, log_sd_of(unexplained)))

    def on_anchor(self, steps: Sequence[RecordedStep], here: Estimate, times: StepTimes) -> list[Recorded]:
        """Each step as it was recorded on the anchor; `here` in FP32 or TF32."""
        recorded, gpu = [], anchor_gpu(self.models, self.anchor)
        batch_sizes = [step.profile.meta.batch_size or _USUAL_BATCH for step in steps]
        copied = np.clip(np.rint(times.pixels(np.array(batch_sizes, float))), *AXIS_RANGE["pixels"])
        by_copy = np.where(times.copy_ms > 0, copied, _PIXELS_WITHOUT_COPY).astype(int).tolist()
        estimates = np.array([here.latency_ms, here.log_sd, times.work_ms]).T.tolist()
        rows = zip(steps, estimates, batch_sizes, by_copy, strict=True)
        for step, (step_ms, log_sd, work_ms), batch_size, pixels in rows:
            code = CHANNELS_LAST if is_tuned(step.profile) else PLAIN
            asked = Asked(step.precision or AS_PROFILED, code, batch_size, step.profile.meta.pixels or pixels)
            latency_ms, busy_ms = (ms * math.exp(-step.log_slower) for ms in (step_ms, work_ms))
            recorded.append(Recorded(gpu, self.anchor.host, asked, latency_ms, max(log_sd, MEASURED_LOG_SD), busy_ms))
        return recorded


class _Stages(Struct, frozen=True):
    """What the stages for all profiles of one anchor and precision give.

    Attributes
    ----------
    table : steps on every target, one column per profile.
    unused : of each profile, why its network's name is not used.
    on_anchor : each step as it was recorded there.
    by_counts : what each step's counted or read work says; empty for models without rates.
    doubts : of GPU time without an operation.
    """

    steps: Sequence[RecordedStep]
    layout: Layout
    table: StepTable
    estimates: Estimates
    unused: Sequence[Sequence[Note]]
    on_anchor: Sequence[Recorded]
    by_counts: Sequence[CountedStep]
    doubts: FloatArray


def _run_stages(question: _Question, steps: Sequence[RecordedStep]) -> _Stages:
    """Run the stages for all profiles, each from table to table."""
    models, method, anchor = question.models, question.method, question.anchor
    read = [without_input_wait(step.base, step.base_ms) for step in steps]
    known_ms = None if steps[0].base_ms is None else np.array([latency_ms for _, latency_ms in read], float)
    batch = profile_batch([profile for profile, _ in read], anchor.instance, known_ms)
    layout = offer_targets(models, question.catalog).layout(anchor, tf32=question.precision != FP32)
    # Given: the anchor's own latencies.
    table = StepTable.unknown(layout.targets, len(steps))
    if anchor.name in question.catalog:
        given_ms = np.array([np.nan if step.base_ms is None else step.base_ms for step in steps])
        table = table.with_rows([layout.places[anchor.name]], latency_ms=given_ms, log_sd=0.0, basis=[Basis.GIVEN])
    classes, host_ms = load_operation_classes(), host_times_ms(batch.profiles)
    times = StepTimes.of(classes, batch.inputs, host_ms)
    here = question.here(batch, times)
    on_anchor = question.on_anchor(steps, here, times)
    if anchor.gpu is not None:
        inputs = inputs_there(models, batch.inputs, anchor.gpu, [step.base_precision for step in steps])
        batch, times = replace(batch, inputs=inputs), StepTimes.of(classes, inputs, host_ms)

    # Profiled GPUs, by the documented ensemble or the default members and counts, and from these all others.
    others = [] if anchor.gpu else [name for name in models.instances if name != anchor.instance]
    unused: Sequence[Sequence[Note]] = [()] * len(steps)
    steps_by_counts: Sequence[CountedStep] = ()
    by_name = question.by_counts if method.kind == "classes" else None
    if has_rates(models) or method.kind == "classes":
        steps_by_counts, unused = counted_steps(models, batch, on_anchor, by_name, times)
    if method.kind != "classes":
        estimates = documented_estimates(models, method, batch, others)
        table = estimates.in_table(table, layout.plan.profiled)
    else:
        estimates = class_estimates(models, method, batch, others)
        estimates = with_counts(models, estimates, batch, steps_by_counts, here.latency_ms)
        table = estimates.in_table(table, layout.plan.profiled)
        table = layout.plan.filled(table, anchor, here, is_measured=known_ms is not None)
    return _Stages(
        steps=steps,
        layout=layout,
        table=table,
        estimates=estimates,
        unused=unused,
        on_anchor=on_anchor,
        by_counts=steps_by_counts,
        doubts=unattributed_log_sd(batch.profiles),
    )


def _predicted(stages: _Stages, column: int) -> tuple[Recorded, ...]:
    """Return a step as it is predicted on profiled GPUs."""
    table = stages.table.column(column)
    asked = stages.on_anchor[column].asked._replace(precision=FP32, training_code=PLAIN)
    rows = [stages.layout.plan.profiled[name] for name in stages.estimates.targets]
    log_sds = np.fmax(table.log_sd[rows], PREDICTED_LOG_SD)
    return tuple(
        Recorded(table.targets[row].gpu, table.targets[row].host, asked, latency_ms, log_sd)
        for row, latency_ms, log_sd in zip(rows, table.latency_ms[rows].tolist(), log_sds.tolist(), strict=True)
    )


def _finish(question: _Question, stages: _Stages, column: int) -> Prediction:
    """Run the stages for one profile: precision, kernels, the order of GPUs, and custom measurements.

    The last stage, `sizes.resized`, runs on its table for each requested size.
    """
    models, anchor, step = question.models, question.anchor, stages.steps[column]
    change = Change.to(models, anchor, step, question.precision, question.training_code)
    own, recorded_as, by_counts = stages.table.column(column), stages.on_anchor[column], None
    asked = recorded_as.asked._replace(precision=change.precision, training_code=change.code)
    table = change.given(own)
    if stages.by_counts:
        counted_step, doubt = stages.by_counts[column], float(stages.doubts[column])
        # Of a step in half precision its own GPU says most.
        others = () if counted_step.network or step.precision in HALF else _predicted(stages, column)
        program = counted_step.program(recorded_as) if question.method.kind == "classes" else TODAYS
        by_counts = StepsByCounts(models, counted_step, recorded_as, others, asked, doubt, program)
        table = by_counts.in_table(table, own, step.log_sd)
    table = stages.layout.in_order(with_other_kernels(table, change))
    profile = counted(step.profile, step.latency_ms)
    notes, bottleneck = precision_notes(change), diagnose(profile, step.latency_ms)
    if by_counts is not None:
        notes += program_notes(by_counts.program)
    # Predictions exclude the wait for input, which has a note of its own.
    if bottleneck.warning and not (bottleneck.kind == "input" and input_wait_ms(profile)):
        notes.append(bottleneck.warning)
    notes += stages.unused[column]
    notes += caveats(models, step.base, anchor, stages.estimates, column)
    offers = _wanted_offers(question, stages.layout)
    if question.measured_ms:
        table, more = _corrected(question, table, offers, profile)
        notes += more
    return Prediction(
        anchor=anchor.name,
        anchor_latency_ms=step.latency_ms,
        method=question.method.name,
        profile=profile,
        table=table,
        offers=offers,
        interval_level=stages.estimates.interval_level,
        unknown_operations=stages.estimates.unknown[column],
        similarity=stages.estimates.similarity(column),
        # The recorder may already have written the same sentence into the profile.
        warnings=tuple(dict.fromkeys(notes)),
        read_by=anchor.instance,
        precision=change.precision,
        by_counts=by_counts,
    )


def _wanted_offers(question: _Question, layout: Layout) -> tuple[tuple[Instance, int], ...]:
    """Return the offers to answer for, each with its row; profiled instances in the order of the question."""
    if question.wanted is None:
        return layout.offers
    order = {name: number for number, name in enumerate((question.anchor.name, *question.wanted))}
    offers = [pair for pair in layout.offers if pair[0].name in order]
    if set(question.wanted) <= set(question.models.instances) - {question.anchor.instance}:
        offers.sort(key=lambda pair: order[pair[0].name])
    return tuple(offers)


class Predictions(Sequence[Prediction]):
    """Predictions of many profiles, each made on access: all rows of 10,000 profiles would take gigabytes."""

    def __init__(self, question: _Question, stages: _Stages | None, columns: Sequence[int] | None = None) -> None:
        self._question, self._stages = question, stages
        self._columns = range(len(stages.steps)) if columns is None and stages is not None else columns or ()

    @overload
    def __getitem__(self, number: int, /) -> Prediction: ...

    @overload
    def __getitem__(self, numbers: slice, /) -> Predictions: ...

    def __getitem__(self, number: int | slice, /) -> Prediction | Predictions:
        if isinstance(number, slice):
            return Predictions(self._question, self._stages, self._columns[number])
        column = self._columns[number]
        assert self._stages is not None
        return _finish(self._question, self._stages, column)

    def __len__(self) -> int:
        return len(self._columns)


def _corrected(
    question: _Question, table: StepTable, offers: Sequence[tuple[Instance, int]], profile: Profile
) -> tuple[StepTable, list[Note]]:
    """Correct the table by latencies that were measured with this profile's workload, or with another one.

    At this profile's sizes a measured latency is used as given. Notes say which measurements are far from the
    prediction, and which are used.
    """
    other, anchor, measured_ms = question.measured_from, question.anchor.name, question.measured_ms
    share = SHARE_AT_SAME_SIZES
    ratios = _measured_ratios(table, offers, anchor, measured_ms)
    if other is not None:
        ratios = _measured_ratios(other.table, offers, anchor, measured_ms)
        share = share_transferred(profile.meta, other.profile.meta)
    is_here = other is None or other.sizes == (profile.meta.batch_size, profile.meta.pixels)
    words = {offer.name: gpu_words(offer) for offer, _ in offers if offer.name in ratios}
    doubts, notes = [], []
    for name, ratio in ratios.items():
        values = {"measured": format_ms(measured_ms[name]), "predicted": format_ms(measured_ms[name] / ratio)}
        if not 1 / SLIP_FACTOR <= ratio <= SLIP_FACTOR:
            doubts.append(Note(Code.MEASURED_FAR, instance=name, **values))
        notes.append(Note(Code.CORRECTED, instance=name, gpu=words[name], **values))
    factors = {name: ratio**share for name, ratio in ratios.items()}
    table = _with_measurements(table, offers, anchor, ratios if is_here else factors, factors)
    if is_here:
        rows = {target.instance: row for row, target in enumerate(table.targets)}
        table = table.with_rows(
            [rows[name] for name in ratios],
            latency_ms=[measured_ms[name] for name in ratios],
            log_sd=0.0,
            basis=[Basis.GIVEN] * len(ratios),
            notes=[()] * len(ratios),
        )
    return table, doubts + notes


#: Of a profile that doesn't say them, nor has a copy of the batch. Without the copy's time larger images would count as
#: one that the step waits for: of PROFET's profiles nine of ten answers change by 8 %, with 224 pixels by 30 %.
_USUAL_BATCH, _PIXELS_WITHOUT_COPY = 64, 64
#: Share of one workload's measured log error that applies to another of the same network: at the same sizes, and if the
#: sizes are unknown. `profet validate` measures the gain.
SHARE_AT_SAME_SIZES, SHARE_WITHOUT_SIZES = 0.9, 0.6
#: Number of batch-size doublings over which the share falls by a factor of e; a pixel doubling counts as this many.
DOUBLINGS_PER_E, PIXEL_FACTOR = 4.0, 1.5
#: A measurement this many times off the prediction is more likely an input error than a model error.
SLIP_FACTOR = 3.0


def share_transferred(meta: ProfileMeta, reference_meta: ProfileMeta) -> float:
    """Share of a measured log error that applies to another workload of the same network, 0 to 1.

    >>> share_transferred(ProfileMeta(batch_size=64, pixels=128), ProfileMeta(batch_size=64, pixels=128))
    0.9
    """
    sizes = (meta.batch_size, reference_meta.batch_size), (meta.pixels, reference_meta.pixels)
    doublings = [abs(math.log2(here / there)) for here, there in sizes if here is not None and there is not None]
    if len(doublings) < len(sizes):
        return SHARE_WITHOUT_SIZES
    batch, pixels = doublings
    return SHARE_AT_SAME_SIZES * math.exp(-(batch + PIXEL_FACTOR * pixels) / DOUBLINGS_PER_E)


def _measured_ratios(
    table: StepTable, offers: Sequence[tuple[Instance, int]], anchor: str, measured_ms: Mapping[str, float]
) -> dict[str, float]:
    """Instance -> measured latency over the predicted one.

    Raises OptionalInputError if an instance is the anchor or was not predicted, or a latency is not a positive number.
    """
    rows = {name: row for name, row in table.rows(offers).items() if name != anchor}
    ratios = {}
    try:
        for name, ms in measured_ms.items():
            if name not in rows or not table.known[rows[name]]:
                others = ", ".join(rows)
                raise InputError(f"A measured latency must be for a predicted target ({others}), not {name!r}.")
            ratios[name] = positive_number(f"The measured latency of {name}", ms) / table.latency_ms.item(rows[name])
    except InputError as error:
        raise OptionalInputError(str(error), "measured") from None
    return ratios


def _with_measurements(
    table: StepTable,
    offers: Sequence[tuple[Instance, int]],
    anchor: str,
    own: Mapping[str, float],
    factors: Mapping[str, float],
) -> StepTable:
    """Multiply latencies of measured instances, and of others with the GPU of one, by the factor of the first such one.

    The interval is scaled too and keeps its relative width. A measured instance gets a row and a factor of its `own`.
    """
    measured = {name: row for name, row in table.rows(offers).items() if name in factors}
    new = {name: row for name, row in measured.items() if table.targets[row].instance != name}
    targets = (*table.targets, *(table.targets[row]._replace(instance=name) for name, row in new.items()))
    table = replace(table.take([*range(len(table.targets)), *new.values()]), targets=targets)
    by_gpu = {table.targets[measured[name]].gpu: factor for name, factor in reversed(list(factors.items()))}
    changed = {
        row: own.get(target.instance) or by_gpu[target.gpu]
        for row, target in enumerate(table.targets)
        if target.gpu in by_gpu and target.instance != anchor
    }
    names = {table.targets[row].instance for row in changed}
    # If one of two errors is new, the error of the ratio is unknown.
    relative_to = tuple("" if row in changed or of in names else of for row, of in enumerate(table.relative_to))
    factor = np.array([changed.get(row, 1.0) for row in range(len(table.targets))])
    # Other sizes are scaled from the parts.
    return replace(
        table,
        latency_ms=table.latency_ms * factor,
        free_ms=table.free_ms * factor,
        launch_ms=table.launch_ms * factor,
        relative_to=relative_to,
    )
