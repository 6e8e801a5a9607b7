"""Time and cost of a training on every instance, and which one to rent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

from msgspec import Struct, field
from msgspec.structs import replace

from profet_core.answers.context import (
    Context,
    chosen_parameters,
    filtered_context,
    filtered_rows,
    market_offers,
    named_meta,
    scaleout_model,
)
from profet_core.answers.document import Document
from profet_core.answers.predict import PredictedTraining, fits_in_training, predicted_training, steps_along
from profet_core.catalog import Instance
from profet_core.catalog.collection import nearest_instances, prices_version
from profet_core.catalog.gpus import Gpus
from profet_core.catalog.instance import AVAILABLE, ON_DEMAND
from profet_core.catalog.launch import Launch, launch_of
from profet_core.errors import InputError, Note
from profet_core.latency import Basis
from profet_core.layers.by_name import NO_NAMES
from profet_core.offers import OfferTable, RentedRow, rows_as
from profet_core.questions import AdviseQuestion, TrainingQuestion
from profet_core.training.advise import Advice, Dominated, Upgrade, advise
from profet_core.training.cost import training_energy
from profet_core.training.memory import FitAnswer
from profet_core.training.plans import CostTable, Limits, Plan, costed
from profet_core.training.recommend import Comparison, compare
from profet_core.training.several_gpus import OneGpuStep, whole_nodes
from profet_core.training.words import answer_sentences, comparison_sentences, spot_sentence
from profet_profiles.units import format_usd


class CostAnswer(Struct, frozen=True):
    """Costs with energy, the training, and memory fit per instance."""

    training: PredictedTraining
    table: CostTable
    fits: Mapping[str, FitAnswer]


def answer_cost(context: Context, question: TrainingQuestion) -> CostAnswer:
    """Predict and cost."""
    context, names, _ = filtered_context(context, question.offer_filter)
    context = replace(context, catalog=context.catalog.with_prices(question.price))
    training = predicted_training(context, question)
    anchor = training.prediction.anchor
    rows = filtered_rows(training.step_times, question.offer_filter, names, anchor)
    numbers = [row.number for row in rows if row.latency_ms is not None]
    work, latencies_ms = question.workload(training.batch_size), training.latencies_ms
    offers = [context.catalog[training.step_times.offers[number].name] for number in numbers]
    steps = training.step_times.take(numbers, offers)
    table = costed(work, steps, anchor_ms=latencies_ms.get(anchor))
    fits = fits_in_training(context, training, [plan.instance for plan in table])
    energy = [training_energy(work.machines * plan.total_s, plan.offer, context.gpus) for plan in table]
    return CostAnswer(training, replace(table, energy=tuple(energy)), fits)


class CostRow(RentedRow, frozen=True):
    """Time and cost of a training on an instance."""

    latency_ms: float
    step_usd: float
    cost_per_1000_steps_usd: float
    images_per_s: float
    epoch_s: float
    epoch_usd: float
    total_s: float
    total_usd: float
    speedup: float | None
    energy_kwh_at_most: float | None
    co2e_kg_at_most: float | None
    basis: Basis
    latency_note: str = field(name="note")
    waiting: float


class CostDocument(Document, frozen=True):
    """`CostAnswer` as JSON."""

    anchor: str
    images: int
    validation_images: int
    batch_size: int
    epochs: int
    runs: int
    machines: int
    rows: Sequence[CostRow]
    warnings: Sequence[Note]
    memory: Mapping[str, FitAnswer]
    prices_version: str

    @classmethod
    def of(cls, record: CostAnswer) -> Self:
        """Write an answer."""
        table, work = record.table, record.table.workload
        energy = {
            "energy_kwh_at_most": [part and part.kwh for part in table.energy],
            "co2e_kg_at_most": [part and part.co2e_kg for part in table.energy],
        }
        return cls(
            anchor=record.training.prediction.anchor,
            images=work.images,
            validation_images=work.validation_images,
            batch_size=work.batch_size,
            epochs=work.epochs,
            runs=work.runs,
            machines=work.machines,
            rows=rows_as(CostRow, {**table.columns(), **energy}),
            warnings=record.training.warnings,
            memory=record.fits,
            prices_version=prices_version(table.steps.offers),
        )


class AdviseAnswer(Struct, frozen=True):
    """Advice, the question and training it is for, and the requested comparison of two plans.

    Attributes
    ----------
    rows : one per requested offer, including those without a number.
    spot : the recommended plan with its interruptions; None if it isn't on a spot machine, or they aren't counted.
    gpus : specs of every GPU.
    best_batch : the cheapest batch size; None where none is cheaper, or the question doesn't ask.
    """

    question: AdviseQuestion
    training: PredictedTraining
    advice: Advice
    rows: tuple[Plan, ...]
    comparison: Comparison | None
    spot: SpotPlan | None
    gpus: Gpus
    best_batch: BestBatch | None = None

    @property
    def launch(self) -> Launch:
        """What rents the recommended offer and runs the question's command; InputError if that isn't printable."""
        offer = self.advice.answer.offer
        return launch_of(offer, self.gpus.get(offer.gpu), self.question.launch_command)

    @property
    def fits(self) -> dict[str, FitAnswer]:
        """Instance -> whether a step fits in its memory; empty without a memory model."""
        return {row.offer.name: row.fit for row in self.rows if row.fit is not None}

    def to_frame(self) -> Any:
        """One row per predicted offer, as a `pandas.DataFrame`: offer, latency, time and cost with intervals."""
        return self.advice.table.to_frame(self.advice.rows)


def answer_advise(context: Context, question: AdviseQuestion) -> AdviseAnswer:
    """Predict the training, and advise."""
    answer = advise_training(context, question, predicted_training(context, question))
    # A command that can't be run is refused, whoever reads the answer.
    _ = answer.launch
    if not question.any_batch:
        return answer
    return replace(answer, best_batch=best_batch(answer, cheapest_batch(context, answer, rented_offers(answer.advice))))


def advise_training(context: Context, question: AdviseQuestion, training: PredictedTraining) -> AdviseAnswer:
    """Advise on a training as `predicted_training` predicts it for the same network."""
    limits = Limits(question.deadline_hours, question.budget_usd, question.certainty)
    offer_filter = question.offer_filter
    offers, names = market_offers(
        context, offer_filter, question.market, price=question.price, spot_discount=question.spot_discount
    )
    for option in () if question.include_retired else ("compare", "price"):
        # A plan may be named with its market, "p3.2xlarge spot".
        named = [name.partition(" ")[0] for name in getattr(question, option) or ()]
        if retired := [name for name in named if name in context.catalog and context.catalog[name].status == "retired"]:
            names = ("compare", "price", "include_retired")
            raise InputError(f"{{{option}}} names {retired[0]}, which is retired: add {{include_retired}}.", *names)
    prediction = training.prediction
    size = training.batch_size, training.pixels
    steps = node_rows(context, question, training, training.step_times, offers, size)
    wanted = set(names)
    if offer_filter.given:
        wanted &= {row.instance for row in filtered_rows(steps, offer_filter, names, prediction.anchor)}
    advice = advise(
        steps,
        offers,
        question.workload(training.batch_size),
        limits,
        include_retired=question.include_retired,
        fits=fits_in_training(context, training, training.latencies_ms),
        wanted=wanted,
        anchor=prediction.anchor,
    )
    if question.workload(1).extras.interruptions is not None:
        for plan in advice.plans:
            # Whether it ends is checked here, whichever plans are shown.
            _ = plan.lost
    comparison = None if question.compare is None else _compared(advice, question.compare)
    places = {id(offer): number for number, offer in enumerate(advice.table.steps.offers)}
    shown = tuple(advice.table.on(places[id(offer)] for offer in offers))
    return AdviseAnswer(question, training, advice, shown, comparison, spot_plan(context, advice), context.gpus)


#: Batch sizes that are tried.
_BATCH_SIZES = (16, 32, 48, 64, 96, 128, 160, 192, 224, 256)
#: Less than this is no reason for another batch size.
_LEAST_GAIN = 0.02


class BestBatch(Document, frozen=True):
    """The offer and batch size that train for the least money.

    Attributes
    ----------
    saves_percent : how much less it costs than the cheapest plan at the size asked for.
    sentence : "Cheapest at batch 192: $31.20, 22% less than at 64 (same epochs, fits 24 GiB)".
    """

    batch_size: int
    plan: Plan
    total_usd: float
    saves_percent: float
    sentence: str


def rented_offers(advice: Advice) -> dict[str, Instance]:
    """Instance -> its cheapest offer, of the plans on machines that can be rented."""
    return {plan.instance: plan.offer for plan in reversed(advice.plans) if plan.offer.status == AVAILABLE}


def cheapest_batch(context: Context, answer: AdviseAnswer, rented: Mapping[str, Instance]) -> tuple[int, Plan] | None:
    """Find the batch size and offer that train for the least money, of sizes that surely fit; None if none is in time.

    It is the same at whatever batch size the question asks about.
    """
    training, limits, fits = answer.training, answer.advice.limits, answer.fits
    if training.profile.meta.batch_size is None:
        return None
    deadline_s = math.inf if limits.deadline_s is None else limits.deadline_s
    choices: list[tuple[int, Plan]] = []
    tables = steps_along(context, training, "batch", _BATCH_SIZES, training.pixels, rented)
    for size, steps in zip(_BATCH_SIZES, tables, strict=True):
        numbers, measured = steps.numbers, steps.latencies_ms.keys() & rented.keys()
        fitting = [name for name, fit in fits.items() if name in measured and (fit.largest_batch or 0) >= size]
        if not fitting:
            continue
        offers = [rented[name] for name in fitting]
        steps = steps.take([numbers[name] for name in fitting], offers)
        steps = node_rows(context, answer.question, training, steps, offers, (size, training.pixels))
        table = costed(replace(answer.advice.workload, batch_size=size), steps, limits)
        choices += [(size, plan) for plan in table if plan.total_s <= deadline_s]
    return min(choices, key=lambda choice: choice[1].total_usd, default=None)


def best_batch(answer: AdviseAnswer, cheapest_of_all: tuple[int, Plan] | None) -> BestBatch | None:
    """Return what `cheapest_batch` saves beside the batch size asked for; None if it saves nothing.

    With a deadline, it is set against the recommended plan.
    """
    if cheapest_of_all is None:
        return None
    training, advice = answer.training, answer.advice
    best_size, best = cheapest_of_all
    cheapest = advice.cheapest.plan if advice.limits.deadline_s is None else advice.answer
    if best.total_usd >= (1 - _LEAST_GAIN) * cheapest.total_usd:
        return None
    there = "" if best.instance == cheapest.instance == advice.answer.instance else f" on {best.phrase}"
    beside = "" if best.instance == cheapest.instance else f" on {cheapest.phrase}"
    saves_percent = 100 * (1 - best.total_usd / cheapest.total_usd)
    sentence = (
        f"Cheapest at batch {best_size}: {format_usd(best.total_usd)}{there}, {saves_percent:.0f}% less than at "
        f"{training.batch_size}{beside} (same epochs, fits {best.offer.gpu_memory_gib:g} GiB)."
    )
    return BestBatch(best_size, best, best.total_usd, saves_percent, sentence)


class SpotPlan(Document, frozen=True):
    """A plan on a spot machine with its expected interruptions, and the same machine on demand, if it is offered.

    Attributes
    ----------
    total_s, total_usd : expected with interruptions, between the ends of their 90% ranges.
    """

    plan: Plan
    interruptions: float
    total_s: float
    low_s: float
    high_s: float
    total_usd: float
    low_usd: float
    high_usd: float
    on_demand_s: float | None
    on_demand_usd: float | None
    sentence: str


def spot_plan(context: Context, advice: Advice) -> SpotPlan | None:
    """Return the recommended plan's interruptions, as `AdviseAnswer.spot` has them."""
    if advice.workload.extras.interruptions is None or (lost := (plan := advice.answer).lost) is None:
        return None
    offers = context.catalog.offers(plan.instance) if plan.instance in context.catalog else ()
    on_demand, other = [offer for offer in offers if offer.market == ON_DEMAND], None
    if on_demand:
        offer = min(on_demand, key=lambda offer: (offer.region != plan.offer.region, offer.usd_per_hour))
        other = costed(advice.workload, advice.table.steps.take([plan.number], [offer]), advice.limits)[0]
    seconds = total_s, low_s, high_s = [plan.total_s + lost_s for lost_s in (lost.seconds, *lost.range_s)]
    costs = total_usd, low_usd, high_usd = [total_s * plan.total_usd / plan.total_s for total_s in seconds]
    return SpotPlan(
        plan=plan,
        interruptions=lost.interruptions,
        total_s=total_s,
        low_s=low_s,
        high_s=high_s,
        total_usd=total_usd,
        low_usd=low_usd,
        high_usd=high_usd,
        on_demand_s=None if other is None else other.total_s,
        on_demand_usd=None if other is None else other.total_usd,
        sentence=spot_sentence(plan, lost.interruptions, seconds, costs, other),
    )


def node_rows(
    context: Context,
    question: AdviseQuestion,
    training: PredictedTraining,
    steps: OfferTable,
    offers: Sequence[Instance],
    size: tuple[int, int | None],
) -> OfferTable:
    """Return steps of one GPU at `size` (batch size, pixels), scaled to whole nodes if the question asks for them."""
    if not question.whole_nodes and question.network in (None, *NO_NAMES) and question.parameters is None:
        return steps
    batch_size, pixels = size
    network = chosen_parameters(question.network, question.parameters, named_meta(training.profile), pixels)
    if network is None:
        raise InputError(
            "Give the network with {network} or its size with {parameters}: multi-GPU steps depend on it.",
            "network",
            "parameters",
        )
    one_gpu = partial(OneGpuStep.from_row, batch_size=batch_size, parameters=network.count, pixels=pixels)
    return whole_nodes(scaleout_model(context), steps, offers, one_gpu)


def _compared(advice: Advice, chosen: Sequence[str]) -> Comparison:
    """Compare the two plans that `compare` names by instance, or by 'instance market'."""
    by_name: dict[str, Plan] = {plan.instance: plan for plan in reversed(advice.plans)}
    by_name |= {plan.label: plan for plan in advice.plans}
    unknown = next((name for name in chosen if name not in by_name), None)
    if unknown is not None or len(chosen) != 2:
        wrong = f"{len(chosen)} of them" if unknown is None else f"{unknown!r}: {nearest_instances(unknown, by_name)}"
        raise InputError(f"{{compare}} takes two of the plans, not {wrong}.", "compare")
    a, b = (by_name[name] for name in chosen)
    comparison = compare(a, b)
    return replace(comparison, sentences=comparison_sentences(comparison))


class WorkloadDocument(Document, frozen=True):
    """The training."""

    images: int
    batch_size: int
    epochs: int
    validation_images: int
    runs: int
    machines: int
    images_per_s_per_vcpu: float | None


class AnswerDocument(Document, frozen=True):
    """The plan to rent, and the answer in sentences."""

    plan: Plan
    sentences: Sequence[str]


class PlanRow(RentedRow, frozen=True):
    """Time and cost of the training on an offer, with the chances to keep to the limits."""

    plan: str
    gpus: int
    batch_size: int
    market: str
    region: str
    source: str
    basis: Basis
    latency_ms: float
    total_s: float
    low_s: float | None
    high_s: float | None
    total_usd: float
    low_usd: float | None
    high_usd: float | None
    in_time: float | None
    in_budget: float | None
    latency_note: str
    note: str
    waiting: float
    breakdown: Mapping[str, float]


class PickDocument(Document, frozen=True):
    """The best plan by one criterion, the runner-up, and the confidence that the plan beats it."""

    plan: Plan
    certainty: float | None
    rival: Plan | None
    too_close_to_call: bool


class WithinDocument(Document, frozen=True):
    """Best plans under the limits, and by how much the nearest one exceeds them."""

    certainty: float
    sure: Plan | None
    expected: Plan | None
    surest: Plan | None
    nearest: Plan
    over_s: float
    over_usd: float


class ExcludedDocument(Document, frozen=True):
    """An instance that can't be recommended, and why."""

    instance: str
    reason: str


class AdviseDocument(Document, frozen=True):
    """`AdviseAnswer` as JSON; `within` is null without limits, `comparison` unless two plans were compared."""

    anchor: str
    workload: WorkloadDocument
    deadline_hours: float | None
    budget_usd: float | None
    answer: AnswerDocument
    plans: Sequence[PlanRow]
    fastest: PickDocument
    cheapest: PickDocument
    within: WithinDocument | None
    frontier: Sequence[Plan]
    upgrades: Sequence[Upgrade]
    dominated: Sequence[Dominated]
    excluded: Sequence[ExcludedDocument]
    comparison: Comparison | None
    spot: SpotPlan | None
    best_batch: BestBatch | None
    launch: Launch
    memory: Mapping[str, FitAnswer]
    warnings: Sequence[Note]
    prices_version: str

    @classmethod
    def of(cls, record: AdviseAnswer) -> Self:
        """Write an answer."""
        advice, training = record.advice, record.training
        breakdowns = [plan.breakdown.document for plan in advice.plans]
        return cls(
            anchor=training.prediction.anchor,
            workload=WorkloadDocument.of(advice.workload),
            deadline_hours=advice.limits.deadline_h,
            budget_usd=advice.limits.budget_usd,
            answer=AnswerDocument(advice.answer, answer_sentences(advice)),
            plans=rows_as(PlanRow, {**advice.table.columns(advice.rows), "breakdown": breakdowns}),
            fastest=PickDocument.of(advice.fastest),
            cheapest=PickDocument.of(advice.cheapest),
            within=None if advice.within is None else WithinDocument.of(advice.within),
            frontier=advice.frontier,
            upgrades=advice.upgrades,
            dominated=advice.dominated,
            excluded=[ExcludedDocument(*reason) for reason in advice.excluded.items()],
            comparison=record.comparison,
            spot=record.spot,
            best_batch=record.best_batch,
            launch=record.launch,
            memory=record.fits,
            warnings=training.warnings,
            prices_version=prices_version(plan.offer for plan in advice.plans),
        )
