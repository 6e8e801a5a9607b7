"""`profet validate --manycore`: the many-core models beside what was published, and on this machine's own cores."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.lab import training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.accuracy.manycore import ManycoreAccuracy, OwnCores
from profet_core.files import models_folder
from profet_core.manycore.published import PUBLISHED, PUBLISHED_ERROR_PERCENT


def run(options: argparse.Namespace) -> None:
    """Measure and print, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.manycore.own_cores import own_cores
        from profet_lab.manycore.report import manycore_report, write_manycore_report
    with validation_progress() as progress:
        report = manycore_report(own_cores(progress=progress))
    if options.card:
        write_manycore_report(report, models_folder(options.models))
    if options.format == "json":
        print_json(asdict(report))
    else:
        print_report(report)


def print_report(report: ManycoreAccuracy) -> None:
    """The published predictions beside ours, (a) against (b), and this machine's cores."""
    _print_predictions(report)
    _print_models(report)
    print_own_cores(report.own_cores)


def _print_predictions(report: ManycoreAccuracy) -> None:
    print("Published predictions of model (a), minutes.\n")
    print_table(
        ("network", "threads", "published", "(a)", "same digits"),
        [
            (
                row.network,
                f"{row.threads:,}",
                f"{row.published_min:.1f}",
                f"{row.a_min:.3f}",
                "yes" if row.same_digits else "no",
            )
            for row in report.predictions
        ],
    )


def _print_models(report: ManycoreAccuracy) -> None:
    print("\nBoth models, minutes.\n")
    print_table(
        ("network", "threads", "(a)", "(b)", "(a) longer by %", "(a) speed-up", "(b) speed-up"),
        [
            (
                row.network,
                f"{row.threads:,}",
                f"{row.a_min:,.1f}",
                f"{row.b_min:,.1f}",
                f"{row.apart_percent:+.1f}",
                f"{row.speedup_a:.1f}",
                f"{row.speedup_b:.1f}",
            )
            for row in report.models
        ],
    )
    print()
    for name in PUBLISHED:
        measured, beyond = (report.mean_apart_percent(name, extrapolated=beyond) for beyond in (False, True))
        print(f"{name}: {measured:.1f}% apart on average up to 240 threads, {beyond:.1f}% above")
    errors, speedup = PUBLISHED_ERROR_PERCENT, report.speedup
    print(
        f"\nPublished: (a) {errors['a']:g}% and (b) {errors['b']:g}% off measured trainings, which we don't "
        f"have.\nPublished speed-up of the {speedup.network} network with {speedup.threads} threads: "
        f"{speedup.published:.1f}; (a) {speedup.speedup_a:.1f}, (b) {speedup.speedup_b:.1f}"
    )


def print_own_cores(own: OwnCores) -> None:
    """One row a way and number of threads."""
    clock = "" if own.clock_mhz is None else f" at {own.clock_mhz:,.0f} MHz"
    print(f"\nThe small network trained on this machine's own cores: {own.processor}{clock}, {own.cores} cores.\n")
    print_table(
        ("way", "threads", "runs", "undisturbed", "measured s", "model (b) s", "off %", "speed-up", "model (b)"),
        [
            (
                way.way,
                str(row.threads),
                str(row.repeats),
                "yes" if row.undisturbed else "no",
                f"{row.measured_s:.3f}",
                f"{row.predicted_s:.3f}",
                f"{row.off_percent:+.1f}",
                f"{row.measured_speedup:.2f}",
                f"{row.predicted_speedup:.2f}",
            )
            for way in own.ways
            for row in way.rows
        ],
    )
    for way in own.ways:
        factor = "" if way.operation_factor is None else f"; operation factor {way.operation_factor:.2f} instead of 15"
        print(f"\n{way.way}: {way.library}, {way.training_us:.0f} µs to train on an image with one thread{factor}")
