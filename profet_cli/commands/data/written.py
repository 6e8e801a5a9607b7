"""What the actions of `profet data` that write a folder say of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from profet_cli.output import print_json

if TYPE_CHECKING:
    from profet_lab.datasets.dataset import Dataset


def print_written(dataset: Dataset, out: Path, format_: str) -> None:
    """Print one line or a document."""
    counts = {
        "cells": len(dataset.cells),
        "profiled": len(dataset.profiled),
        "operations": len(dataset.operations),
    }
    if format_ == "json":
        sources = [asdict(source) for source in dataset.sources]
        print_json({"out": str(out), **counts, "instances": sorted(dataset.instances), "sources": sources})
    else:
        print(
            f"{out}: {counts['cells']:,} cells of {', '.join(sorted(dataset.instances))}; {counts['profiled']:,} with "
            f"a profile, {counts['operations']:,} times of operations"
        )
