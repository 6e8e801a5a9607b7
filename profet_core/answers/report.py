"""The answer as one page to print or send: HTML that stands alone, without scripts and without other hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from html import escape
from importlib import resources
from string import Template

from msgspec import Struct

from profet_core.answers.by_layers import NetworkPrediction
from profet_core.catalog.collection import prices_version
from profet_core.catalog.instance import date_words, gpu_words
from profet_core.catalog.launch import Launch, launch_of
from profet_core.latency import LEVEL, Basis
from profet_core.prediction.models import Models
from profet_core.prediction.predict import Prediction
from profet_core.training.advise import Advice
from profet_core.training.cost import Workload
from profet_core.training.plans import MEASURED_ERRORS_PCT, Confidence, Plan, plan_confidence
from profet_core.training.recommend import shortlist
from profet_core.training.words import answer_sentences, breakdown_line, named_plans
from profet_profiles import VERSION
from profet_profiles.units import (
    TimeUnit,
    format_certainty,
    format_duration,
    format_ms,
    format_usd,
    format_usd_range,
    shared_time_unit,
)

#: More would not fit on a page; of each GPU the cheapest is kept, and the rest counted.
_MAX_PLANS = 20
#: Instances that a line names.
_MAX_NAMES = 5
_NUMBER = ' class="number"'
#: Words of the digest that tell models apart.
_DIGEST_LETTERS = 12


class ReportSource(Struct, frozen=True):
    """Sources of an advice.

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
    """Return the sources of advice on a prediction, today; `profile` is its name, as a person knows it."""
    latency_ms = prediction.anchor_latency_ms
    step = "step latency not given" if latency_ms is None else f"step latency {format_ms(latency_ms)}"
    digest = str(models.manifest["checksum"])
    facts = (f"recorded on {prediction.anchor}", step)
    if isinstance(prediction, NetworkPrediction):
        measured = "no step was measured" if latency_ms is None else f"{step} on {prediction.anchor}"
        facts = ("a network without a profile", measured)
    return ReportSource(profile, facts, digest, date.today().isoformat(), tuple(warnings))


def report_html(advice: Advice, source: ReportSource) -> str:
    """Write the page. All that is not ours in it is text, whatever it holds."""
    page = Template(resources.files("profet_core.answers").joinpath("report.html").read_text(encoding="utf-8"))
    (answer, *others), shown = answer_sentences(advice), _shown(advice)
    unit = shared_time_unit(plan.total_s for plan in shown)
    return page.substitute(
        title=escape(answer),
        sentences="\n".join(f"<p>{escape(line)}</p>" for line in others),
        inputs="\n".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _inputs(advice, source)),
        plans="\n".join(_plan_row(plan, unit, chosen=plan == advice.answer) for plan in shown),
        rent=_rent(launch_of(advice.answer.offer)),
        notes=_notes(advice, source),
        versions=escape(
            f"PROFET {VERSION}, models {source.models_digest[:_DIGEST_LETTERS]}, "
            f"prices {prices_version(plan.offer for plan in advice.plans)}; {source.made}."
        ),
    )


def _shown(advice: Advice) -> list[Plan]:
    """Return the plans that have a row: all, or where they are many one of each GPU."""
    if len(advice.plans) <= _MAX_PLANS:
        return list(advice.plans)
    return shortlist(advice.plans, named_plans(advice), _MAX_PLANS)


def _inputs(advice: Advice, source: ReportSource) -> list[tuple[str, str]]:
    limits = advice.limits
    facts = [("Profile", "; ".join((source.profile, *source.profile_facts))), ("Training", _training(advice.workload))]
    if limits.deadline_s is not None:
        facts.append(("Deadline", format_duration(limits.deadline_s)))
    if limits.budget_usd is not None:
        facts.append(("Budget", format_usd(limits.budget_usd)))
    return [*facts, ("Certainty", format_certainty(limits.certainty))] if len(facts) > 2 else facts


def _training(work: Workload) -> str:
    validation = f", {work.validation_images:,} validation images" if work.validation_images else ""
    epochs = "1 epoch" if work.epochs == 1 else f"{work.epochs:,} epochs"
    loading = "; includes data loading" if work.with_loading else "; steps only, without data loading"
    if work.images_per_s_per_vcpu is not None:
        loading = f"; each vCPU prepares {work.images_per_s_per_vcpu:,g} images/s"
    runs = "" if work.runs == 1 else f"; {work.runs:,} runs {'at once' if work.at_once else 'in turn'}"
    return f"{work.images:,} images{validation} per epoch, {epochs}, batch size {work.batch_size:,}{loading}{runs}"


def _plan_row(plan: Plan, unit: TimeUnit, *, chosen: bool) -> str:
    offer, ends = plan.offer, plan.interval
    code = plan.code
    price_of = ", ".join(part for part in (offer.region, date_words(offer.as_of)) if part) or offer.market
    cells = (
        (_NUMBER, unit.words(plan.total_s)),
        (_NUMBER, "–" if ends is None else unit.range_words(ends.low_s, ends.high_s)),
        (_NUMBER, format_usd(plan.total_usd)),
        (_NUMBER, "–" if ends is None else format_usd_range(ends.low_usd, ends.high_usd)),
        (_NUMBER, format_usd(offer.usd_per_hour)),
        ("", price_of),
        ("", f"{plan_confidence(plan).mark} {plan.basis.word}"),
    )
    marked = ' class="answer"' if chosen else ""
    row = "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in cells)
    name = f"{escape(plan.name)}<br><small>{escape(code)}</small>"
    return f'<tr{marked}><th scope="row">{name}</th>{row}</tr>'


def _rent(launch: Launch) -> str:
    """Return the provider's page, what is known and to be checked, and the task."""
    lines = map(escape, (launch.page, launch.availability, launch.checklist))
    task = f"<pre>{escape(launch.skypilot or launch.dstack)}</pre>" if launch.skypilot or launch.dstack else ""
    return f"<p>{'<br>'.join(filter(None, lines))}</p>{task}"


def _notes(advice: Advice, source: ReportSource) -> str:
    """Warnings, bases and price sources, each once."""
    good, fair = MEASURED_ERRORS_PCT[Confidence.GOOD], MEASURED_ERRORS_PCT[Confidence.FAIR]
    sure = (
        f"Ranges are {100 * LEVEL:.0f}% prediction intervals. On held-out networks, the "
        f"mean error of predictions with ●●● was {good:.0f}%, with ●●○ {fair:.0f}%, with ●○○ more."
    )
    bases = dict.fromkeys(plan.basis for plan in advice.plans)
    groups = "; ".join(f"{_names(advice.plans, basis)}: {basis.words}" for basis in bases)
    sources = dict.fromkeys(plan.offer.source for plan in advice.plans if plan.offer.source)
    more = len(advice.plans) - len(_shown(advice))
    left_out = "; ".join(f"{_first(names)}: {reason}" for reason, names in advice.excluded_by_reason.items())
    lines = [
        f"All costs of {advice.answer.phrase}: {costs}." if (costs := breakdown_line(advice.answer)) else "",
        f"{more} more plans are not shown." if more > 0 else "",
        *source.warnings,
        sure,
        f"Basis of the times: {groups}.",
        f"Prices from: {'; '.join(sources)}." if sources else "",
        f"Not shown: {left_out}." if left_out else "",
    ]
    return "\n".join(f'<p class="small">{escape(line)}</p>' for line in lines if line)


def _names(plans: Sequence[Plan], basis: Basis) -> str:
    return ", ".join(dict.fromkeys(gpu_words(plan.offer) for plan in plans if plan.basis is basis))


def _first(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MAX_NAMES else f"{len(names)} offers"
