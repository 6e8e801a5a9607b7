"""Predictions and costs as JSON documents; keys and their order are a contract."""

from __future__ import annotations

from typing import NamedTuple

from profet_core.catalog import Instance
from profet_core.documents.parts import RENTED
from profet_core.documents.records import (
    NUMBER,
    TEXT,
    TEXTS,
    Keys,
    at,
    by_name,
    choice,
    keys,
    many,
    maybe,
    record,
    under,
)
from profet_core.features.operations import UnknownOperations
from profet_core.latency import LEVEL, StepTime
from profet_core.prediction.members import Similarity
from profet_core.prediction.records import InstancePrediction, Prediction
from profet_core.sizes.scaler import ScaledLatency
from profet_core.training.cost import Energy, Workload
from profet_core.training.memory import FitAnswer, Verdict
from profet_core.training.plans import TOTALS, Plan

#: Share of held-out latencies inside the intervals.
COVERAGE = at(lambda _: LEVEL, NUMBER)
#: Whether a step fits in a GPU's memory.
VERDICT = choice(list(Verdict))
#: Instance -> whether the step fits in its memory.
MEMORY = by_name(record(**keys(FitAnswer, "verdict probability largest_batch why", verdict=VERDICT)))
#: What an operation is that the method has never seen the like of, and what became of its time.
UNKNOWN_OPERATIONS = record(**keys(UnknownOperations, "names share mapped left_out"))


def ends(*, known: bool = False) -> Keys:
    """Both ends of a record's interval; unless it is `known`, they may be null."""
    number = NUMBER if known else maybe(NUMBER)
    return under("interval", low_ms=number, high_ms=number)


_ROW = record(
    **keys(InstancePrediction, "instance latency_ms"),
    **ends(),
    **keys(InstancePrediction, "members basis cost_per_1000_steps_usd usd_per_hour status note"),
    **RENTED,
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
    **keys(StepTime, "basis note", "plan.row"),
    **under("plan", **RENTED),
)
COSTS = record(
    anchor=at("training.prediction.anchor", TEXT),
    **keys(Workload, "images validation_images batch_size epochs", "table.workload"),
    rows=many(_COST),
    warnings=at("training.warnings", TEXTS),
    memory=at("fits", MEMORY),
)
SCALED = record(**keys(ScaledLatency, "instance axis at latency_ms", instance=TEXT))
