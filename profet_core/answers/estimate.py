"""Step latency of a network without a profile, on every offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from profet_core.answers.context import Context, filtered_context, filtered_rows
from profet_core.answers.document import Document
from profet_core.answers.predict import predicted_profile
from profet_core.catalog.collection import prices_version
from profet_core.catalog.gpus import AS_PROFILED, PLAIN
from profet_core.errors import Code, InputError, Note
from profet_core.latency import LEVEL
from profet_core.layers.estimate import (
    Disagreement,
    MeasuredStep,
    NetworkEstimate,
    disagreements,
    estimate,
    measured_step,
)
from profet_core.layers.measured import MeasuredTime, TrainingLog, measured_times, step_ms
from profet_core.layers.network import Counts, Network
from profet_core.layers.networks import counts_of, network_name
from profet_core.layers.steps import NetworkStep, Regime
from profet_core.offers import GpuRow, StepRow, rows_as
from profet_core.prediction.checks import read_as
from profet_core.prediction.predict import Prediction
from profet_core.questions import EstimateQuestion, ProfileQuestion
from profet_core.training.cost import Workload
from profet_core.training.memory import FitAnswer
from profet_core.training.plans import TOTALS, CostTable, costed
from profet_profiles import Profile


class EstimateAnswer(Struct, frozen=True):
    """The estimate, its costs if image counts are given, and its difference from the profile's prediction if any."""

    estimate: NetworkEstimate
    costs: CostTable | None
    profiled: Prediction | None
    disagreements: Sequence[Disagreement]
    warnings: tuple[Note, ...]

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, interval, cost."""
        return self.estimate.rows.to_frame()


def answer_estimate(context: Context, question: EstimateQuestion, file: Network | None = None) -> EstimateAnswer:
    """Estimate, cost, and compare; `file`: the network itself, where the question names a file."""
    if file is None:
        name, counts = network_name(question.network), counts_of(question.network, question.pixels, question.classes)
    elif question.classes is not None:
        raise InputError("{classes} is for named networks: a file has its own.", "classes")
    else:
        name, counts = file.name, file.counts
    offer_filter = question.offer_filter
    context, names, targets = filtered_context(context, offer_filter, question.targets)
    step = NetworkStep(
        counts,
        question.batch,
        name=name if file is None else "",
        optimizer=question.optimizer,
        precision=question.precision,
        training_code=question.training_code or PLAIN,
        frozen_backbone=question.frozen_backbone,
        checkpointing=question.checkpointing,
    )
    wanted = None if targets is None else [*targets.instances, *targets.gpus]
    sizes = question.batch, question.images, question.validation_images
    times = measured_times(question.measured, *sizes)
    measured = [measured_step(context.models, context.catalog, step) for step in times]
    if question.log is not None:
        measured.append(_logged_step(context, question, question.log, counts, is_file=file is not None))
    estimated = estimate(context.models, context.catalog, step, wanted, measured)
    chosen = {row.instance for row in filtered_rows(estimated.rows, offer_filter, names, "")}
    kept = chosen | estimated.gpus.numbers.keys()
    regimes = {name: regime for name, regime in estimated.regimes.items() if name in kept}
    fits = {name: fit for name, fit in estimated.fits.items() if name in kept}
    offers = tuple(offer for offer in estimated.offers if offer[0].name in chosen)
    estimated = replace(estimated, name=name, offers=offers, regimes=regimes, fits=fits)
    rows = estimated.rows
    costs, profiled, warnings = None, None, [Note(Code.COUNTS, text=text) for text in (file.caveats if file else ())]
    if question.images is not None:
        work = Workload(question.images, question.batch, question.epochs, question.validation_images)
        costs = costed(work, rows)
    warnings += estimated.warnings
    if question.profile is not None:
        asked = ProfileQuestion(
            profile=question.profile,
            anchor=question.anchor,
            profiled_precision=question.profiled_precision,
            precision=question.precision,
            training_code=question.training_code or AS_PROFILED,
            checkpointing=question.checkpointing,
        )
        profiled = predicted_profile(context, asked, read_as(question.profile, None), question.latency_ms)
        warnings += [Note(Code.COMPARED_PROFILE, text=note) for note in profiled.warnings]
        warnings += other_sizes(profiled.profile, question.batch, counts.pixels)
    return EstimateAnswer(
        estimate=estimated,
        costs=costs,
        profiled=profiled,
        disagreements=() if profiled is None else disagreements(rows, profiled),
        warnings=tuple(warnings),
    )


def _logged_step(
    context: Context, question: EstimateQuestion, log: TrainingLog, counts: Counts, *, is_file: bool
) -> MeasuredStep:
    """Return the step of a log, at the sizes that it states; those of the question where it states none."""
    place, batch_size = question.anchor or log.gpu, log.batch_size or question.batch
    if place is None:
        raise InputError("{log} doesn't name the GPU that it ran on: give it with {anchor}.", "log", "anchor")
    if log.pixels not in (None, counts.pixels):
        if is_file:
            raise InputError(f"{{log}} is of images of {log.pixels:,} pixels: give {{pixels}} {log.pixels}.", "pixels")
        counts = counts_of(question.network, log.pixels)
    latency_ms = step_ms(log.time, batch_size, question.images, question.validation_images)
    step = measured_step(context.models, context.catalog, MeasuredTime(place, batch_size, latency_ms))
    return replace(step, network=counts)


def other_sizes(profile: Profile, batch_size: int, pixels: int) -> tuple[Note, ...]:
    """Warn if a profile was recorded at a different size than the estimate's."""
    sizes = (("batch size", profile.meta.batch_size, batch_size), ("pixel size", profile.meta.pixels, pixels))
    return tuple(
        Note(Code.OTHER_SIZE, what=what, recorded=recorded, requested=requested)
        for what, recorded, requested in sizes
        if recorded is not None and recorded != requested
    )


class CountsDocument(Document, frozen=True):
    """What one image takes in the forward pass."""

    pixels: int
    classes: int
    parameters: int
    flops: float
    convolution_flops: float
    depthwise_flops: float
    dense_flops: float
    activation_elements: float
    layers: int

    @classmethod
    def of(cls, record: Counts) -> Self:
        """Write counts."""
        flops = record.flops
        return cls(
            pixels=record.pixels,
            classes=record.classes,
            parameters=record.parameters,
            flops=flops.all,
            convolution_flops=flops.convolution,
            depthwise_flops=flops.depthwise,
            dense_flops=flops.dense,
            activation_elements=record.elements.all,
            layers=record.layers.all,
        )


class EstimateRow(StepRow, frozen=True):
    """The estimated step on an instance; costs are null without images."""

    by_method: Mapping[str, float]
    regime: Regime
    epoch_s: float | None
    epoch_usd: float | None
    total_s: float | None
    total_usd: float | None


class ComparedDocument(Document, frozen=True):
    """The profile that the estimate is compared with."""

    anchor: str
    disagreements: Sequence[Disagreement]


class EstimateDocument(Document, frozen=True):
    """`EstimateAnswer` as JSON."""

    network: str
    batch_size: int
    method: str
    counts: CountsDocument
    interval_level: float
    estimates: Sequence[EstimateRow]
    gpus: Sequence[GpuRow]
    memory: Mapping[str, FitAnswer]
    profile: ComparedDocument | None
    warnings: Sequence[Note]
    prices_version: str

    @classmethod
    def of(cls, record: EstimateAnswer) -> Self:
        """Write an answer."""
        estimated, rows, compared = record.estimate, record.estimate.rows, None
        if record.profiled is not None:
            compared = ComparedDocument(record.profiled.anchor, record.disagreements)
        columns = {
            **rows.columns(),
            "by_method": rows.member_cells,
            "regime": [estimated.regimes[offer.name] for offer in rows.offers],
        }
        costs = dict.fromkeys(TOTALS, [None] * len(rows)) if record.costs is None else record.costs.columns()
        return cls(
            network=estimated.name,
            batch_size=estimated.batch_size,
            method=estimated.method,
            counts=CountsDocument.of(estimated.network),
            interval_level=LEVEL,
            estimates=rows_as(EstimateRow, {**columns, **{name: costs[name] for name in TOTALS}}),
            gpus=estimated.gpus.gpu_rows,
            memory=estimated.fits,
            profile=compared,
            warnings=record.warnings,
            prices_version=prices_version(rows.offers),
        )
