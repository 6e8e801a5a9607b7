"""`profet validate --PART`: a validation with a report and a card of its own, or a section of one."""

from __future__ import annotations

import argparse

from profet_cli.lab import open_measurements, training_set, validation_progress
from profet_cli.output import print_json, print_markdown
from profet_core.files import models_folder


def run(options: argparse.Namespace, name: str) -> None:
    """Judge and print the card, and with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.reports import PARTS, Task
    part, models = PARTS[name], models_folder(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    part.checksums(models)
    measurements, data = open_measurements(options)
    with validation_progress() as progress:
        report = part.make(Task(measurements, data, models, options.seed, progress))
    if options.card:
        report = part.write(report, models)
    if options.format == "json":
        print_json(report)
    else:
        print_markdown(part.text(part.dated(report, models), models))
