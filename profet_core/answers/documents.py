"""Answers as JSON documents: offers, predictions, costs, advice; keys and their order are a contract."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from profet_core.answers.schema import (
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    At,
    Keys,
    Type,
    at,
    by_name,
    choice,
    keys,
    many,
    maybe,
    record,
    under,
)
from profet_core.catalog import Instance
from profet_core.catalog.custom_gpus import CustomGpu
from profet_core.catalog.gpus import Gpu, amp_words, supported_precisions
from profet_core.catalog.instance import old_price_note
from profet_core.catalog.launch import Launch
from profet_core.ensemble.operations import UnknownOperations
from profet_core.latency import LEVEL
from profet_core.offers import OfferStep
from profet_core.prediction.scaler import ScaledLatency
from profet_core.prediction.table import Prediction, Similarity
from profet_core.training.advise import Dominated, Upgrade
from profet_core.training.cost import Breakdown, Energy, Workload
from profet_core.training.memory import FitAnswer, Verdict
from profet_core.training.plans import TOTALS, Limits, Plan
from profet_core.training.recommend import Comparison, Within
from profet_core.training.words import answer_sentences, comparison_sentences

#: A plan, by its label.
PLAN = Type(TEXT.schema, attrgetter("label"))
#: Of an offer, what one GPU of it costs and how old its price is.
PER_GPU = keys(Instance, "usd_per_gpu_hour price_note", price_note=at(old_price_note, TEXT))
_OFFER = {
    **keys(Instance, "name gpu gpu_count gpu_memory_gib vcpus usd_per_hour region os market status as_of source own"),
    **keys(Instance, "machine_source provider host"),
    **PER_GPU,
}
#: An instance at one of its prices.
OFFER = record(**_OFFER)
#: Of pairs: offers, each with the basis of its prediction.
OFFERS = Type(
    many(record(**_OFFER, basis=TEXT)).schema,
    lambda rows: [{**OFFER.document(offer), "basis": basis} for offer, basis in rows],
)
#: Of a record's offer, what stands beside any number: whose it is, its GPUs, and the same.
RENTED = under("offer", **keys(Instance, "provider gpu gpu_count as_of"), **PER_GPU)
GPU_PRECISIONS = record(
    gpu=at("name", TEXT),
    memory_gib=NUMBER,
    precisions=at(supported_precisions, many(TEXT)),
    amp=at(amp_words, TEXT),
)
_POINT = {"images_per_s": NUMBER, "network": TEXT, "pixels": WHOLE, "batch_size": WHOLE, "precision": TEXT}
_POINT |= {"times_reference": NUMBER, "times_log_sd": NUMBER}


def _of_point(name: str) -> Callable[[CustomGpu], object]:
    return lambda own: getattr(own.point, name, None)


#: A GPU of the user's, with the name of its instance and what an hour of that costs.
CUSTOM_GPU = record(
    gpu=at("name", TEXT),
    **keys(CustomGpu, "instance like"),
    **keys(Gpu, "fp32_tflops tf32_tensor_dense_tflops memory_gib bandwidth_gb_per_s tdp_w", "gpu"),
    # What is known of its speed; null is what is not.
    **{name: at(_of_point(name), maybe(kind)) for name, kind in _POINT.items()},
    usd_per_hour=at("offer.usd_per_hour", NUMBER),
    **keys(CustomGpu, "as_of source"),
)


#: Share of held-out latencies inside the intervals.
COVERAGE = at(lambda _: LEVEL, NUMBER)
#: Whether a step fits in a GPU's memory.
VERDICT = choice(list(Verdict))
#: Instance -> whether the step fits in its memory.
MEMORY = by_name(record(**keys(FitAnswer, "verdict probability largest_batch why", verdict=VERDICT)))
#: What an operation is that the method has never seen the like of, and what became of its time.
UNKNOWN_OPERATIONS = record(**keys(UnknownOperations, "names share mapped left_out"))


def ends() -> Keys:
    """Both ends of a record's interval, or null."""
    return under("interval", low_ms=maybe(NUMBER), high_ms=maybe(NUMBER))


_ROW = record(
    **keys(OfferStep, "instance latency_ms"),
    **ends(),
    **keys(OfferStep, "members basis cost_per_1000_steps_usd usd_per_hour status note"),
    **RENTED,
)
#: Targets that no offer has.
GPU_ROWS = many(
    record(gpu=at("instance", TEXT), **keys(OfferStep, "latency_ms"), **ends(), **keys(OfferStep, "basis note"))
)
PREDICTION = record(
    **keys(
        Prediction,
        "anchor anchor_latency_ms method steps steps_basis predictions interval_level unknown_operations similarity "
        "warnings",
        "prediction",
        steps_basis=TEXT,
        predictions=many(_ROW),
        unknown_operations=UNKNOWN_OPERATIONS,
        similarity=maybe(record(**keys(Similarity, "distance words error_percent", error_percent=maybe(NUMBER)))),
    ),
    gpus=GPU_ROWS,
    ignored=at("profile.ignored", TEXTS),
    memory=at("fits", MEMORY),
)


class CostRow(NamedTuple):
    """A training on an offer, its speed over the anchor's, and the energy that it takes."""

    plan: Plan
    speedup: float | None
    energy: Energy | None


_COST = record(
    **keys(Plan, "instance latency_ms", "plan"),
    **keys(Instance, "usd_per_hour status", "plan.offer"),
    **keys(Plan, "step_usd cost_per_1000_steps_usd images_per_s", "plan"),
    **keys(Plan, " ".join(TOTALS), "plan"),
    speedup=maybe(NUMBER),
    energy_kwh_at_most=at("energy.kwh", maybe(NUMBER)),
    co2e_kg_at_most=at("energy.co2e_kg", maybe(NUMBER)),
    **keys(OfferStep, "basis note", "plan.row"),
    **keys(Plan, "waiting", "plan"),
    **under("plan", **RENTED),
)
COSTS = record(
    anchor=at("training.prediction.anchor", TEXT),
    **keys(Workload, "images validation_images batch_size epochs runs machines", "table.workload", machines=WHOLE),
    rows=many(_COST),
    warnings=at("training.warnings", TEXTS),
    memory=at("fits", MEMORY),
)
SCALED = record(**keys(ScaledLatency, "instance axis at latency_ms", instance=TEXT))


_PICK = record(
    plan=PLAN,
    certainty=maybe(NUMBER),
    rival=maybe(PLAN),
    too_close_to_call=at(lambda pick: pick.close_rival is not None, FLAG),
)


def _ends(unit: str) -> dict[str, At]:
    names = f"low_{unit} high_{unit}"
    return {name: At(maybe(NUMBER), name, "interval") for name in names.split()}


_PLAN = record(
    plan=at("label", TEXT),
    instance=TEXT,
    **keys(Instance, "gpu gpu_count", "offer"),
    **keys(Plan, "gpus batch_size"),
    **keys(Instance, "market region usd_per_hour as_of source status", "offer"),
    **keys(Plan, "basis latency_ms total_s"),
    **_ends("s"),
    **keys(Plan, "total_usd"),
    **_ends("usd"),
    **keys(Plan, "in_time in_budget"),
    rests_on=at("row.note", TEXT),
    note=TEXT,
    **keys(Plan, "waiting"),
    breakdown=record(
        **keys(Breakdown, "training_usd interruptions_usd start_up_usd storage_usd total_usd total_s"),
    ),
    **under("offer", provider=TEXT, **PER_GPU),
)
_WITHIN = record(
    certainty=at("limits.certainty", NUMBER),
    **dict.fromkeys(("sure", "expected", "surest"), maybe(PLAN)),
    **keys(Within, "nearest over_s over_usd", nearest=PLAN),
)
#: Null where an interval is missing.
_COMPARISON = record(
    **keys(Comparison, "a b latency_ratio latency_ratio_low latency_ratio_high break_even_ratio", a=PLAN, b=PLAN),
    **keys(Comparison, "break_even_usd_per_hour break_even_low break_even_high faster cheaper"),
    beats=at("dominates", maybe(NUMBER)),
    sentences=at(comparison_sentences, TEXTS),
)
_UPGRADE = keys(Upgrade, "extra_usd saves_h hours_per_usd certainty cheaper faster", cheaper=PLAN, faster=PLAN)

_ENDS = ("total", "low", "high")


def _of(name: str, place: int) -> Callable[[Any], object]:
    return lambda record: getattr(record, name)[place]


_SPOT = record(
    plan=PLAN,
    interruptions=at("plan.lost.interruptions", NUMBER),
    **{f"{name}_s": at(_of("total_s", place), NUMBER) for place, name in enumerate(_ENDS)},
    **{f"{name}_usd": at(_of("total_usd", place), NUMBER) for place, name in enumerate(_ENDS)},
    on_demand_s=at("on_demand.total_s", maybe(NUMBER)),
    on_demand_usd=at("on_demand.total_usd", maybe(NUMBER)),
    sentence=TEXT,
)
_EXCLUDED = record(instance=at(lambda row: row[0], TEXT), reason=at(lambda row: row[1], TEXT))
_WORKLOAD = record(
    **keys(Workload, "images batch_size epochs validation_images runs machines images_per_s_per_vcpu", machines=WHOLE)
)
#: `within` is null without limits, `comparison` unless two plans were compared.
ADVICE = record(
    anchor=at("training.prediction.anchor", TEXT),
    workload=at("advice.workload", _WORKLOAD),
    **keys(Limits, "deadline_h budget_usd", "advice.limits"),
    **under(
        "advice",
        answer=at(lambda advice: advice, record(plan=at("answer.label", TEXT), sentences=at(answer_sentences, TEXTS))),
        plans=many(_PLAN),
        fastest=_PICK,
        cheapest=_PICK,
        within=maybe(_WITHIN),
        frontier=many(PLAN),
        upgrades=many(record(**_UPGRADE)),
        beaten=at("dominated", many(record(**keys(Dominated, "plan by certainty", plan=PLAN, by=PLAN)))),
        left_out=at(lambda advice: advice.excluded.items(), many(_EXCLUDED)),
    ),
    comparison=maybe(_COMPARISON),
    spot=maybe(_SPOT),
    best_batch=maybe(
        record(batch_size=WHOLE, plan=PLAN, total_usd=at("plan.total_usd", NUMBER), saves_percent=NUMBER, sentence=TEXT)
    ),
    launch=record(**keys(Launch, "skypilot dstack page availability checklist")),
    memory=at("fits", MEMORY),
    warnings=at("training.warnings", TEXTS),
)
