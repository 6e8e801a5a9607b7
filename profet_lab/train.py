"""Trains every member on all measurements and writes a models folder."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from tqdm import tqdm

from profet_core.artifacts.models import MANIFEST_NAME, SCHEMA_VERSION
from profet_core.ensemble.fitted import Fitted
from profet_core.features.operations import FeatureSpec
from profet_core.files import sha256_hex
from profet_core.sizes.axes import AXIS_RANGE
from profet_core.units import US_PER_MS
from profet_lab.classes.bank import class_bank
from profet_lab.classes.default_method import STACKS, train_default
from profet_lab.classes.fit_networks import STEPS
from profet_lab.coefficient_files import signed, write_coefficients
from profet_lab.documented.dense import EPOCHS, training_steps
from profet_lab.documented.folds import PROFET_METHOD, DocumentedFold, fit_folds
from profet_lab.export import dense_stack, forest_stack, line_stack, write_fitted
from profet_lab.measurements.tables import Measurements, check_instances, pairs
from profet_lab.models_folder import new_models_folder
from profet_lab.progress import Progress
from profet_lab.scalers.documented import FITTED_AT, fit_scaler, latency_curves
from profet_lab.scalers.learned import learned_scalers

SEED = 0
#: Of a set of models without the documented ensemble.
NO_FEATURES = FeatureSpec(clusters=(), host_operations=(), near=0.0)
PUBLISHED = "PROFET measurements, github.com/ddps-lab/profet (MIT)"

_VERSIONED = (
    "tensorflow",
    "keras",
    "scikit-learn",
    "lightgbm",
    "numpy",
    "rapidfuzz",
    "scipy",
)


def train(
    measurements: Measurements,
    out: Path,
    *,
    anchors: Sequence[str] | None = None,
    coefficients: Mapping[str, Mapping] | None = None,
    seed: int = SEED,
    epochs: int = EPOCHS,
    steps: int = STEPS,
    quiet: bool = False,
    source: str = PUBLISHED,
) -> dict:
    """Fit all members of the pairs from `anchors` (all if None) and write them to `out`; returns the manifest.

    The folder is written beside `out` first and put in its place when complete, so that a run that is interrupted
    leaves the old models as they were.

    Parameters
    ----------
    coefficients : file name -> signed content (`transfer.json`, `memory.json`), written beside the members.
    source : where the measurements are from, in words.
    """
    check_instances(measurements, anchors or ())
    chosen = [name for name in measurements.instances if anchors is None or name in anchors]
    total = training_steps(len(measurements.workloads), epochs) + STACKS * steps
    with (
        new_models_folder(out) as folder,
        tqdm(total=total, desc="train", unit="step", disable=True if quiet else None) as bar,
    ):
        members, features = _train_documented(measurements, folder, chosen, seed, epochs, bar.update)
        default = train_default(
            class_bank(measurements),
            folder,
            [pair for pair in pairs(measurements.instances) if pair[0] in chosen],
            calibrated_on=pairs(measurements.instances),
            seed=seed,
            steps=steps,
            progress=bar.update,
        )
        for name, content in (coefficients or {}).items():
            write_coefficients(content, folder / name)
        content = {
            **manifest_of_default(measurements, default, folder, seed=seed, source=source),
            "features": _features(features),
            "members": members,
            "scalers": _scaler_rows(measurements),
            "scaler_curves": learned_scalers(measurements),
            "methods": {"profet": PROFET_METHOD, "classes": default["method"]},
            "coefficients": sorted(coefficients or ()),
        }
        content["files"] = hashes(folder, [*(row["file"] for row in members), *default["files"]])
        manifest = write_manifest(content, folder)
    return manifest


def _train_documented(
    measurements: Measurements, folder: Path, anchors: Sequence[str], seed: int, epochs: int, progress: Progress
) -> tuple[list[dict], FeatureSpec]:
    """Fit and write the documented members, a file for all targets of an anchor; the manifest's rows and features."""
    wanted = [DocumentedFold(*pair, frozenset()) for pair in pairs(measurements.instances) if pair[0] in anchors]
    fitted = fit_folds(measurements, wanted, seed=seed, epochs=epochs, progress=progress)
    rows = []
    for anchor in anchors:
        own = [one for one in fitted if one.fold.anchor == anchor]
        stacks: dict[str, tuple[str, Fitted]] = {
            "line": ("latency_ms", line_stack([one.line for one in own])),
            "forest": ("clusters", forest_stack([one.forest for one in own])),
            "dense": ("clusters", dense_stack([one.dense for one in own])),
        }
        targets = [one.fold.target for one in own]
        for member, (kind, stack) in stacks.items():
            name = write_fitted(stack, folder, anchor, member)
            rows.append({"anchor": anchor, "member": member, "input": kind, "file": name, "targets": targets})
    return rows, fitted[0].features


def manifest_of_default(measurements: Measurements, default: Mapping, folder: Path, *, seed: int, source: str) -> dict:
    """What a manifest holds, unsigned, of a set of models that has the default method alone.

    Parameters
    ----------
    default : what `train_default` returned.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "seed": seed,
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in _VERSIONED},
        },
        "training_data": {
            "source": source,
            "sha256": measurements.sha256,
            "rows_per_instance": len(measurements.workloads),
            "architectures": sorted(set(measurements.architectures)),
        },
        "features": _features(NO_FEATURES),
        "instances": {name: _training_range(measurements, name) for name in measurements.instances},
        "methods": {"classes": default["method"]},
        "default_method": "classes",
        "members": [],
        "stacks": default["stacks"],
        "intervals": default["intervals"],
        "scalers": [],
        "scaler_curves": [],
        "coefficients": [],
        "files": hashes(folder, default["files"]),
    }


def _features(features: FeatureSpec) -> dict:
    return {
        "clusters": [list(cluster.operations) for cluster in features.clusters],
        "host_operations": list(features.host_operations),
        "near": features.near,
        "order": list(features.names),
    }


def hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of files in `folder`."""
    return {name: sha256_hex((folder / name).read_bytes()) for name in names}


def write_manifest(content: Mapping, folder: Path) -> dict:
    """Sign the content and write it as the manifest of `folder`; returns it."""
    manifest = signed(content)
    (folder / MANIFEST_NAME).write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def _version(distribution: str) -> str:
    candidates = (distribution, f"{distribution}-cpu")
    for name in candidates:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


def _training_range(measurements: Measurements, instance: str) -> dict:
    latency_ms = measurements.latency_ms[instance]
    device_us = measurements.device_total_us(instance)
    ratio = latency_ms * US_PER_MS / device_us
    return {
        "latency_ms": [float(latency_ms.min()), float(latency_ms.max())],
        "device_total_us": [float(device_us.min()), float(device_us.max())],
        "latency_per_device_total": [float(ratio.min()), float(ratio.max())],
        "median_latency_per_device_total": float(np.median(ratio)),
    }


def _scaler_rows(measurements: Measurements) -> list[dict]:
    """One an instance and axis that workloads `fit_scaler` fits on were measured along."""
    rows = []
    for instance, axis in product(measurements.instances, AXIS_RANGE):
        curves = latency_curves(measurements, instance, axis)
        if FITTED_AT[axis] in curves.index.get_level_values(1):
            fitted = fit_scaler(curves, instance, axis)
            coefficients = [fitted.intercept, fitted.linear, fitted.quadratic]
            rows.append({"instance": instance, "axis": axis, "coefficients": coefficients})
    return rows
