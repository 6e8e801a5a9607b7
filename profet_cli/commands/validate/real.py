"""`profet validate --real DIR`: predicted against measured, on third-party profiles."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from profet_cli.inputs import open_models
from profet_cli.lab import open_measurements, training_set
from profet_cli.output import print_json, print_markdown

if TYPE_CHECKING:
    from profet_lab.measurements.real_index import RealIndex
    from profet_lab.validation.real_profiles import MeasuredTruth


def run(options: argparse.Namespace) -> None:
    """Compare and print, and with `--card` write the report and its section of the card beside the models."""
    with training_set():
        from profet_lab.cards.cards import real_section
        from profet_lab.measurements.real_index import read_index
        from profet_lab.validation.real_profiles import real_report
    index = read_index(options.real)
    models = open_models(options)
    report = real_report(models, index, _measured_latencies(options, index))
    if options.format == "json":
        print_json(report)
    else:
        print_markdown(real_section(report))
    if options.card:
        with training_set():
            from profet_lab.reports import write_real_report
        write_real_report(report, models)


def _measured_latencies(options: argparse.Namespace, index: RealIndex) -> MeasuredTruth | None:
    """Instance -> latency of a workload of the measurements; None where no entry names one."""
    if all(entry.measured is None for entry in index.profiles):
        return None
    with training_set():
        from profet_lab.validation.real_profiles import measured_latencies
    measurements, _ = open_measurements(options)
    return lambda workload: measured_latencies(measurements, workload)
