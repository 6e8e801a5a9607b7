"""The answer as one page to print or send: HTML that stands alone, without scripts and without other hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from importlib import resources
from string import Template

from profet_core.advice.advise import Advice
from profet_core.advice.certainty import format_certainty
from profet_core.advice.plans import MEASURED_ERRORS_PCT, Confidence, Plan, Request, plan_confidence
from profet_core.advice.recommend import shortlist
from profet_core.advice.words import answer_sentences, named_plans
from profet_core.artifacts.models import Models
from profet_core.catalog import Instance
from profet_core.catalog.instance import OWN_PROVIDER
from profet_core.catalog.naming import cloud_words, gpu_words
from profet_core.latency import Basis
from profet_core.prediction.records import Prediction
from profet_core.units import (
    format_duration,
    format_duration_range,
    format_ms,
    format_usd,
    format_usd_range,
    listed_price,
)
from profet_core.version import VERSION

#: More would not fit on a page; of each GPU the cheapest is kept, and the rest counted.
_MOST_PLANS = 20
#: Instances that a line names.
_MOST_NAMES = 5
#: Words of the digest that tell models apart.
_DIGEST_LETTERS = 12


@dataclass(frozen=True, slots=True)
class ReportSource:
    """What the advice was made from.

    Attributes
    ----------
    profile : its display name; untrusted text.
    profile_facts : what the profile says of itself, a line each.
    models_digest : checksum of the models' manifest.
    made : date of the report, as it is written.
    warnings : what to keep in mind about the numbers.
    """

    profile: str
    profile_facts: tuple[str, ...]
    models_digest: str
    made: str
    warnings: tuple[str, ...] = ()


def report_source(profile: str, prediction: Prediction, models: Models, warnings: Iterable[str]) -> ReportSource:
    """What advice on a prediction was made from, today; `profile` is its name, as a person knows it."""
    latency_ms = prediction.anchor_latency_ms
    step = "step latency not given" if latency_ms is None else f"step latency {format_ms(latency_ms)}"
    digest = str(models.manifest["checksum"])
    facts = (f"recorded on {prediction.anchor}", step)
    return ReportSource(profile, facts, digest, date.today().isoformat(), tuple(warnings))


def report_html(advice: Advice, source: ReportSource) -> str:
    """The page. All that is not ours in it is text, whatever it holds."""
    page = Template(resources.files("profet_core.documents").joinpath("report.html").read_text(encoding="utf-8"))
    answer, *others = answer_sentences(advice)
    return page.substitute(
        title=escape(answer),
        sentences=_paragraphs(others),
        inputs="\n".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _inputs(advice, source)),
        plans="\n".join(_plan_row(advice, plan) for plan in _shown(advice)),
        notes=_notes(advice, source),
        versions=escape(_versions(source)),
    )


def _shown(advice: Advice) -> list[Plan]:
    """The plans that have a row: all, or where they are many one of each GPU."""
    if len(advice.plans) <= _MOST_PLANS:
        return list(advice.plans)
    return shortlist(advice.plans, named_plans(advice), _MOST_PLANS)


def _paragraphs(lines: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(line)}</p>" for line in lines)


def _inputs(advice: Advice, source: ReportSource) -> list[tuple[str, str]]:
    return [
        ("Profile", "; ".join((source.profile, *source.profile_facts))),
        ("Training", _training(advice.request)),
        *_limits(advice.request),
    ]


def _training(request: Request) -> str:
    work = request.workload
    validation = f", {work.validation_images:,} validation images" if work.validation_images else ""
    epochs = "1 epoch" if work.epochs == 1 else f"{work.epochs:,} epochs"
    loading = "; includes data loading" if work.with_loading else "; steps only, without data loading"
    return f"{work.images:,} images{validation} per epoch, {epochs}, batch size {work.batch_size:,}{loading}"


def _limits(request: Request) -> list[tuple[str, str]]:
    limits = request.limits
    found = []
    if limits.deadline_s is not None:
        found.append(("Deadline", format_duration(limits.deadline_s)))
    if limits.budget_usd is not None:
        found.append(("Budget", format_usd(limits.budget_usd)))
    return [*found, ("Certainty", format_certainty(limits.certainty))] if found else []


def _plan_row(advice: Advice, plan: Plan) -> str:
    offer, ends = plan.offer, plan.interval
    several = f" (1 of {offer.gpu_count})" if plan.whole_node and plan.gpus == 1 else ""
    of_all = f"{plan.gpus} × " if plan.gpus > 1 else ""
    cloud = "" if offer.provider == OWN_PROVIDER else f", {cloud_words(offer.provider)}"
    retired = ", retired" if offer.status == "retired" else ""
    step = plan_confidence(plan)
    cells = [
        _cell(of_all + gpu_words(offer) + several + cloud + retired),
        _number(format_duration(plan.total_s)),
        _number(_range(ends and (ends.low_s, ends.high_s), format_duration_range)),
        _number(format_usd(plan.total_usd)),
        _number(_range(ends and (ends.low_usd, ends.high_usd), format_usd_range)),
        _number(listed_price(offer.usd_per_hour)),
        _cell(_price_of(offer)),
        _cell(f"{step.mark} {step.word}"),
    ]
    marked = ' class="answer"' if plan == advice.answer else ""
    return f'<tr{marked}><th scope="row">{escape(plan.label)}</th>{"".join(cells)}</tr>'


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _number(text: str) -> str:
    return f'<td class="number">{escape(text)}</td>'


def _range(ends: tuple[float, float] | None, words: Callable[[float, float], str]) -> str:
    return words(*ends) if ends else "–"


def _price_of(offer: Instance) -> str:
    """Where and when a price is from: 'us-east-1, 2026'."""
    return ", ".join(part for part in (offer.region, offer.as_of) if part) or offer.market


def _notes(advice: Advice, source: ReportSource) -> str:
    """Warnings, bases and price sources, each once."""
    good, fair = MEASURED_ERRORS_PCT[Confidence.GOOD], MEASURED_ERRORS_PCT[Confidence.FAIR]
    sure = (
        f"Ranges are {100 * advice.request.interval_level:.0f}% prediction intervals. On held-out networks, the "
        f"mean error of good predictions was {good:.0f}%, of fair ones {fair:.0f}%; rough ones "
        "give the order of magnitude."
    )
    bases = dict.fromkeys(plan.basis for plan in advice.plans)
    rests = "; ".join(f"{_names(advice.plans, basis)}: {basis.words}" for basis in bases)
    sources = dict.fromkeys(plan.offer.source for plan in advice.plans if plan.offer.source)
    more = len(advice.plans) - len(_shown(advice))
    lines = [
        f"{more} more plans are not shown." if more > 0 else "",
        *source.warnings,
        sure,
        f"Basis of the times: {rests}.",
        f"Prices from: {'; '.join(sources)}." if sources else "",
        f"Not shown: {_left_out(advice)}." if advice.excluded else "",
    ]
    return "\n".join(f'<p class="small">{escape(line)}</p>' for line in lines if line)


def _names(plans: Sequence[Plan], basis: Basis) -> str:
    return ", ".join(dict.fromkeys(gpu_words(plan.offer) for plan in plans if plan.basis is basis))


def _left_out(advice: Advice) -> str:
    """Instances that no plan can be made for, by the reason."""
    return "; ".join(f"{_first(names)}: {reason}" for reason, names in advice.excluded_by_reason.items())


def _first(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _versions(source: ReportSource) -> str:
    return f"PROFET {VERSION}, models {source.models_digest[:_DIGEST_LETTERS]}, {source.made}."
