"""The model card's section on third-party profiles: figures of `profet validate --real` as records.

`templates/real_profiles.md.j2` words them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_checks import RealCheck, RealReading
from profet_core.accuracy.real_figures import RealFigures, figures
from profet_lab.cards.render import render


@dataclass(frozen=True, slots=True)
class AlikeChecks:
    """Checks that differ in the profile alone, in one row; latencies from the smallest to the largest, milliseconds.

    Attributes
    ----------
    with_latency_ms, without_latency_ms : predicted. truth_ms : measured.
    """

    first: RealCheck
    n: int
    truth_ms: tuple[float, float]
    with_latency_ms: tuple[float, float]
    without_latency_ms: tuple[float, float]
    figures: RealFigures


@dataclass(frozen=True, slots=True)
class PyTorchChecks:
    """PyTorch profiles: operations are translated, reference latencies are another framework's.

    Attributes
    ----------
    kinds, truths : what was trained, and who measured it elsewhere.
    trained_on : the models learned from measurements of this very network.
    steps_here_ms : measured by others on the profile's own GPU -> steps of the profiles, milliseconds.
    """

    figures: RealFigures
    kinds: tuple[str, ...]
    truths: tuple[str, ...]
    trained_on: bool
    steps_here_ms: dict[float, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class RealSection:
    """What the template words.

    Attributes
    ----------
    mean, pytorch : None if there is nothing to compare.
    compared, kinds : number of profiles and of kinds of step.
    """

    made: str
    mean: RealFigures | None
    compared: int
    kinds: int
    rows: Sequence[AlikeChecks]
    pytorch: PyTorchChecks | None
    readings: Sequence[RealReading]
    sources: tuple[str, ...]


def real_section(report: RealReport) -> str:
    """The section as Markdown."""
    return render("real_profiles.md.j2", section=_section(report))


def _section(report: RealReport) -> RealSection:
    return RealSection(
        made=report.made,
        mean=report.mean,
        compared=len(report.compared),
        kinds=len({check.kind for check in report.checks}),
        rows=[_row(checks, found) for checks in report.alike if (found := figures(checks))],
        pytorch=_pytorch(report),
        readings=report.readings,
        sources=tuple(dict.fromkeys(row.source for row in report.readings if row.source)),
    )


def _row(checks: Sequence[RealCheck], found: RealFigures) -> AlikeChecks:
    return AlikeChecks(
        first=checks[0],
        n=len(checks),
        truth_ms=_ends([check.truth_ms for check in checks]),
        with_latency_ms=_ends([check.with_latency.latency_ms for check in checks]),
        without_latency_ms=_ends([check.without_latency.latency_ms for check in checks]),
        figures=found,
    )


def _ends(values_ms: Sequence[float]) -> tuple[float, float]:
    return min(values_ms), max(values_ms)


def _pytorch(report: RealReport) -> PyTorchChecks | None:
    checks = report.translated
    found = figures(checks)
    if found is None:
        return None
    return PyTorchChecks(
        figures=found,
        kinds=tuple(dict.fromkeys(check.kind for check in checks)),
        truths=tuple(dict.fromkeys(check.truth for check in checks)),
        trained_on=any(check.trained_on for check in checks),
        steps_here_ms=report.steps_here_ms(checks),
    )
