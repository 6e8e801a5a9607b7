"""The model card's section on profiles that strangers recorded: its numbers are those of `profet validate --real`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_checks import RealCheck
from profet_core.accuracy.real_figures import figures
from profet_lab.cards.format import fixed, markdown_table

_KNOWN = (True, False)
_WIDTH = 120


def real_section(report: RealReport) -> str:
    """The section as Markdown."""
    parts = [_lead(report), *_table(report), *_pytorch(report), "How they were read:", _readings(report)]
    return "\n\n".join(["## Profiles of strangers", *parts, _sources(report)])


def _lead(report: RealReport) -> str:
    kinds = {check.kind for check in report.checks}
    found = "none could be compared"
    if report.mean is not None:
        error, covered = report.mean.error, report.mean.covered
        found = (
            f"{report.mean.n} predictions on profiled GPUs are off by {fixed(error.with_latency)} % with the latency "
            f"and {fixed(error.without_latency)} % without; {covered.with_latency:.0f} % and "
            f"{covered.without_latency:.0f} % of what was measured lies inside the 90 % interval"
        )
    return _text(
        "Profiles that others recorded and published, against what the same step took on other GPUs "
        f"(`profet validate --real`, {report.made}): {found}. **{len(report.compared)} profiles of {len(kinds)} kinds "
        "of step are few**, and those of one network are near-copies: they can show that something is wrong, not how "
        "far off the next one will be."
    )


def _table(report: RealReport) -> Iterable[str]:
    if not report.checks:
        return
    rows = [_row(checks) for checks in report.alike]
    header = ("from", "to", "basis", "recorded with", "step", "n", "measured ms")
    given = ("with ms", "MAPE", "covered %", "without ms", "MAPE", "covered %")
    yield markdown_table((*header, *given), rows)


def _row(checks: Sequence[RealCheck]) -> tuple[str, ...]:
    first, found = checks[0], figures(checks)
    said = [
        cell
        for known in _KNOWN
        for cell in (
            _ends([check.predicted(known).latency_ms for check in checks]),
            fixed(found.error.of(known)),
            f"{found.covered.of(known):.0f}",
        )
    ]
    group = (first.anchor_gpu, first.target_gpu, first.basis, first.framework, first.kind)
    return (*group, str(len(checks)), _ends([check.truth_ms for check in checks]), *said)


def _ends(values_ms: Sequence[float]) -> str:
    """One value, or the smallest and the largest."""
    low, high = f"{min(values_ms):.1f}", f"{max(values_ms):.1f}"
    return low if low == high else f"{low}-{high}"


def _pytorch(report: RealReport) -> Iterable[str]:
    """What is known of PyTorch: its operations are translated, and the truths are of another framework."""
    checks = report.translated
    found = figures(checks)
    if found is None:
        return
    seen = ""
    if any(check.trained_on for check in checks):
        seen = " The models learned from measurements of this very network, so it is an easy one."
    here = "".join(
        f" On the profile's own GPU it took {here_ms:.1f} ms there, "
        f"{' and '.join(f'{step_ms:.1f}' for step_ms in steps_ms)} ms in PyTorch."
        for here_ms, steps_ms in report.steps_here_ms(checks).items()
    )
    yield _text(
        f"**PyTorch** steps are translated to TensorFlow's operations. {found.n} predictions from them ("
        f"{'; '.join(dict.fromkeys(check.kind for check in checks))}) are off by {fixed(found.error.with_latency)} % "
        f"with the latency and {fixed(found.error.without_latency)} % without.{seen} The truth is from: "
        f"{'; '.join(dict.fromkeys(check.truth for check in checks))}. So the two frameworks' own difference counts as "
        f"an error here, and so does any wait of the profiled step for its input.{here}"
    )


def _readings(report: RealReport) -> str:
    rows = [
        (
            row.profile,
            row.gpu,
            row.kind,
            "" if row.steps is None else str(row.steps),
            "" if row.steps_found is None else f"{row.steps_found} ({row.steps_basis})",
            "" if row.left_out is None else f"{row.left_out:.2f}",
            row.refusal or row.note or "compared",
        )
        for row in report.readings
    ]
    header = ("file", "GPU", "step", "steps", "found", "GPU time without a class %", "what became of it")
    return markdown_table(header, rows)


def _sources(report: RealReport) -> str:
    named = dict.fromkeys(row.source for row in report.readings if row.source)
    return _text(f"None of these files ship with the project. Published by: {'; '.join(named) or 'not named'}.")


def _text(prose: str) -> str:
    return textwrap.fill(prose, _WIDTH, break_long_words=False, break_on_hyphens=False)
