"""A made-up folder of your own: the shipped models, a GPU of which a few steps were measured, and its lists."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from profet_core.catalog.custom_gpus import GPU_COLUMNS
from profet_core.catalog.instance import FILE_COLUMNS
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.layers.rates import CALIBRATED_VERSION, KINDS, UserEffects, calibrated_content, load_rates
from profet_core.prediction.models import CALIBRATED_NAME

#: Not among the shipped specs; its costs are those of its peaks.
GPU, INSTANCE, CELLS, LOG_SD = "Quadro RTX 4000", "desk.q5000", 20, 0.1
#: Has specs, and published steps.
FP32_GPU = "A40"
_OFFER = {"usd_per_hour": "0.07", "region": "any", "os": "linux", "market": "on-demand", "as_of": "2026-11-21"}


def measured(gpu: str, instance: str) -> UserEffects:
    """Twenty cells of nine networks."""
    return UserEffects(np.zeros(len(KINDS)), LOG_SD, CELLS, gpu, 0.0, instance=instance, networks=9)


def make_custom_home(folder: Path) -> Path:
    """Write it."""
    models = shipped_folder("models")
    shutil.copytree(models, folder, dirs_exist_ok=True)
    write_calibrated(folder, [measured(GPU, INSTANCE), measured(FP32_GPU, "desk.a40")])
    _write_row(folder / "gpus.csv", GPU_COLUMNS, {"gpu": GPU, "like": "GeForce RTX 2080 Ti", "memory_gib": "16"})
    own = {"instance": INSTANCE, "gpu": GPU, "gpu_memory_gib": "16", "source": "mine", **_OFFER}
    _write_row(folder / "instances.csv", FILE_COLUMNS, own)
    return folder


def write_calibrated(folder: Path, gpus: list[UserEffects]) -> None:
    """Put what was measured of GPUs beside the folder's rates."""
    content = {
        "schema_version": CALIBRATED_VERSION,
        "rates_checksum": load_rates(folder).checksum,
        "gpus": [calibrated_content(gpu) for gpu in gpus],
        "fitted_on": {},
    }
    (folder / CALIBRATED_NAME).write_text(json.dumps({**content, "checksum": manifest_checksum(content)}))


def _write_row(path: Path, columns: tuple[str, ...], row: dict[str, str]) -> None:
    lines = columns, [row.get(column, "") for column in columns]
    path.write_text("".join(f"{','.join(line)}\n" for line in lines))
