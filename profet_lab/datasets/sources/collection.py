"""Folders that `profet collect` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from profet_core.catalog.gpus import load_gpus
from profet_core.collected.record import CELLS_NAME, MANIFEST_NAME, read_collection
from profet_core.errors import ProfetError
from profet_core.files import sha256_hex
from profet_lab.datasets.dataset import Dataset, InstanceFacts, Source
from profet_lab.datasets.sources.draft import LONGEST_NAME, dataset_of, known_gpu
from profet_lab.measurements.tables import DataError

_LONGEST_WHY, _LONGEST_FACT = 500, 1_500


def is_collection(folder: Path) -> bool:
    """Whether a folder holds finished cells."""
    return (folder / CELLS_NAME).is_file()


def read_store(folder: Path) -> Dataset:
    """Every finished cell, those too that ran out of memory or failed.

    Raises
    ------
    DataError : it is of another layout, or damaged.
    """
    try:
        collection = read_collection(folder)
        data = (folder / CELLS_NAME).read_bytes()
    except ProfetError as error:
        raise DataError(str(error)) from None
    except OSError as error:
        raise DataError(f"{folder} can't be read: {error.strerror}.") from None
    name = collection.manifest.get("instance")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise DataError(f"{folder / MANIFEST_NAME} names no instance: collect into another folder.")
    cells = []
    operations: list[tuple[int, str, float]] = []
    for number, result in enumerate(collection.results):
        ran = result.status == "ok"
        operations.extend((number, operation, us) for operation, us in (result.operations_us or {}).items())
        cells.append(
            {
                "cell": number,
                "instance": name,
                **asdict(result.cell),
                "framework_version": result.framework_version,
                # The first run of a collection is 0, as that of PROFET is 1.
                "repeat": result.cell.repeat + 1,
                "status": result.status,
                "why": _text(result.why)[:_LONGEST_WHY],
                "batch_latency_ms": result.batch_latency_ms if ran else None,
                "latency_repeats_ms": list(result.latency_repeats_ms) if ran else [],
                "peak_memory_bytes": result.peak_memory_bytes,
                "steps_profiled": result.steps if result.operations_us else None,
                "recorded_at": result.recorded_at,
            }
        )
    table = pd.DataFrame(operations, columns=["cell", "operation", "time_us"])
    hashes = {CELLS_NAME: sha256_hex(data), MANIFEST_NAME: sha256_hex((folder / MANIFEST_NAME).read_bytes())}
    facts = InstanceFacts(
        gpu=_gpu(collection.manifest, name),
        driver=_text(collection.manifest.get("driver")),
        host=_text(collection.manifest.get("host")),
    )
    return dataset_of(pd.DataFrame(cells), table, Source(name, "collection", hashes), {name: facts})


def _gpu(manifest: Mapping[str, Any], instance: str) -> str:
    """The catalog's full name of a GPU as a driver calls it; as it is called where the catalog has none."""
    name = _text(manifest.get("gpu"))
    if not name:
        return known_gpu(instance)
    if manifest.get("device") == "cpu":
        # A processor that stands in for a GPU.
        return name
    try:
        return load_gpus().find(name).name
    except ProfetError:
        return name


def _text(value: object) -> str:
    """A fact of the manifest as one line."""
    if isinstance(value, dict | list):
        value = json.dumps(value, sort_keys=True)
    line = "".join(sign if sign.isprintable() else " " for sign in str(value)) if value not in (None, "") else ""
    return " ".join(line.split())[:_LONGEST_FACT]
