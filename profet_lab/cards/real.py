"""The model card's section on third-party profiles: figures of `profet validate --real`."""

from __future__ import annotations

from collections.abc import Sequence

from profet_lab.cards.render import render
from profet_lab.validation.real_report import RealCheck, RealReport, figures, grouped


def real_section(report: RealReport) -> str:
    """The section as Markdown."""
    # Checks that differ in the profile alone are one row.
    alike = grouped(report.checks, lambda check: (check.anchor, check.target, check.framework, check.kind))
    pytorch = [check for check in report.of_profiled if check.library == "PyTorch"]
    return render(
        "real_profiles.md.j2",
        report=report,
        mean=figures(report.of_profiled) if report.of_profiled else None,
        compared=len({check.profile for check in report.checks}),
        kinds=len({check.kind for check in report.checks}),
        rows=[(checks, figures(checks)) for checks in alike.values()],
        pytorch=pytorch,
        pytorch_figures=figures(pytorch) if pytorch else None,
        steps_here_ms=_steps_here_ms(report, pytorch),
        sources=list(dict.fromkeys(row.source for row in report.readings if row.source)),
    )


def _steps_here_ms(report: RealReport, checks: Sequence[RealCheck]) -> dict[float, list[float]]:
    """What others measured on the very GPU of profiles of `checks` -> the steps of those profiles."""
    here = {row.profile: row.here_ms for row in report.readings if row.here_ms is not None}
    found: dict[float, list[float]] = {}
    for name, step_ms in {check.profile: check.step_ms for check in checks}.items():
        if name in here:
            found.setdefault(here[name], []).append(step_ms)
    return found
