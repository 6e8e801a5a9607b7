"""`profet validate --real DIR`: predicted against measured, for profiles that strangers recorded."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from profet_cli.inputs import open_models
from profet_cli.lab import import_lab
from profet_cli.output import print_json, print_table
from profet_core.accuracy.real import RealCheck, RealFigures, RealReading, RealReport


def run(options: argparse.Namespace) -> None:
    """Compare and print, and with `--card` write the report and its section of the card beside the models."""
    real_index, real_profiles = import_lab("measurements.real_index"), import_lab("validation.real_profiles")
    index = real_index.read_index(options.real)
    models = open_models(options)
    report = real_profiles.real_report(models, index, _truth_in_measurements(options, index))
    if options.format == "json":
        print_json(report.document())
    else:
        print_checks(report)
        print_readings(report.readings)
    if options.card:
        import_lab("reports").write_real_report(report, models)


def _truth_in_measurements(options: argparse.Namespace, index):
    """Asks the measurements, where an entry names a workload of theirs."""
    if all(entry.measured is None for entry in index.profiles):
        return None
    data, truth = import_lab("measurements.tables"), import_lab("validation.real_truth")
    measurements = data.load_measurements(data.data_folder(options.data))
    return lambda workload: truth.measured_latencies(measurements, workload)


def print_checks(report: RealReport) -> None:
    """Every prediction beside its truth, then the figures by pair, framework and kind."""
    if not report.checks:
        print("Nothing could be compared.\n")
        return
    print_table(
        (
            "profile",
            "from",
            "to",
            "basis",
            "measured ms",
            "with latency (90 %)",
            "error %",
            "without (90 %)",
            "error %",
        ),
        [_check_row(check) for check in report.checks],
    )
    print()
    gpus = _gpus(report.checks)
    pairs = {f"{gpus[anchor]} -> {gpus[target]}": row for (anchor, target), row in report.pairs.items()}
    for title, rows in (("pair", pairs), ("framework", report.libraries), ("kind", report.kinds)):
        if rows:
            print_table(
                (title, "n", "MAPE with %", "without %", "covered with %", "without %"),
                [(name, *_cells(row)) for name, row in rows.items()],
            )
            print()
    if report.mean:
        n, given, without, covered, covered_without = _cells(report.mean)
        print(
            f"mean of {n} prediction{'' if n == '1' else 's'} on profiled GPUs: {given} % with latency, "
            f"{without} % without; inside the 90 % interval: {covered} % and {covered_without} %\n"
        )


def print_readings(readings: tuple[RealReading, ...]) -> None:
    """What the readers made of every file."""
    print_table(
        ("read", "GPU", "format", "steps", "found", "left out %", "compared"),
        [
            (
                row.profile,
                row.gpu,
                row.format or "refused",
                "" if row.steps is None else str(row.steps),
                _found(row),
                "" if row.left_out is None else f"{row.left_out:.2f}",
                str(row.checks),
            )
            for row in readings
        ],
    )
    for row in readings:
        said = "; ".join(filter(None, (row.note, row.refusal)))
        if said:
            print(f"{row.profile}: {said}")


def _check_row(check: RealCheck) -> tuple[str, ...]:
    cells = []
    for known in (True, False):
        said = check.said(known)
        inside = "" if check.covered(known) else ", missed"
        cells += [
            f"{said.latency_ms:.1f} ({said.low_ms:.1f}-{said.high_ms:.1f}{inside})",
            f"{check.error(known):+.1f}",
        ]
    return check.profile, check.anchor_gpu, check.target_gpu, check.basis, f"{check.truth_ms:.1f}", *cells


def _gpus(checks: tuple[RealCheck, ...]) -> Mapping[str, str]:
    """Instance -> its GPU."""
    return {name: gpu for row in checks for name, gpu in ((row.anchor, row.anchor_gpu), (row.target, row.target_gpu))}


def _cells(row: RealFigures) -> tuple[str, ...]:
    both = (row.error.with_latency, row.error.without_latency, row.covered.with_latency, row.covered.without_latency)
    return str(row.n), f"{both[0]:.2f}", f"{both[1]:.2f}", f"{both[2]:.0f}", f"{both[3]:.0f}"


def _found(row: RealReading) -> str:
    if row.steps_found is None:
        return ""
    return f"{row.steps_found} ({row.steps_basis}{', wrong' if row.steps_right is False else ''})"
