"""Time and cost of a training on every instance, and which one to rent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
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
from profet_core.answers.documents import RENTED, Keys, keys
from profet_core.answers.predict import PredictedTraining, fits_in_training, predicted_training, steps_along
from profet_core.catalog import Instance
from profet_core.catalog.collection import nearest_instances, prices_version
from profet_core.catalog.instance import AVAILABLE, ON_DEMAND
from profet_core.catalog.launch import Launch, launch_of
from profet_core.errors import InputError
from profet_core.layers.by_name import NO_NAMES
from profet_core.offers import OfferTable
from profet_core.questions import AdviseQuestion, TrainingQuestion
from profet_core.training.advise import Advice, advise
from profet_core.training.cost import training_energy
from profet_core.training.memory import FitAnswer
from profet_core.training.plans import CostTable, Limits, Plan, costed
from profet_core.training.recommend import Comparison, Pick, compare
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


def _cost_prices(answer: CostAnswer) -> str:
    return prices_version(plan.offer for plan in answer.table)


#: `CostAnswer` as JSON.
COST_KEYS: Keys = {
    "anchor": "training.prediction.anchor",
    **keys("images validation_images batch_size epochs runs machines", "table.workload."),
    "rows": (
        "table",
        {
            **RENTED,
            **keys("latency_ms step_usd cost_per_1000_steps_usd images_per_s epoch_s epoch_usd total_s total_usd"),
            **{"speedup": "speedup", "energy_kwh_at_most": "energy.kwh", "co2e_kg_at_most": "energy.co2e_kg"},
            **{"basis": "basis", "note": "row.note", "waiting": "waiting"},
        },
    ),
    "warnings": "training.warnings",
    "memory": "fits",
    "prices_version": _cost_prices,
}


class AdviseAnswer(Struct, frozen=True):
    """Advice, the question and training it is for, and the requested comparison of two plans.

    Attributes
    ----------
    rows : one per requested offer, including those without a number.
    spot : the recommended plan with its interruptions; None if it isn't on a spot machine, or they aren't counted.
    launch : what rents the recommended offer and runs the question's command.
    best_batch : the cheapest batch size; None where none is cheaper, or the question doesn't ask.
    """

    question: AdviseQuestion
    training: PredictedTraining
    advice: Advice
    rows: tuple[Plan, ...]
    comparison: Comparison | None
    spot: SpotPlan | None
    launch: Launch
    best_batch: BestBatch | None = None

    @property
    def fits(self) -> dict[str, FitAnswer]:
        """Instance -> whether a step fits in its memory; empty without a memory model."""
        return {row.offer.name: row.fit for row in self.rows if row.fit is not None}

    def to_frame(self) -> Any:
        """One row per predicted offer, as a `pandas.DataFrame`: offer, latency, time and cost with intervals."""
        return self.advice.table.to_frame(self.advice.rows)


def answer_advise(context: Context, question: AdviseQuestion) -> AdviseAnswer:
    """Predict the training, and advise."""
    return advise_training(context, question, predicted_training(context, question))


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
    wanted = {row.instance for row in filtered_rows(steps, offer_filter, names, prediction.anchor)}
    advice = advise(
        steps,
        offers,
        question.workload(training.batch_size),
        limits,
        include_retired=question.include_retired,
        fits=fits_in_training(context, training, training.latencies_ms),
        wanted=wanted.intersection(names),
        anchor=prediction.anchor,
    )
    if question.workload(1).extras.interruptions is not None:
        for plan in advice.plans:
            # Whether it ends is checked here, whichever plans are shown.
            _ = plan.lost
    comparison = None if question.compare is None else _compared(advice, question.compare)
    by_offer = {plan.offer.offer_key: plan for plan in advice.table}
    shown = tuple(by_offer[offer.offer_key] for offer in offers)
    offer = advice.answer.offer
    launch = launch_of(offer, context.gpus.get(offer.gpu), question.launch_command)
    answer = AdviseAnswer(question, training, advice, shown, comparison, spot_plan(context, advice), launch)
    return replace(answer, best_batch=best_batch(context, answer)) if question.any_batch else answer


#: Batch sizes that are tried.
_BATCH_SIZES = (16, 32, 48, 64, 96, 128, 160, 192, 224, 256)
#: As many of the cheapest offers are tried at other sizes.
_CANDIDATES = 20
#: Times over the deadline at the size asked for that another size may save.
_SLACK = 2.0
#: Less than this is no reason for another batch size.
_LEAST_GAIN = 0.02


class BestBatch(Struct, frozen=True):
    """The offer and batch size that train for the least money, beside the cheapest at the size asked for.

    Attributes
    ----------
    cheapest : with a deadline the answer.
    answer : instance of the answer.
    """

    batch_size: int
    plan: Plan
    cheapest: Plan
    asked_batch_size: int
    answer: str

    @property
    def saves_percent(self) -> float:
        """How much less it costs than the cheapest plan at the size asked for, percent."""
        return 100 * (1 - self.plan.total_usd / self.cheapest.total_usd)

    @property
    def sentence(self) -> str:
        """Word it: "Cheapest at batch 192: $31.20, 22% less than at 64 (same epochs, fits 24 GiB)"."""
        plan, before = self.plan, self.cheapest
        there = "" if plan.instance == before.instance == self.answer else f" on {plan.phrase}"
        beside = "" if plan.instance == before.instance else f" on {before.phrase}"
        return (
            f"Cheapest at batch {self.batch_size}: {format_usd(plan.total_usd)}{there}, {self.saves_percent:.0f}% less "
            f"than at {self.asked_batch_size}{beside} (same epochs, fits {plan.offer.gpu_memory_gib:g} GiB)."
        )


def best_batch(context: Context, answer: AdviseAnswer) -> BestBatch | None:
    """Find the cheapest of all batch sizes that surely fit, on offers to rent; None if it saves nothing.

    With a deadline, of those that are expected to be in time.
    """
    training, advice, fits = answer.training, answer.advice, answer.fits
    if training.profile.meta.batch_size is None:
        return None
    deadline_s = math.inf if advice.limits.deadline_s is None else advice.limits.deadline_s
    # At another size a step takes another time for each image.
    in_time = [plan for plan in advice.plans if plan.total_s <= _SLACK * deadline_s]
    by_cost = sorted(in_time, key=lambda plan: plan.total_usd)
    rented = {plan.instance: plan.offer for plan in by_cost if plan.offer.status == AVAILABLE}
    rented = dict(list(rented.items())[:_CANDIDATES])
    tables = steps_along(context, training, "batch", _BATCH_SIZES, training.pixels, rented)
    cheapest = advice.cheapest.plan if advice.limits.deadline_s is None else advice.answer
    best, best_size = cheapest, training.batch_size
    for size, steps in zip(_BATCH_SIZES, tables, strict=True):
        numbers, measured = steps.numbers, steps.latencies_ms.keys() & rented.keys()
        fitting = [name for name, fit in fits.items() if name in measured and (fit.largest_batch or 0) >= size]
        if not fitting:
            continue
        offers = [rented[name] for name in fitting]
        steps = steps.take([numbers[name] for name in fitting], offers)
        steps = node_rows(context, answer.question, training, steps, offers, (size, training.pixels))
        table = costed(replace(advice.workload, batch_size=size), steps, advice.limits)
        for plan in table:
            if plan.total_s <= deadline_s and plan.total_usd < best.total_usd:
                best, best_size = plan, size
    if best.total_usd >= (1 - _LEAST_GAIN) * cheapest.total_usd:
        return None
    return BestBatch(best_size, best, cheapest, training.batch_size, advice.answer.instance)


class SpotPlan(Struct, frozen=True):
    """A plan on a spot machine with its expected interruptions, and the same machine on demand, if it is offered."""

    plan: Plan
    on_demand: Plan | None

    @property
    def total_s(self) -> tuple[float, float, float]:
        """Expected seconds with interruptions, and their 90% range."""
        lost = self.plan.lost
        seconds = (0.0,) * 3 if lost is None else (lost.seconds, *lost.range_s)
        return seconds[0] + self.plan.total_s, seconds[1] + self.plan.total_s, seconds[2] + self.plan.total_s

    @property
    def total_usd(self) -> tuple[float, float, float]:
        """Total cost, US dollars: expected, low, high."""
        expected, low, high = (seconds * self.plan.total_usd / self.plan.total_s for seconds in self.total_s)
        return expected, low, high

    @property
    def sentence(self) -> str:
        """'V100 at AWS spot with 0.5 interruptions expected: ...; on demand ...'."""
        return spot_sentence(self.plan, self.total_s, self.total_usd, self.on_demand)


def spot_plan(context: Context, advice: Advice) -> SpotPlan | None:
    """Return the recommended plan's interruptions, as `AdviseAnswer.spot` has them."""
    if advice.workload.extras.interruptions is None or advice.answer.lost is None:
        return None
    plan = advice.answer
    offers = context.catalog.offers(plan.instance) if plan.instance in context.catalog else ()
    on_demand = sorted(
        (offer for offer in offers if offer.market == ON_DEMAND),
        key=lambda offer: (offer.region != plan.offer.region, offer.usd_per_hour),
    )
    if not on_demand:
        return SpotPlan(plan, None)
    steps = advice.table.steps.take([plan.number], on_demand[:1])
    return SpotPlan(plan, costed(advice.workload, steps, advice.limits)[0])


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
    return compare(a, b)


def _is_close(pick: Pick) -> bool:
    return pick.close_rival is not None


def _breakdown(plan: Plan) -> dict[str, float]:
    costs = plan.breakdown
    parts_usd = {f"{name}_usd": usd for name, usd in costs.parts_usd.items()}
    return {**parts_usd, "total_usd": costs.total_usd, "total_s": costs.total_s}


def _frontier(answer: AdviseAnswer) -> list[str]:
    return [plan.label for plan in answer.advice.frontier]


def _excluded(answer: AdviseAnswer) -> list[tuple[str, str]]:
    return list(answer.advice.excluded.items())


_PICK: Keys = {
    "plan": "plan.label",
    "certainty": "certainty",
    "rival": "rival.label",
    "too_close_to_call": _is_close,
}
_PLAN: Keys = {
    **RENTED,
    "plan": "label",
    **keys("gpus batch_size"),
    **keys("market region source", "offer."),
    **keys("basis latency_ms total_s"),
    **keys("low_s high_s", "interval."),
    "total_usd": "total_usd",
    **keys("low_usd high_usd", "interval."),
    **keys("in_time in_budget"),
    "latency_note": "row.note",
    **keys("note waiting"),
    "breakdown": _breakdown,
}
_COMPARISON: Keys = {
    **{"a": "a.label", "b": "b.label"},
    **keys("latency_ratio latency_ratio_low latency_ratio_high break_even_ratio break_even_usd_per_hour"),
    **keys("break_even_low break_even_high faster cheaper dominates"),
    "sentences": comparison_sentences,
}
_SPOT: Keys = {
    **{"plan": "plan.label", "interruptions": "plan.lost.interruptions"},
    **{"total_s": "total_s.0", "low_s": "total_s.1", "high_s": "total_s.2"},
    **{"total_usd": "total_usd.0", "low_usd": "total_usd.1", "high_usd": "total_usd.2"},
    **{"on_demand_s": "on_demand.total_s", "on_demand_usd": "on_demand.total_usd", "sentence": "sentence"},
}


def _prices(answer: AdviseAnswer) -> str:
    return prices_version(plan.offer for plan in answer.advice.plans)


#: `AdviseAnswer` as JSON; `within` is null without limits, `comparison` unless two plans were compared.
ADVISE_KEYS: Keys = {
    "anchor": "training.prediction.anchor",
    "workload": (
        "advice.workload",
        keys("images batch_size epochs validation_images runs machines images_per_s_per_vcpu"),
    ),
    **{"deadline_hours": "advice.limits.deadline_h", "budget_usd": "advice.limits.budget_usd"},
    "answer": ("advice", {"plan": "answer.label", "sentences": answer_sentences}),
    "plans": ("advice.plans", _PLAN),
    "fastest": ("advice.fastest", _PICK),
    "cheapest": ("advice.cheapest", _PICK),
    "within": (
        "advice.within",
        {
            "certainty": "limits.certainty",
            **{name: f"{name}.label" for name in ("sure", "expected", "surest", "nearest")},
            **keys("over_s over_usd"),
        },
    ),
    "frontier": _frontier,
    "upgrades": (
        "advice.upgrades",
        {
            **keys("extra_usd saves_h hours_per_usd certainty"),
            **{"cheaper": "cheaper.label", "faster": "faster.label"},
        },
    ),
    "dominated": ("advice.dominated", {"plan": "plan.label", "by": "by.label", "certainty": "certainty"}),
    "excluded": (_excluded, {"instance": "0", "reason": "1"}),
    "comparison": ("comparison", _COMPARISON),
    "spot": ("spot", _SPOT),
    "best_batch": (
        "best_batch",
        {
            **{"batch_size": "batch_size", "plan": "plan.label", "total_usd": "plan.total_usd"},
            **keys("saves_percent sentence"),
        },
    ),
    "launch": "launch",
    "memory": "fits",
    "warnings": "training.warnings",
    "prices_version": _prices,
}
