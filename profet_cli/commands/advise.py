"""`profet advise`: which instance to rent for a training, and how sure that is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from profet_cli.inputs import open_models
from profet_cli.memory import fits_in_memory
from profet_cli.output import print_json, print_table, print_warnings
from profet_cli.training import training_steps
from profet_core.advice.advise import Advice, advise
from profet_core.advice.certainty import INTERVAL_LEVEL, format_certainty
from profet_core.advice.comparison import comparison_sentences
from profet_core.advice.picks import Pick
from profet_core.advice.plans import Comparison, Limits, Plan, Workload, compare
from profet_core.advice.words import answer_sentences, beaten_lines, pick_line, upgrade_line
from profet_core.catalog import load_catalog
from profet_core.catalog.offers import offers_in_market
from profet_core.errors import InputError
from profet_core.units import format_duration, format_price, format_usd


def run(options: argparse.Namespace) -> None:
    """Predict, advise and print."""
    limits = Limits(options.deadline_hours, options.budget_usd)
    models, catalog = open_models(options), load_catalog()
    offers = offers_in_market(
        catalog,
        options.market,
        region=options.region,
        own_usd_per_hour=dict(options.price),
        spot_discount=options.spot_discount,
    )
    steps = training_steps(options, models, catalog)
    level = steps.prediction.interval_level or INTERVAL_LEVEL
    advice = advise(
        steps.step_times,
        offers,
        Workload(options.images, steps.batch_size, options.epochs, options.validation_images),
        limits,
        certainty=options.certainty,
        include_retired=options.include_retired,
        fits=fits_in_memory(
            models, catalog, steps.profile, steps.prediction.anchor, steps.latencies_ms, steps.batch_size
        ),
        interval_level=level,
    )
    compared = None if options.compare is None else compare(*_named(advice, options.compare), level)
    if options.format == "json":
        print_json(advice_document(advice, compared, options.anchor, steps.warnings))
        return
    print_warnings(steps.warnings)
    _print_advice(advice, compared)


def _named(advice: Advice, names: Sequence[str]) -> list[Plan]:
    """The plans that `--compare` names by instance, or by 'instance market'."""
    by_name = {plan.instance: plan for plan in reversed(advice.plans)} | {plan.label: plan for plan in advice.plans}
    unknown = next((name for name in names if name not in by_name), None)
    if unknown is not None or len(names) != 2:
        wrong = f"not {unknown!r}" if unknown is not None else f"not {len(names)} of them"
        raise InputError(f"--compare takes two of {', '.join(plan.label for plan in advice.plans)}; {wrong}.")
    return [by_name[name] for name in names]


def advice_document(advice: Advice, compared: Comparison | None, anchor: str, warnings: Sequence[str]) -> dict:
    """The advice as one JSON document; plans are named by their label."""
    within = advice.within
    return {
        "anchor": anchor,
        "workload": asdict(advice.workload),
        "deadline_h": advice.limits.deadline_h,
        "budget_usd": advice.limits.budget_usd,
        "answer": {"plan": advice.answer.label, "sentences": list(answer_sentences(advice))},
        "plans": [plan_document(plan) for plan in advice.plans],
        "fastest": _pick_document(advice.fastest),
        "cheapest": _pick_document(advice.cheapest),
        "within": within
        and {
            "certainty": within.certainty,
            **{name: _label(getattr(within, name)) for name in ("sure", "expected", "surest", "nearest")},
            "over_s": within.over_s,
            "over_usd": within.over_usd,
        },
        "frontier": [plan.label for plan in advice.frontier],
        "upgrades": [
            {**_own_fields(one, "extra_usd", "saves_h", "hours_per_usd", "certainty"), "cheaper": one.cheaper.label}
            | {"faster": one.faster.label}
            for one in advice.upgrades
        ],
        "beaten": [{"plan": one.plan.label, "by": one.by.label, "certainty": one.certainty} for one in advice.beaten],
        "left_out": [asdict(one) for one in advice.left_out],
        "comparison": compared and comparison_document(compared),
        "warnings": list(warnings),
    }


def plan_document(plan: Plan) -> dict:
    """One plan; null where there is no interval or no limit."""
    offer = plan.offer
    return {
        "plan": plan.label,
        "instance": plan.instance,
        "gpu": offer.gpu,
        "gpu_count": offer.gpu_count,
        **_own_fields(offer, "market", "region", "usd_per_hour", "as_of", "source", "status"),
        **_own_fields(plan, "basis", "latency_ms", "total_s"),
        "low_s": plan.interval and plan.interval.low_s,
        "high_s": plan.interval and plan.interval.high_s,
        "total_usd": plan.total_usd,
        "low_usd": plan.interval and plan.interval.low_usd,
        "high_usd": plan.interval and plan.interval.high_usd,
        **_own_fields(plan, "in_time", "in_budget", "rests_on", "note"),
    }


def comparison_document(found: Comparison) -> dict:
    """Two plans by their labels, and every figure of the comparison."""
    figures = {name: getattr(found, name) for name in Comparison.__slots__ if name not in ("a", "b")}
    return {"a": found.a.label, "b": found.b.label, **figures, "sentences": list(comparison_sentences(found))}


def _own_fields(record: object, *names: str) -> dict:
    return {name: getattr(record, name) for name in names}


def _label(plan: Plan | None) -> str | None:
    return None if plan is None else plan.label


def _pick_document(pick: Pick) -> dict:
    return {
        "plan": pick.plan.label,
        "certainty": pick.certainty,
        "rival": _label(pick.rival),
        "too_close_to_call": pick.too_close,
    }


def _print_advice(advice: Advice, compared: Comparison | None) -> None:
    print("\n".join(answer_sentences(advice)))
    print()
    limits = advice.limits
    chances = [("in_time", "in time")] if limits.deadline_h is not None else []
    chances += [("in_budget", "in budget")] if limits.budget_usd is not None else []
    bounds = any(plan.interval for plan in advice.plans)
    header = ("offer", "time", *(("from", "to") if bounds else ()), "cost", *(("from", "to") if bounds else ()))
    print_table(
        (*header, *(words for _, words in chances), "$ an hour", "basis", "note"),
        [_text_row(plan, [name for name, _ in chances], bounds) for plan in advice.plans],
    )
    _print_list("Basis:", [f"{key}: {key.words}" for key in dict.fromkeys(plan.basis for plan in advice.plans)])
    resting = {plan.instance: plan.rests_on for plan in advice.plans if plan.rests_on}
    _print_list("What times rest on:", [f"{name}: {text}" for name, text in resting.items()])
    _print_list(
        "Picks:",
        [
            f"{word}: {pick.plan.label}{f', {line}' if (line := pick_line(pick)) else ''}"
            for word, pick in (("cheapest", advice.cheapest), ("fastest", advice.fastest))
        ],
    )
    _print_list("What more money buys:", [upgrade_line(one) for one in advice.upgrades])
    _print_list("Beaten in time and money:", beaten_lines(advice))
    _print_list("Left out:", [f"{one.instance}: {one.reason}" for one in advice.left_out])
    if compared:
        _print_list(f"{compared.a.label} against {compared.b.label}:", comparison_sentences(compared))


def _print_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        print("\n".join(["", title, *(f"  {line}" for line in lines)]))


def _text_row(plan: Plan, chances: Sequence[str], bounds: bool) -> tuple[str, ...]:
    ends = plan.interval
    times = (_or_dash(end, format_duration) for end in (ends and ends.low_s, ends and ends.high_s) if bounds)
    costs = (_or_dash(end, format_usd) for end in (ends and ends.low_usd, ends and ends.high_usd) if bounds)
    return (
        plan.label,
        format_duration(plan.total_s),
        *times,
        format_usd(plan.total_usd),
        *costs,
        *(_or_dash(getattr(plan, name), format_certainty) for name in chances),
        format_price(plan.offer.usd_per_hour),
        plan.basis,
        plan.note or "-",
    )


def _or_dash(value: float | None, words) -> str:
    return "-" if value is None else words(value)
