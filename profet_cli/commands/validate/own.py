"""`profet validate` on your own measurements."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profet_cli.lab import training_set, validation_progress
from profet_cli.output import MISSING, print_json, print_table
from profet_core.artifacts.models import load_models
from profet_core.catalog import load_gpus
from profet_core.catalog.own_gpus import own_gpus_path, read_own_gpus
from profet_core.files import shipped_folder
from profet_core.transfer.own_gpu import with_own_gpus

if TYPE_CHECKING:
    from profet_core.catalog import Gpus
    from profet_core.transfer.model import TransferModel
    from profet_lab.datasets.dataset import Dataset

_CASES = {"with_latency": "given", "without_latency": "not given"}


def own_question(options: argparse.Namespace) -> tuple[Dataset, TransferModel | None, Gpus] | None:
    """Measurements of a machine that the models were not trained on, the models' transfer, and GPUs with specs."""
    folders = [Path(one) for one in options.data or ()]
    with training_set():
        from profet_lab.own_gpus.given_data import is_own_data, read_data
    if not is_own_data(folders):
        return None
    dataset, gpus = read_data(folders), load_gpus()
    own = read_own_gpus(own_gpus_path(), gpus)
    transfer = load_models(options.models or shipped_folder("models")).transfer
    if len(folders) == 1 and set(dataset.instances) <= set(() if transfer is None else transfer.instances):
        return None
    return dataset, transfer and with_own_gpus(transfer, own), gpus.with_own(one.gpu for one in own)


def run(options: argparse.Namespace, dataset: Dataset, transfer: TransferModel | None, gpus: Gpus) -> None:
    """Judge and print."""
    with training_set():
        from profet_lab.validation.own_report import own_report
    with validation_progress() as progress:
        report = own_report(dataset, transfer, gpus, seed=options.seed, progress=progress)
    if options.format == "json":
        print_json(report)
    else:
        print_report(report)


def print_report(report: Mapping[str, Any]) -> None:
    """A table of machines, one of pairs, and a line for each pair that can't be judged."""
    machines = [
        (one["instance"], one["gpu"] or MISSING, str(one["workloads"]), _number(one["noise_percent"]))
        for one in report["instances"]
    ]
    print_table(("machine", "GPU", "workloads", "runs differ by %"), machines)
    print("\nError on held-out networks, percent; 90% intervals: missed, and half-width\n")
    header = ("anchor", "target", "workloads", "networks", "anchor's latency", "error", "missed", "half-width")
    print_table(header, _rows(report))
    for one in report["without"]:
        pair = " to ".join(name for name in (one["anchor"], one["target"]) if name)
        print(f"{pair}: not judged: {one['why']}")


def _rows(report: Mapping[str, Any]) -> Iterable[tuple[str, ...]]:
    for pair in report["pairs"]:
        for case, said in _CASES.items():
            figures = pair["models"][case]
            yield (
                pair["anchor"],
                pair["target"],
                str(pair["workloads"]),
                str(figures["networks"]),
                said,
                *(_number(figures[name]) for name in ("mape", "missed_90", "median_interval_pct")),
            )


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1f}"
