"""Advice as one JSON document; plans are named by their label."""

from __future__ import annotations

from profet_core.advice.words import answer_sentences, comparison_sentences
from profet_core.documents.parts import BASIS, MEMORY, PER_GPU, PLAN, TEXTS
from profet_core.documents.records import FLAG, NUMBER, TEXT, WHOLE, at, many, maybe, record, under

_CHANCE = maybe(NUMBER)
_PICK = record(
    plan=PLAN,
    certainty=at("rival.certainty", _CHANCE),
    rival=at(lambda pick: pick.rival and pick.rival.plan, maybe(PLAN)),
    too_close_to_call=at(lambda pick: pick.close_rival is not None, FLAG),
)
_PLAN = record(
    plan=at("label", TEXT),
    instance=TEXT,
    **under("offer", gpu=TEXT, gpu_count=WHOLE),
    gpus=WHOLE,
    batch_size=WHOLE,
    **under("offer", market=TEXT, region=TEXT, usd_per_hour=NUMBER, as_of=TEXT, source=TEXT, status=TEXT),
    basis=BASIS,
    latency_ms=NUMBER,
    total_s=NUMBER,
    **under("interval", low_s=maybe(NUMBER), high_s=maybe(NUMBER)),
    total_usd=NUMBER,
    **under("interval", low_usd=maybe(NUMBER), high_usd=maybe(NUMBER)),
    in_time=_CHANCE,
    in_budget=_CHANCE,
    rests_on=at("latency_note", TEXT),
    note=TEXT,
    **under("offer", provider=TEXT, **PER_GPU),
)

_WITHIN = record(
    certainty=at("limits.certainty", NUMBER),
    sure=maybe(PLAN),
    expected=maybe(PLAN),
    surest=maybe(PLAN),
    nearest=PLAN,
    over_s=NUMBER,
    over_usd=NUMBER,
)

#: Null where an interval is missing.
_COMPARISON = record(
    a=PLAN,
    b=PLAN,
    latency_ratio=NUMBER,
    latency_ratio_low=maybe(NUMBER),
    latency_ratio_high=maybe(NUMBER),
    break_even_ratio=NUMBER,
    break_even_usd_per_hour=NUMBER,
    break_even_low=maybe(NUMBER),
    break_even_high=maybe(NUMBER),
    faster=_CHANCE,
    cheaper=_CHANCE,
    beats=at("dominates", _CHANCE),
    sentences=at(comparison_sentences, TEXTS),
)

#: `within` is null without limits, `comparison` unless two plans were compared.
ADVICE = record(
    anchor=at("training.prediction.anchor", TEXT),
    workload=at(
        "advice.request.workload", record(images=WHOLE, batch_size=WHOLE, epochs=WHOLE, validation_images=WHOLE)
    ),
    **under("advice.request.limits", deadline_h=maybe(NUMBER), budget_usd=maybe(NUMBER)),
    **under(
        "advice",
        answer=at(lambda advice: advice, record(plan=at("answer.label", TEXT), sentences=at(answer_sentences, TEXTS))),
        plans=many(_PLAN),
        fastest=_PICK,
        cheapest=_PICK,
        within=maybe(_WITHIN),
        frontier=many(PLAN),
        upgrades=many(
            record(extra_usd=NUMBER, saves_h=NUMBER, hours_per_usd=NUMBER, certainty=_CHANCE, cheaper=PLAN, faster=PLAN)
        ),
        beaten=at("dominated", many(record(plan=PLAN, by=PLAN, certainty=_CHANCE))),
        left_out=at("excluded", many(record(instance=TEXT, reason=TEXT))),
    ),
    comparison=maybe(_COMPARISON),
    memory=at("fits", MEMORY),
    warnings=at("training.warnings", TEXTS),
)
