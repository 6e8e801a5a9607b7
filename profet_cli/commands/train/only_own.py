"""Train models between your own machines only."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.commands.train.prices import still_to_price
from profet_cli.commands.train.trained import Trained
from profet_cli.lab import training_set
from profet_core.documents.records import Document

if TYPE_CHECKING:
    from profet_lab.datasets.dataset import Dataset


def train_only_own(options: argparse.Namespace, dataset: Dataset, out: Path) -> Trained:
    """A whole models folder."""
    with training_set():
        from profet_lab.own_gpus.common_workloads import common_workloads
        from profet_lab.scalers.growth_file import GROWTH_NAME, growth_content, measured_sizes
        from profet_lab.train import train
    common = common_workloads(dataset)
    measurements = common.measurements
    growth = {GROWTH_NAME: growth_content(measurements)} if measured_sizes(measurements) else {}
    source = ", ".join(one.name for one in dataset.sources)
    manifest = train(measurements, out, coefficients=growth, seed=options.seed, source=source)
    networks = sorted(set(measurements.architectures))
    document: Document = {
        "out": str(out),
        "instances": list(measurements.instances),
        "framework": common.framework,
        "precision": common.precision,
        "workloads": len(measurements.workloads.drop_duplicates(["model", "pixels", "batch_size"])),
        "networks": networks,
        "members": sum(len(row["targets"]) for row in manifest["members"]),
        "without": [{"instance": one.instance, "why": one.why} for one in common.without],
    }
    lines = (
        f"models between {', '.join(measurements.instances)}, of {document['workloads']} workloads of {len(networks)} "
        f"networks in {common.framework or 'an unknown framework'}, {common.precision}",
        *still_to_price(measurements.instances, dataset),
        *(f"{one.instance}: no models: {one.why}" for one in common.without),
        f"written to {out}",
    )
    return Trained(document, lines)
