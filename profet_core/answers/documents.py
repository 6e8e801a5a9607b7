"""Answers as JSON documents: a struct for each, whose keys and their order are a contract, and what makes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from profet_core.catalog import Instance
from profet_core.catalog.gpus import amp_words, supported_precisions
from profet_core.catalog.instance import old_price_note
from profet_core.catalog.launch import Launch
from profet_core.latency import Basis
from profet_core.offers import OfferStep
from profet_core.prediction.table import Similarity
from profet_core.training.memory import FitAnswer

if TYPE_CHECKING:
    from profet_core.answers.advise import AdviseAnswer, CostAnswer
    from profet_core.answers.predict import PredictAnswer
    from profet_core.catalog.custom_gpus import CustomGpu
    from profet_core.catalog.gpus import Gpu
    from profet_core.ensemble.operations import UnknownOperations
    from profet_core.training.plans import Plan
    from profet_core.training.recommend import Comparison, Pick, Within

Json = TypeVar("Json", bound=Struct)
#: A JSON object that no struct declares.
Document: TypeAlias = dict[str, object]


def json_of(kind: type[Json], record: object, others: Mapping[str, Any] | None = None) -> Json:
    """Make a struct of `others` and, for its other fields, of the record's attributes of these names."""
    given = others or {}
    return kind(*[given[name] if name in given else getattr(record, name) for name in kind.__struct_fields__])


def plain(value: Any) -> object:
    """Return what a JSON writer takes for a mapping of any kind, or a number of numpy."""
    return dict(value) if isinstance(value, Mapping) else float(value)


class ClosedJson(Struct, frozen=True, forbid_unknown_fields=True):
    """An object with just these keys."""


class OfferRowJson(ClosedJson, frozen=True):
    """What stands beside any number of an offer: whose it is, its GPUs, its price, and how old that is."""

    instance: str
    provider: str
    gpu: str
    gpu_count: int
    usd_per_hour: float
    usd_per_gpu_hour: float
    as_of: str
    price_note: str
    status: str


class StepRowJson(OfferRowJson, frozen=True):
    """The step on an instance; its interval is null for a method without one."""

    latency_ms: float | None
    low_ms: float | None
    high_ms: float | None
    basis: Basis
    note: str


class GpuRowJson(ClosedJson, frozen=True):
    """The step on a GPU that no offer has."""

    gpu: str
    latency_ms: float | None
    low_ms: float | None
    high_ms: float | None
    basis: Basis
    note: str


def rented(offer: Instance) -> dict[str, object]:
    """Return the keys of an `OfferRowJson`."""
    names = ("provider", "gpu", "gpu_count", "usd_per_hour", "usd_per_gpu_hour", "as_of", "status")
    more = {"instance": offer.name, "price_note": old_price_note(offer)}
    return {name: getattr(offer, name) for name in names} | more


def ends(row: Any) -> dict[str, object]:
    """Return both ends of a row's interval, or null."""
    interval = row.interval
    return {"low_ms": interval and interval.low_ms, "high_ms": interval and interval.high_ms}


def gpu_rows(rows: Iterable[OfferStep]) -> list[GpuRowJson]:
    """Write targets that no offer has."""
    return [json_of(GpuRowJson, row, {"gpu": row.instance, **ends(row)}) for row in rows]


def texts(notes: Iterable[str]) -> list[str]:
    """Return notes as plain text: not every JSON writer takes a subclass of `str`."""
    return list(map(str, notes))


class OfferJson(ClosedJson, frozen=True):
    """An instance at one of its prices."""

    name: str
    gpu: str
    gpu_count: int
    gpu_memory_gib: float
    vcpus: int | None
    usd_per_hour: float
    region: str
    os: str
    market: str
    status: str
    as_of: str
    source: str
    custom: bool
    machine_source: str
    provider: str
    host: str
    usd_per_gpu_hour: float
    price_note: str


class ListedOfferJson(OfferJson, frozen=True):
    """An offer, with the basis of its prediction."""

    basis: str


def offer_document(offer: Instance) -> OfferJson:
    """Write an offer."""
    return json_of(OfferJson, offer, {"price_note": old_price_note(offer)})


def instances_document(rows: Sequence[tuple[Instance, str]]) -> list[ListedOfferJson]:
    """Write the listed offers."""
    return [
        json_of(ListedOfferJson, offer, {"price_note": old_price_note(offer), "basis": basis}) for offer, basis in rows
    ]


class GpuPrecisionsJson(ClosedJson, frozen=True):
    """A GPU with the precisions that it supports."""

    gpu: str
    memory_gib: float
    precisions: list[str]
    amp: str


def gpu_precisions_document(gpu: Gpu) -> GpuPrecisionsJson:
    """Write what a GPU supports."""
    return GpuPrecisionsJson(gpu.name, gpu.memory_gib, list(supported_precisions(gpu)), amp_words(gpu))


class CustomGpuJson(ClosedJson, frozen=True):
    """A GPU of the user's, its instance and what an hour of that costs; null is what is not known of its speed."""

    gpu: str
    instance: str
    like: str
    fp32_tflops: float
    tf32_tensor_dense_tflops: float | None
    memory_gib: float
    bandwidth_gb_per_s: float
    tdp_w: float
    images_per_s: float | None
    network: str | None
    pixels: int | None
    batch_size: int | None
    precision: str | None
    times_reference: float | None
    times_log_sd: float | None
    usd_per_hour: float
    as_of: str
    source: str


_SPECS = ("fp32_tflops", "tf32_tensor_dense_tflops", "memory_gib", "bandwidth_gb_per_s", "tdp_w")
_POINT = ("images_per_s", "network", "pixels", "batch_size", "precision", "times_reference", "times_log_sd")


def custom_gpu_document(custom: CustomGpu) -> CustomGpuJson:
    """Write a custom GPU."""
    specs = {name: getattr(custom.gpu, name) for name in _SPECS}
    point = {name: getattr(custom.point, name, None) for name in _POINT}
    more = {"gpu": custom.name, "usd_per_hour": custom.offer.usd_per_hour}
    return json_of(CustomGpuJson, custom, specs | point | more)


class UnknownOperationsJson(ClosedJson, frozen=True):
    """Operations that the method has never seen the like of, and what became of their time."""

    names: list[str]
    share: float
    mapped: dict[str, str]
    unused: list[str]


def unknown_operations_document(unknown: UnknownOperations) -> UnknownOperationsJson:
    """Write the unknown operations."""
    return UnknownOperationsJson(list(unknown.names), unknown.share, dict(unknown.mapped), list(unknown.unused))


class PredictedRowJson(StepRowJson, frozen=True):
    """The predicted step on an instance."""

    cost_per_1000_steps_usd: float | None
    members: Mapping[str, float]


class PredictionJson(ClosedJson, frozen=True):
    """Answer of `predict`; an interval is null for a method without one."""

    anchor: str
    anchor_latency_ms: float | None
    method: str
    steps: int
    steps_basis: str
    predictions: list[PredictedRowJson]
    interval_level: float | None
    unknown_operations: UnknownOperationsJson
    similarity: Similarity | None
    warnings: list[str]
    gpus: list[GpuRowJson]
    ignored: list[str]
    memory: Mapping[str, FitAnswer]


def prediction_document(answer: PredictAnswer) -> PredictionJson:
    """Write a prediction."""
    found = answer.prediction
    others = {
        "predictions": [json_of(PredictedRowJson, row, rented(row.offer) | ends(row)) for row in found.predictions],
        "unknown_operations": unknown_operations_document(found.unknown_operations),
        "warnings": texts(found.warnings),
        "gpus": gpu_rows(answer.gpus),
        "ignored": texts(answer.profile.ignored),
        "memory": answer.fits,
    }
    return json_of(PredictionJson, found, others)


class CostRowJson(OfferRowJson, frozen=True):
    """A training on an instance, its speed over the anchor's, and the energy that it takes."""

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
    note: str
    waiting: float


class CostsJson(ClosedJson, frozen=True):
    """Answer of `cost`."""

    anchor: str
    images: int
    validation_images: int
    batch_size: int
    epochs: int
    runs: int
    machines: int
    rows: list[CostRowJson]
    warnings: list[str]
    memory: Mapping[str, FitAnswer]


def costs_document(answer: CostAnswer) -> CostsJson:
    """Write what a training takes and costs."""
    training, rows = answer.training, []
    for plan in answer.table:
        energy = answer.energy[plan.instance]
        more = {
            "speedup": answer.table.speedup(plan),
            "energy_kwh_at_most": energy and energy.kwh,
            "co2e_kg_at_most": energy and energy.co2e_kg,
            "note": plan.row.note,
        }
        rows.append(json_of(CostRowJson, plan, rented(plan.offer) | more))
    others = {
        "anchor": training.prediction.anchor,
        "rows": rows,
        "warnings": texts(training.warnings),
        "memory": answer.fits,
    }
    return json_of(CostsJson, answer.table.workload, others)


class WorkloadJson(ClosedJson, frozen=True):
    """The training."""

    images: int
    batch_size: int
    epochs: int
    validation_images: int
    runs: int
    machines: int
    images_per_s_per_vcpu: float | None


class PickJson(ClosedJson, frozen=True):
    """The best plan by one criterion, and its runner-up."""

    plan: str
    certainty: float | None
    rival: str | None
    too_close_to_call: bool


class PlanJson(OfferRowJson, frozen=True):
    """The training on an offer; `breakdown` has the dollars of each component of its cost, and the totals."""

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
    breakdown: dict[str, float]


class WithinJson(ClosedJson, frozen=True):
    """The best plans under the limits."""

    certainty: float
    sure: str | None
    expected: str | None
    surest: str | None
    nearest: str
    over_s: float
    over_usd: float


class ComparisonJson(ClosedJson, frozen=True):
    """Plan a compared with plan b; null where an interval is missing."""

    a: str
    b: str
    latency_ratio: float
    latency_ratio_low: float | None
    latency_ratio_high: float | None
    break_even_ratio: float
    break_even_usd_per_hour: float
    break_even_low: float | None
    break_even_high: float | None
    faster: float | None
    cheaper: float | None
    dominates: float | None
    sentences: list[str]


class UpgradeJson(ClosedJson, frozen=True):
    """Hours saved for dollars more."""

    extra_usd: float
    saves_h: float
    hours_per_usd: float
    certainty: float | None
    cheaper: str
    faster: str


class DominatedJson(ClosedJson, frozen=True):
    """A plan that another one beats in time and cost."""

    plan: str
    by: str
    certainty: float | None


class ExcludedJson(ClosedJson, frozen=True):
    """An instance that isn't recommended."""

    instance: str
    reason: str


class SpotJson(ClosedJson, frozen=True):
    """The recommended plan with its interruptions, and the same machine on demand."""

    plan: str
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


class AnswerJson(ClosedJson, frozen=True):
    """The recommended plan, in sentences too."""

    plan: str
    sentences: list[str]


class BestBatchJson(ClosedJson, frozen=True):
    """The batch size at which the training is cheapest."""

    batch_size: int
    plan: str
    total_usd: float
    saves_percent: float
    sentence: str


class AdviceJson(ClosedJson, frozen=True):
    """Answer of `advise`; `within` is null without limits, `comparison` unless two plans were compared."""

    anchor: str
    workload: WorkloadJson
    deadline_hours: float | None
    budget_usd: float | None
    answer: AnswerJson
    plans: list[PlanJson]
    fastest: PickJson
    cheapest: PickJson
    within: WithinJson | None
    frontier: list[str]
    upgrades: list[UpgradeJson]
    dominated: list[DominatedJson]
    excluded: list[ExcludedJson]
    comparison: ComparisonJson | None
    spot: SpotJson | None
    best_batch: BestBatchJson | None
    launch: Launch
    memory: Mapping[str, FitAnswer]
    warnings: list[str]


def advice_document(answer: AdviseAnswer) -> AdviceJson:
    """Write advice."""
    # Here alone: `profet predict` starts without what words a recommendation.
    from profet_core.training.words import answer_sentences

    advice, best = answer.advice, answer.best_batch
    return AdviceJson(
        anchor=answer.training.prediction.anchor,
        workload=json_of(WorkloadJson, advice.workload),
        deadline_hours=advice.limits.deadline_h,
        budget_usd=advice.limits.budget_usd,
        answer=AnswerJson(advice.answer.label, list(answer_sentences(advice))),
        plans=[_plan(plan) for plan in advice.plans],
        fastest=_pick(advice.fastest),
        cheapest=_pick(advice.cheapest),
        within=None if advice.within is None else _within(advice.within),
        frontier=[plan.label for plan in advice.frontier],
        upgrades=[
            json_of(UpgradeJson, one, {"cheaper": one.cheaper.label, "faster": one.faster.label})
            for one in advice.upgrades
        ],
        dominated=[DominatedJson(one.plan.label, one.by.label, one.certainty) for one in advice.dominated],
        excluded=[ExcludedJson(name, reason) for name, reason in advice.excluded.items()],
        comparison=None if answer.comparison is None else _comparison(answer.comparison),
        spot=_spot(answer),
        best_batch=None if best is None else json_of(BestBatchJson, best, _planned(best.plan)),
        launch=answer.launch,
        memory=answer.fits,
        warnings=texts(answer.training.warnings),
    )


def _planned(plan: Plan) -> dict[str, object]:
    return {"plan": plan.label, "total_usd": plan.total_usd}


def _label(plan: Plan | None) -> str | None:
    return None if plan is None else plan.label


def _plan(plan: Plan) -> PlanJson:
    offer, ends = plan.offer, plan.interval
    costs = {f"{name}_usd": usd for name, usd in plan.breakdown.parts_usd.items()}
    more = {
        **{name: getattr(offer, name) for name in ("market", "region", "source")},
        **{name: ends and getattr(ends, name) for name in ("low_s", "high_s", "low_usd", "high_usd")},
        "plan": plan.label,
        "latency_note": plan.row.note,
        "breakdown": {**costs, "total_usd": plan.breakdown.total_usd, "total_s": plan.breakdown.total_s},
    }
    return json_of(PlanJson, plan, rented(offer) | more)


def _pick(pick: Pick) -> PickJson:
    return PickJson(pick.plan.label, pick.certainty, _label(pick.rival), pick.close_rival is not None)


def _within(within: Within) -> WithinJson:
    plans = {name: _label(getattr(within, name)) for name in ("sure", "expected", "surest", "nearest")}
    return json_of(WithinJson, within, {**plans, "certainty": within.limits.certainty})


def _comparison(comparison: Comparison) -> ComparisonJson:
    from profet_core.training.words import comparison_sentences

    more = {"a": comparison.a.label, "b": comparison.b.label}
    return json_of(ComparisonJson, comparison, {**more, "sentences": list(comparison_sentences(comparison))})


def _spot(answer: AdviseAnswer) -> SpotJson | None:
    spot = answer.spot
    if spot is None or spot.plan.lost is None:
        return None
    on_demand = spot.on_demand
    return SpotJson(
        spot.plan.label,
        spot.plan.lost.interruptions,
        *spot.total_s,
        *spot.total_usd,
        None if on_demand is None else on_demand.total_s,
        None if on_demand is None else on_demand.total_usd,
        spot.sentence,
    )
