"""Train every member on all measurements, and write a models folder."""

from __future__ import annotations

import importlib.metadata
import io
import json
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import asdict
from tqdm import tqdm

from profet_core.ensemble.members import MEMBERS, Fitted, class_shares
from profet_core.ensemble.operations import FeatureSpec
from profet_core.files import sha256_hex
from profet_core.prediction.models import MANIFEST_NAME, SCHEMA_VERSION, STACK_CASES
from profet_core.prediction.scaler import AXIS_RANGE
from profet_lab.class_folds import WEIGHTS, distances, nearest_other, one_held_out, predict_cases, scale_of_folds
from profet_lab.class_members import RECIPES, STEPS, MemberModels, PairTraining, fit_member
from profet_lab.documented import EPOCHS, PROFET_METHOD, fit_folds, training_steps
from profet_lab.measurements.tables import ClassBank, Measurements, Pair, check_instances, class_bank, pairs
from profet_lab.models_folder import (
    boosted_stack,
    dense_stack,
    forest_stack,
    line_stack,
    network_stack,
    new_models_folder,
    signed,
    write_coefficients,
    write_fitted,
)
from profet_lab.sizes import FITTED_AT, fit_scaler, latency_curves, learned_scalers
from profet_lab.tasks import Progress, run_tasks
from profet_profiles.units import US_PER_MS

#: Stacks that `train_default` fits, for progress bars: finals of 4 cases and calibration folds of 2, per member.
STACKS = len(MEMBERS) * (4 + 2)


def train_default(
    bank: ClassBank, folder: Path, anchors: Sequence[str], seed: int, steps: int, progress: Progress
) -> dict:
    """Write the default method's files of the anchors' pairs below `folder`; returns what the manifest holds of them.

    All pairs' errors on held-out architectures give the intervals.
    """
    everything = np.ones(len(bank.architectures), bool)
    calibrated_on = pairs(bank.instances)
    wanted = [pair for pair in calibrated_on if pair[0] in anchors]
    stacks = []
    finals = list(product((True, False), (True, False), MEMBERS))
    tasks = [
        (bank, member, [PairTraining(*pair, everything, latency_known, sizes) for pair in wanted], seed, steps)
        for latency_known, sizes, member in finals
    ]
    fitted = run_tasks(fit_member, tasks, progress=progress, units=steps)
    for (latency_known, sizes_known, _), models in zip(finals, fitted, strict=True):
        case = STACK_CASES[latency_known, sizes_known]
        stacks += [_write_stack(models, wanted, anchor, case, folder) for anchor in anchors]
    references = [_write_reference(bank, anchor, folder) for anchor in anchors]
    intervals = {}
    cases = [one_held_out(bank.architectures, calibrated_on, latency_known) for latency_known in (True, False)]
    predicted = predict_cases(bank, cases, seed=seed, steps=steps, progress=progress)
    for latency_known, out_of_fold in zip((True, False), predicted, strict=True):
        nearest = {
            name: nearest_other(distances(bank, name, latency_known), bank.architectures) for name in bank.instances
        }
        scale = scale_of_folds(bank, out_of_fold, calibrated_on, list(out_of_fold.rows), nearest)
        intervals[STACK_CASES[latency_known, False]] = asdict(scale)
    rule = {"members": list(MEMBERS), "combine": "geometric mean", "weights": list(WEIGHTS)}
    return {
        "method": {"kind": "classes", **dict.fromkeys(intervals, rule)},
        "stacks": stacks,
        "intervals": intervals,
        "files": [row["file"] for row in stacks] + references,
    }


def _write_stack(models: MemberModels, wanted: Sequence[Pair], anchor: str, case: str, folder: Path) -> dict:
    """Write an anchor's models of one member and case; returns the manifest's row."""
    chosen = [number for number, pair in enumerate(wanted) if pair[0] == anchor]
    if models.trees:
        fitted: Fitted = boosted_stack([models.trees[number] for number in chosen])
    else:
        kernels, biases = ([values[chosen] for values in part] for part in (models.kernels, models.biases))
        fitted = network_stack(kernels, biases, RECIPES[models.member].activation)
    name = write_fitted(fitted, folder, anchor, f"{models.member.replace(' ', '_')}_{case}")
    return {
        "anchor": anchor,
        "member": models.member,
        "case": case,
        "file": name,
        "targets": [wanted[number][1] for number in chosen],
        "constants": models.constants[chosen, 0].round(6).tolist(),
        "typical_log_ratio": models.typical_log_ratio[chosen].round(6).tolist(),
    }


def _write_reference(bank: ClassBank, anchor: str, folder: Path) -> str:
    """Where the training profiles lie: the first repeat of each workload."""
    first = bank.repeats == bank.repeats.min()
    shares = class_shares(bank.inputs[anchor, True].classes_ms[first], bank.device_classes)
    data = io.BytesIO()
    np.save(data, shares.astype(np.float32), allow_pickle=False)
    name = f"{anchor}/reference.npy"
    (folder / name).write_bytes(data.getvalue())
    return name


class Length(NamedTuple):
    """Epochs of the documented method's networks, and steps of the default method's."""

    epochs: int = EPOCHS
    steps: int = STEPS


SEED = 0
FULL_LENGTH = Length()
PUBLISHED = "PROFET measurements, github.com/ddps-lab/profet (MIT)"

_VERSIONED = ("tensorflow", "keras", "scikit-learn", "lightgbm", "numpy", "rapidfuzz", "scipy")


def train(
    measurements: Measurements,
    out: Path,
    *,
    anchors: Sequence[str] | None = None,
    coefficients: Mapping[str, Mapping] | None = None,
    seed: int = SEED,
    length: Length = FULL_LENGTH,
) -> dict:
    """Fit all members of the pairs from `anchors` (all if None) and write them to `out`; returns the manifest.

    The folder is written beside `out` first and put in its place when complete, so that a run that is interrupted
    leaves the old models as they were.

    Parameters
    ----------
    coefficients : file name -> signed content (`transfer.json`, `memory.json`), written beside the members.
    """
    check_instances(measurements, anchors or ())
    chosen = [name for name in measurements.instances if anchors is None or name in anchors]
    total = training_steps(len(measurements.workloads), length.epochs) + STACKS * length.steps
    with new_models_folder(out) as folder, tqdm(total=total, desc="train", unit="step", disable=None) as bar:
        members, features = _train_documented(measurements, folder, chosen, seed, length.epochs, bar.update)
        default = train_default(class_bank(measurements), folder, chosen, seed, length.steps, bar.update)
        for name, content in (coefficients or {}).items():
            write_coefficients(content, folder / name)
        content = {
            "schema_version": SCHEMA_VERSION,
            "seed": seed,
            "versions": {"python": platform.python_version(), **{name: _version(name) for name in _VERSIONED}},
            "training_data": {
                "source": PUBLISHED,
                "sha256": measurements.sha256,
                "rows_per_instance": len(measurements.workloads),
                "architectures": sorted(set(measurements.architectures)),
            },
            "features": {
                "clusters": [list(cluster) for cluster in features.clusters],
                "host_operations": list(features.host_operations),
                "near": features.near,
                "order": list(features.names),
            },
            "instances": {name: _training_range(measurements, name) for name in measurements.instances},
            "methods": {"profet": PROFET_METHOD, "classes": default["method"]},
            "default_method": "classes",
            "members": members,
            "stacks": default["stacks"],
            "intervals": default["intervals"],
            "scalers": _scaler_rows(measurements),
            "scaler_curves": learned_scalers(measurements),
            "coefficients": sorted(coefficients or ()),
            "files": {
                name: sha256_hex((folder / name).read_bytes())
                for name in (*(row["file"] for row in members), *default["files"])
            },
        }
        manifest = write_manifest(content, folder)
    return manifest


def _train_documented(
    measurements: Measurements, folder: Path, anchors: Sequence[str], seed: int, epochs: int, progress: Progress
) -> tuple[list[dict], FeatureSpec]:
    """Fit and write the documented members, a file for all targets of an anchor; the manifest's rows and features."""
    wanted = [(*pair, frozenset[str]()) for pair in pairs(measurements.instances) if pair[0] in anchors]
    fitted = fit_folds(measurements, wanted, seed=seed, epochs=epochs, progress=progress)
    rows = []
    for anchor in anchors:
        own = [members for members in fitted if members.anchor == anchor]
        stacks: dict[str, tuple[str, Fitted]] = {
            "line": ("latency_ms", line_stack([members.line for members in own])),
            "forest": ("clusters", forest_stack([members.forest for members in own])),
            "dense": ("clusters", dense_stack([members.dense for members in own])),
        }
        targets = [members.target for members in own]
        for member, (kind, stack) in stacks.items():
            name = write_fitted(stack, folder, anchor, member)
            rows.append({"anchor": anchor, "member": member, "input": kind, "file": name, "targets": targets})
    return rows, fitted[0].features


def write_manifest(content: Mapping, folder: Path) -> dict:
    """Sign the content and write it as the manifest of `folder`; returns it."""
    manifest = signed(content)
    (folder / MANIFEST_NAME).write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def _version(distribution: str) -> str:
    for name in (distribution, f"{distribution}-cpu"):
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
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
