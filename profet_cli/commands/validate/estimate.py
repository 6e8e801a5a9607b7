"""`profet validate --estimate`: accuracy without a profile."""

from __future__ import annotations

import argparse
from typing import Any

from profet_cli.lab import open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_table
from profet_core.estimate.model import load_estimate
from profet_core.files import models_folder
from profet_core.transfer.model import load_transfer


def run(options: argparse.Namespace) -> None:
    """Judge, print, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.estimate.published import published_report
        from profet_lab.estimate.report import estimate_report
        from profet_lab.reports import write_estimate_report
    folder = models_folder(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    model, transfer = load_estimate(folder), load_transfer(folder)
    measurements, data_folder = open_measurements(options)
    with validation_progress() as progress:
        report = estimate_report(measurements, data_folder, progress)
    report["published"] = published_report(model, transfer, data_folder)
    if options.card:
        report = write_estimate_report(report, model, folder)
    if options.format == "json":
        print_json(report)
    else:
        _print(report)


def _print(report: dict[str, Any]) -> None:
    print(
        f"Latency without a profile: {report['rows']} steps of {report['networks']} networks on four GPUs; each "
        "row holds out what it names, and chooses its method and interval without it.\n"
    )
    with training_set():
        from profet_lab.cards.estimate import memory_sentence, published_sentence, regime_table, sheet_sentence
    print_table(*regime_table(report))
    print(f"\n{sheet_sentence(report)}\n{memory_sentence(report)}\n{published_sentence(report)}")
