"""Step latency of a network without a profile, on every offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from profet_core.answers import questions
from profet_core.answers.context import Context, filtered_context, filtered_rows
from profet_core.answers.documents import COVERAGE, GPU_ROWS, MEMORY, RENTED, ends
from profet_core.answers.predict import predicted_profile
from profet_core.answers.questions import (
    COST,
    LOG,
    TIMES,
    WHOLE,
    Field,
    Fields,
    ProfileQuestion,
    StepsQuestion,
    check_epochs,
    fields_of,
    option,
)
from profet_core.answers.schema import NUMBER, TEXT, at, by_name, keys, many, maybe, record, under
from profet_core.answers.schema import WHOLE as INTEGER
from profet_core.catalog.gpus import CODES, PLAIN
from profet_core.errors import Code, InputError, Note
from profet_core.layers.estimate import (
    OPTIMIZERS,
    Disagreement,
    MeasuredStep,
    NetworkEstimate,
    NetworkStep,
    disagreements,
    estimate,
    measured_step,
)
from profet_core.layers.logs import LOGS, TrainingLog
from profet_core.layers.measured import MeasuredTime, measured_times, step_ms
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, network_name
from profet_core.offers import OfferStep
from profet_core.prediction.checks import read_as
from profet_core.prediction.table import Prediction
from profet_core.training.cost import Workload
from profet_core.training.plans import TOTALS, Plan, costed
from profet_profiles import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateQuestion(StepsQuestion):
    """A network without a profile.

    Attributes
    ----------
    network : FLOPs, bytes and layers per image.
    name : of the network if known, else of its file.
    caveats : uncertainty in the counts of a file; None: `name` is one of `layers.networks.named_networks`.
    log_anchor : instance or GPU that the log's training ran on.
    profiled : the same network, profiled at this size and batch size.
    """

    network: Counts
    name: str
    caveats: Sequence[str] | None = None
    batch_size: int
    optimizer: str = option(
        "optimizer; its state counts in memory (default: sgd)", default="sgd", choices=tuple(OPTIMIZERS)
    )
    training_code: str = option(
        "training code: plain; channels-last and compiled; or tuned as for MLPerf (default: plain)",
        default=PLAIN,
        choices=CODES,
    )
    frozen_backbone: bool = option("only the last layer is trained: no weight gradients before it", default=False)
    images: int | None = option("training images per epoch; adds time and cost")
    validation_images: int = option(COST["validation_images"].help, default=0)
    epochs: int = option(COST["epochs"].help, default=1)
    measured: Sequence[str] | Mapping[str, str] = option(
        "step time that you measured on a GPU, in the same precision: RTX 4090=46ms, T4@32=5.2it/s (at batch 32), "
        "=1390img/s, =14min/epoch (with images), or a progress line of Keras or tqdm",
        TIMES,
        default=(),
    )
    log: TrainingLog | None = option(
        "log of a finished training of this network in the same precision, whose step time counts as measured: "
        f"{LOGS}; with the GPU that it ran on as anchor, unless it names it",
        LOG,
        unit="FILE",
    )
    targets: Sequence[str] | None = option("instances to estimate (default: all)")
    log_anchor: str | None = None
    profiled: ProfileQuestion | None = None


#: Fields of `named_question`, and those of the profile to compare with.
ESTIMATE: Fields = {
    "network": Field(questions.TEXT, "network name, such as resnet50", "NAME", required=True),
    "batch": Field(WHOLE, "batch size", required=True),
    "pixels": Field(WHOLE, "height and width of the image (default: the network's, or the file's)"),
    "classes": Field(WHOLE, "number of classes of a named network (default: the network's)"),
    "profile": replace(COST["profile"], help="profile of the network to compare with", required=False),
    **{name: COST[name] for name in ("anchor", "latency_ms", "profiled_precision")},
    **fields_of(EstimateQuestion),
}


def with_profiled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of `ESTIMATE` with those of the profile as its question."""
    names = ("profile", "anchor", "latency_ms", "profiled_precision")
    of_profile = {name: values[name] for name in names if name in values}
    more = {name: value for name, value in values.items() if name not in of_profile}
    if "log" in values and "anchor" in values:
        more["log_anchor"] = values["anchor"]
    if not of_profile or ("log" in values and of_profile.keys() == {"anchor"}):
        return more
    if "profile" not in of_profile:
        others = "{anchor}, {latency_ms} and {profiled_precision} need a profile to compare with."
        raise InputError(others, "anchor", "latency_ms", "profiled_precision")
    of_profile |= {name: values[name] for name in ("precision", "training_code") if name in values}
    return {**more, "profiled": ProfileQuestion(**of_profile)}


def named_question(
    network: str,
    *,
    batch: int,
    pixels: int | None = None,
    classes: int | None = None,
    profiled: ProfileQuestion | None = None,
    **more: Any,
) -> EstimateQuestion:
    """Build the question for a network given by name; InputError if it is unknown, or can't have that size.

    Pixels and classes default to the network's own. `more` are other question fields.
    """
    name, counts = network_name(network), counts_of(network, pixels, classes)
    return EstimateQuestion(network=counts, name=name, batch_size=batch, profiled=profiled, **more)


@dataclass(frozen=True, slots=True)
class EstimateAnswer:
    """The estimate, its costs if image counts are given, and its difference from the profile's prediction if any."""

    estimate: NetworkEstimate
    costs: Mapping[str, Plan] | None
    profiled: Prediction | None
    disagreements: Sequence[Disagreement]
    warnings: tuple[Note, ...]

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, interval, cost."""
        return self.estimate.rows.to_frame()


def answer_estimate(context: Context, question: EstimateQuestion) -> EstimateAnswer:
    """Estimate, cost, and compare."""
    offer_filter = question.offer_filter
    context, names, targets = filtered_context(context, offer_filter, question.targets)
    step = NetworkStep(
        question.network,
        question.batch_size,
        name=question.name if question.caveats is None else "",
        optimizer=question.optimizer,
        precision=question.precision,
        training_code=question.training_code,
        frozen_backbone=question.frozen_backbone,
    )
    wanted = None if targets is None else [*targets.instances, *targets.gpus]
    sizes = question.batch_size, question.images, question.validation_images
    times = measured_times(question.measured, *sizes)
    measured = [measured_step(context.models, context.catalog, one) for one in times]
    if question.log is not None:
        measured.append(_logged_step(context, question, question.log))
    found = estimate(context.models, context.catalog, step, wanted, measured)
    chosen = {row.instance for row in filtered_rows(found.rows, offer_filter, names, "")}
    kept = chosen | found.gpus.numbers.keys()
    regimes = {name: regime for name, regime in found.regimes.items() if name in kept}
    fits = {name: fit for name, fit in found.fits.items() if name in kept}
    offers = tuple(one for one in found.offers if one[0].name in chosen)
    found = replace(found, name=question.name, offers=offers, regimes=regimes, fits=fits)
    rows = found.rows
    if question.images is None:
        check_epochs(question.epochs, question.validation_images)
    costs, profiled, warnings = None, None, [Note(Code.COUNTS, text=text) for text in question.caveats or ()]
    if question.images is not None:
        work = Workload(question.images, question.batch_size, question.epochs, question.validation_images)
        costs = {plan.instance: plan for plan in costed(work, rows)}
    warnings += found.warnings
    if (given := question.profiled) is not None:
        profiled = predicted_profile(context, given, read_as(given.profile, given.steps), given.latency_ms)
        warnings += [Note(Code.COMPARED_PROFILE, text=note) for note in profiled.warnings]
        warnings += other_sizes(profiled.profile, question)
    return EstimateAnswer(
        estimate=found,
        costs=costs,
        profiled=profiled,
        disagreements=() if profiled is None else disagreements(rows, profiled),
        warnings=tuple(warnings),
    )


def _logged_step(context: Context, question: EstimateQuestion, log: TrainingLog) -> MeasuredStep:
    """The step of a log, at the sizes that it states; those of the question where it states none."""
    place, batch_size = question.log_anchor or log.gpu, log.batch_size or question.batch_size
    if place is None:
        raise InputError("{log} doesn't name the GPU that it ran on: give it with {anchor}.", "log", "anchor")
    counts = question.network
    if log.pixels not in (None, counts.pixels):
        if question.caveats is not None:
            raise InputError(f"{{log}} is of images of {log.pixels:,} pixels: give {{pixels}} {log.pixels}.", "pixels")
        counts = counts_of(question.name, log.pixels)
    latency_ms = step_ms(log.time, batch_size, question.images, question.validation_images)
    step = measured_step(context.models, context.catalog, MeasuredTime(place, batch_size, latency_ms))
    return replace(step, network=counts)


def other_sizes(profile: Profile, question: EstimateQuestion) -> tuple[Note, ...]:
    """Caveats if a profile was recorded at a different size than the question asks for."""
    sizes = (
        ("batch size", profile.meta.batch_size, question.batch_size),
        ("pixel size", profile.meta.pixels, question.network.pixels),
    )
    return tuple(
        Note(Code.OTHER_SIZE, what=what, recorded=recorded, requested=requested)
        for what, recorded, requested in sizes
        if recorded is not None and recorded != requested
    )


class _Row(NamedTuple):
    """A row with the case of its estimate, and its costs; None without images."""

    row: OfferStep
    regime: str
    cost: Plan | None


def _rows(answer: EstimateAnswer) -> list[_Row]:
    found = answer.estimate
    costs = answer.costs or {}
    return [_Row(row, found.regimes[row.instance], costs.get(row.instance)) for row in found.rows]


_DOCUMENT = record(
    **under("row", instance=TEXT, latency_ms=NUMBER, **ends()),
    by_method=at("row.members", by_name(NUMBER)),
    regime=TEXT,
    **keys(OfferStep, "basis cost_per_1000_steps_usd", "row", cost_per_1000_steps_usd=NUMBER),
    **under("cost", **dict.fromkeys(TOTALS, maybe(NUMBER))),
    **under("row", **keys(OfferStep, "usd_per_hour status note"), **RENTED),
)
_COUNTS = record(
    **keys(Counts, "pixels classes parameters"),
    flops=at("flops.all", NUMBER),
    convolution_flops=at("flops.convolution", NUMBER),
    depthwise_flops=at("flops.depthwise", NUMBER),
    dense_flops=at("flops.dense", NUMBER),
    activation_elements=at("elements.all", NUMBER),
    layers=at("layers.all", INTEGER),
)
#: An `EstimateAnswer` as JSON.
ESTIMATED = record(
    network=at("estimate.name", TEXT),
    **keys(NetworkEstimate, "batch_size method", "estimate"),
    counts=at("estimate.network", _COUNTS),
    interval_level=COVERAGE,
    estimates=at(_rows, many(_DOCUMENT)),
    gpus=at("estimate.gpus", GPU_ROWS),
    memory=at("estimate.fits", MEMORY),
    profile=at(
        lambda answer: answer.profiled and answer,
        maybe(
            record(
                anchor=at("profiled.anchor", TEXT),
                disagreements=many(record(**keys(Disagreement, "instance estimated_ms profiled_ms ratio overlap"))),
            )
        ),
    ),
    **keys(EstimateAnswer, "warnings"),
)
