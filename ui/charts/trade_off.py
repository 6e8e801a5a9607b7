"""Time against cost, with the Pareto frontier."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from profet_core.advice.plans import Plan
from profet_core.catalog.naming import gpu_words
from profet_core.units import format_time, format_usd
from ui.charts.bars import COLORS
from ui.charts.curves import Shown
from ui.charts.style import GRAY, RED, Figure, Part, framed, line_at, no_markup
from ui.tables import plan_gpus
from ui.words import FOUR_WORDS

_TIME, _COST = Shown("Time", format_time, in_time=True), Shown("Cost", format_usd, prefix="$")
#: A limit this many times beyond all plans is not drawn: it would leave no room for them.
_IN_SIGHT = 3.0


def trade_off(
    plans: Sequence[Plan],
    best: Collection[str],
    named: Collection[str] = (),
    deadline_s: float | None = None,
    budget_usd: float | None = None,
) -> Figure:
    """Time against cost on logarithmic axes, one color per basis; a line joins the Pareto frontier.

    Parameters
    ----------
    best : labels of the plans on the frontier. named : of more plans whose GPU is written beside them.
    """
    # Time and cost move with one latency, so an interval is a line.
    ends = [(plan.total_s, plan.total_usd) for plan in plans]
    spans = [plan.interval for plan in plans if plan.interval]
    ends += [end for span in spans for end in ((span.low_s, span.low_usd), (span.high_s, span.high_usd))]
    times, dollars = [end[0] for end in ends], [end[1] for end in ends]
    seconds, x = _TIME.axis(times)
    _, y = _COST.axis(dollars)
    # Labels of the frontier stand to the left of their marks.
    x["range"] = [math.log10(min(times) / seconds) - 0.2, math.log10(max(times) / seconds) + 0.1]
    frontier = sorted((plan for plan in plans if plan.label in best), key=lambda plan: plan.total_s)
    lines = [
        _line(
            "90% prediction interval",
            [value for span in spans for value in (span.low_s / seconds, span.high_s / seconds, None)],
            [value for span in spans for value in (span.low_usd, span.high_usd, None)],
            {"color": "rgba(128,128,128,0.35)", "width": 1},
        )
    ]
    if len(frontier) > 1:
        name = "Pareto frontier: nothing is both faster and cheaper"
        time, cost = [plan.total_s / seconds for plan in frontier], [plan.total_usd for plan in frontier]
        lines.append(_line(name, time, cost, {"color": GRAY, "width": 1.5, "dash": "dot"}))
    by_basis = {word: [plan for plan in plans if FOUR_WORDS[plan.basis] == word] for word in COLORS}
    return framed(
        [*lines, *(_marks(found, seconds, word, best, named) for word, found in by_basis.items() if found)],
        x=x,
        y=y,
        height=440,
        name="Time against cost, one point per instance",
        hovermode="closest",
        **_limits(
            deadline_s / seconds if _in_sight(deadline_s, times) and deadline_s else None,
            budget_usd if _in_sight(budget_usd, dollars) else None,
        ),
    )


def _in_sight(limit: float | None, values: Sequence[float]) -> bool:
    return limit is not None and min(values) / _IN_SIGHT < limit < max(values) * _IN_SIGHT


def _limits(deadline: float | None, budget_usd: float | None) -> Part:
    """Lines with their names at their ends."""
    shapes, texts, line = [], [], {"color": RED, "width": 1.5, "dash": "dash"}
    # On a logarithmic axis a text takes the logarithm, a line the value.
    if deadline is not None:
        shapes.append(line_at(x=deadline, line=line))
        place = {"yref": "y domain", "y": 1, "xanchor": "right", "yanchor": "top"}
        texts.append({"text": "deadline ", "x": math.log10(deadline), "showarrow": False, **place})
    if budget_usd is not None:
        shapes.append(line_at(y=budget_usd, line=line))
        place = {"xref": "x domain", "x": 0, "xanchor": "left", "yanchor": "bottom"}
        texts.append({"text": " budget", "y": math.log10(budget_usd), "showarrow": False, **place})
    return {"shapes": shapes, "annotations": texts}


def _line(name: str, x: Sequence[float | None], y: Sequence[float | None], line: Part) -> Part:
    return {"type": "scatter", "name": name, "x": x, "y": y, "mode": "lines", "line": line, "hoverinfo": "skip"}


def _marks(plans: Sequence[Plan], seconds: float, word: str, best: Collection[str], named: Collection[str]) -> Part:
    """Nothing lies below and left of the frontier: there is room for its labels; others' would hide each other."""
    shorts = [no_markup(f"{plan.gpus} × " * (plan.gpus > 1) + gpu_words(plan.offer)) for plan in plans]
    return {
        "type": "scatter",
        "name": word,
        "x": [plan.total_s / seconds for plan in plans],
        "y": [plan.total_usd for plan in plans],
        "text": [short if plan.label in {*best, *named} else "" for plan, short in zip(plans, shorts, strict=True)],
        "textposition": ["bottom left" if plan.label in best else "top right" for plan in plans],
        "mode": "markers+text",
        "marker": {
            "color": COLORS[word],
            "size": [13 if plan.label in best else 9 for plan in plans],
            "opacity": 1,
        },
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "customdata": [plan.label for plan in plans],
        "hovertext": [
            f"{no_markup(f'{plan.title} ({plan_gpus(plan)})')}<br>{format_time(plan.total_s)}<br>"
            f"{format_usd(plan.total_usd)}"
            for plan in plans
        ],
        "hoverinfo": "text",
    }
