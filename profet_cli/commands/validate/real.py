"""`profet validate --real DIR`: predicted against measured, on third-party profiles."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from profet_cli.inputs import open_models
from profet_cli.lab import open_measurements, training_set
from profet_cli.output import print_json, print_table
from profet_core.accuracy.real import RealReport
from profet_core.accuracy.real_checks import RealCheck, RealReading
from profet_core.accuracy.real_figures import RealFigures

if TYPE_CHECKING:
    from profet_lab.measurements.real_index import RealIndex
    from profet_lab.validation.real_truth import MeasuredTruth


def run(options: argparse.Namespace) -> None:
    """Compare and print, and with `--card` write the report and its section of the card beside the models."""
    with training_set():
        from profet_lab.measurements.real_index import read_index
        from profet_lab.validation.real_profiles import real_report
    index = read_index(options.real)
    models = open_models(options)
    report = real_report(models, index, _measured_latencies(options, index))
    if options.format == "json":
        print_json(report.document())
    else:
        _print_comparison(report)
        _print_readings(report.readings)
    if options.card:
        with training_set():
            from profet_lab.reports import write_real_report
        write_real_report(report, models)


def _measured_latencies(options: argparse.Namespace, index: RealIndex) -> MeasuredTruth | None:
    """Instance -> latency of a workload of the measurements; None where no entry names one."""
    if all(entry.measured is None for entry in index.profiles):
        return None
    with training_set():
        from profet_lab.validation.real_truth import measured_latencies
    measurements, _ = open_measurements(options)
    return lambda workload: measured_latencies(measurements, workload)


def _print_comparison(report: RealReport) -> None:
    """Every prediction beside its truth, then the figures."""
    if not report.checks:
        print("No profile could be compared.\n")
        return
    columns = ("profile", "from", "to", "basis", "measured ms")
    print_table(
        (*columns, "with latency (90%)", "error %", "without (90%)", "error %"),
        [_check_row(check) for check in report.checks],
    )
    print()
    _print_figures(report)


def _print_figures(report: RealReport) -> None:
    """The figures by pair, framework and kind, then their mean."""
    gpus = _gpus(report.checks)
    pairs = {f"{gpus[anchor]} -> {gpus[target]}": row for (anchor, target), row in report.pairs.items()}
    for title, rows in (("pair", pairs), ("framework", report.libraries), ("kind", report.kinds)):
        if rows:
            print_table(
                (title, "n", "MAPE with %", "without %", "covered with %", "without %"),
                [(name, *_figure_cells(row)) for name, row in rows.items()],
            )
            print()
    if report.mean:
        n, given, without, covered, covered_without = _figure_cells(report.mean)
        print(
            f"mean of {n} prediction{'' if n == '1' else 's'} on profiled GPUs: {given}% with latency, {without}% "
            f"without; inside the 90% interval: {covered}% and {covered_without}%\n"
        )


def _print_readings(readings: tuple[RealReading, ...]) -> None:
    """What the readers made of every file."""
    print_table(
        ("read", "GPU", "format", "steps", "found", "ignored %", "compared"), [_reading_row(row) for row in readings]
    )
    for row in readings:
        remarks = "; ".join(filter(None, (row.note, row.refusal)))
        if remarks:
            print(f"{row.profile}: {remarks}")


def _check_row(check: RealCheck) -> tuple[str, ...]:
    cells: list[str] = []
    for known in (True, False):
        predicted = check.predicted(known)
        missed = "" if check.covered(known) else ", missed"
        cells += [
            f"{predicted.latency_ms:.1f} ({predicted.low_ms:.1f}-{predicted.high_ms:.1f}{missed})",
            f"{check.error(known):+.1f}",
        ]
    return check.profile, check.anchor_gpu, check.target_gpu, check.basis, f"{check.truth_ms:.1f}", *cells


def _gpus(checks: tuple[RealCheck, ...]) -> Mapping[str, str]:
    """Instance -> its GPU."""
    return {name: gpu for row in checks for name, gpu in ((row.anchor, row.anchor_gpu), (row.target, row.target_gpu))}


def _figure_cells(row: RealFigures) -> tuple[str, ...]:
    both = (row.error.with_latency, row.error.without_latency, row.covered.with_latency, row.covered.without_latency)
    return str(row.n), f"{both[0]:.2f}", f"{both[1]:.2f}", f"{both[2]:.0f}", f"{both[3]:.0f}"


def _reading_row(row: RealReading) -> tuple[str, ...]:
    return (
        row.profile,
        row.gpu,
        row.format or "refused",
        "" if row.steps is None else str(row.steps),
        _steps_found(row),
        "" if row.left_out is None else f"{row.left_out:.2f}",
        str(row.checks),
    )


def _steps_found(row: RealReading) -> str:
    if row.steps_found is None:
        return ""
    return f"{row.steps_found} ({row.steps_basis}{', wrong' if row.steps_right is False else ''})"
