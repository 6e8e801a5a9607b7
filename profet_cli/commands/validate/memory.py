"""`profet validate --memory`: prints how often "does it fit?" was answered rightly."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from profet_cli.lab import open_measurements, training_set
from profet_cli.output import print_json, print_table
from profet_core.files import default_models_folder
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer


def run(options: argparse.Namespace) -> None:
    """Leave each network out and print; with `--card` write the section of `--transfer`'s report and card."""
    with training_set():
        from profet_lab.reports import write_memory_report
        from profet_lab.validation.memory import memory_report
    folder = default_models_folder() if options.models is None else Path(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    written_for = (load_transfer(folder), load_memory(folder)) if options.card else None
    report = memory_report(*open_measurements(options))
    if written_for:
        write_memory_report(report, *written_for, folder)
    if options.format == "json":
        print_json(report)
    else:
        print_memory(report)


def print_memory(report: Mapping[str, Any]) -> None:
    """One row for what is known of the network."""
    with training_set():
        from profet_lab.validation.memory import memory_rows
    print("Memory fit, leave-one-architecture-out: workloads x GPUs (8, 12, 16 and 16 GiB) that ran.\n")
    print_table(*memory_rows(report))
