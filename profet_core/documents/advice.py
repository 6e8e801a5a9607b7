"""Advice as one JSON document; plans are named by their label."""

from __future__ import annotations

from profet_core.catalog import Instance
from profet_core.documents.answers import MEMORY
from profet_core.documents.parts import PER_GPU, PLAN
from profet_core.documents.records import FLAG, NUMBER, TEXT, TEXTS, At, at, keys, many, maybe, record, under
from profet_core.training.advise import Dominated, ExcludedInstance, Upgrade
from profet_core.training.cost import Workload
from profet_core.training.plans import Limits, Plan
from profet_core.training.recommend import Comparison, Within
from profet_core.training.words import answer_sentences, comparison_sentences

_PICK = record(
    plan=PLAN,
    certainty=at("rival.certainty", maybe(NUMBER)),
    rival=at(lambda pick: pick.rival and pick.rival.plan, maybe(PLAN)),
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
    rests_on=at("latency_note", TEXT),
    note=TEXT,
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

#: `within` is null without limits, `comparison` unless two plans were compared.
ADVICE = record(
    anchor=at("training.prediction.anchor", TEXT),
    workload=at("advice.request.workload", record(**keys(Workload, "images batch_size epochs validation_images"))),
    **keys(Limits, "deadline_h budget_usd", "advice.request.limits"),
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
        left_out=at("excluded", many(record(**keys(ExcludedInstance, "instance reason")))),
    ),
    comparison=maybe(_COMPARISON),
    memory=at("fits", MEMORY),
    warnings=at("training.warnings", TEXTS),
)
