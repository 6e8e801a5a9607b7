"""Makes sample_traces/ from the measurements: `python -m profet_lab.samples [DATA]`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.answers import combine
from profet_core.catalog import load_catalog
from profet_core.samples import INDEX_NAME
from profet_lab.data import Measurements, data_folder, load_measurements, load_parameters
from profet_lab.folds import FittedFold, Fold, fit_folds
from profet_lab.train import PROFET_METHOD, SEED


@dataclass(frozen=True)
class Choice:
    """A workload of the data worth showing."""

    anchor: str
    model: str
    pixels: int
    batch_size: int
    why: str


CHOICES = (
    Choice("g4dn.xlarge", "ResNet50", 128, 64, "a mid-size network on the one of the four that can still be rented"),
    Choice("g4dn.xlarge", "ResNet50", 128, 16, "one end of a batch-size pair: fill Scale with it and batch 256"),
    Choice("g4dn.xlarge", "ResNet50", 128, 256, "the other end of the batch-size pair"),
    Choice("g4dn.xlarge", "ResNet18", 32, 64, "one end of a pixel-size pair: fill Scale with it and 256 pixels"),
    Choice("g4dn.xlarge", "ResNet18", 256, 64, "the other end of the pixel-size pair"),
    Choice("g3s.xlarge", "VGG16", 224, 16, "a large plain network; its siblings VGG11, 13 and 19 make it an easy case"),
    Choice("g3s.xlarge", "LeNet5", 32, 16, "a tiny network whose step is bound by launches, not by the GPU"),
    Choice("p2.xlarge", "MobileNetV2", 224, 32, "the only network with depthwise convolutions: a hard case"),
    Choice("p2.xlarge", "AlexNet", 64, 128, "few layers, many parameters"),
    Choice("p3.2xlarge", "InceptionV3", 224, 32, "a network of many small convolutions"),
    Choice(
        "p3.2xlarge", "InceptionResNetV2", 128, 32, "the deepest network of the data, and where predictions are worst"
    ),
)


def make_samples(measurements: Measurements, parameters: pd.Series, out: Path) -> list[dict]:
    """Write every trace of `CHOICES` and the index to `out`; returns the index.

    Parameters
    ----------
    parameters : number of parameters by (model, pixels).
    """
    folds = [
        Fold(choice.anchor, target, frozenset({choice.model}))
        for choice in CHOICES
        for target in measurements.instances
        if target != choice.anchor
    ]
    unique = list(dict.fromkeys(folds))
    fitted = {one.fold: one for one in fit_folds(measurements, unique, seed=SEED)}
    out.mkdir(exist_ok=True)
    for stale in out.glob("*.json"):
        stale.unlink()
    index = []
    for choice in CHOICES:
        trace, row = _sample(measurements, choice, fitted, int(parameters[choice.model, choice.pixels]))
        (out / f"{row['name']}.json").write_text(json.dumps(trace, indent=1) + "\n")
        index.append(row)
    (out / INDEX_NAME).write_text(json.dumps(index, indent=1) + "\n")
    return index


def _sample(
    measurements: Measurements, choice: Choice, fitted: dict[Fold, FittedFold], parameters: int
) -> tuple[dict, dict]:
    table = measurements.workloads
    rows = (
        (table["model"] == choice.model)
        & (table["pixels"] == choice.pixels)
        & (table["batch_size"] == choice.batch_size)
    )
    times_us = np.median(measurements.times_us[choice.anchor][rows], axis=0)
    medians = {name: float(np.median(latency[rows])) for name, latency in measurements.latency_ms.items()}
    latency_ms = round(medians[choice.anchor], 3)
    others = [name for name in measurements.instances if name != choice.anchor]
    said = {
        target: fitted[Fold(choice.anchor, target, frozenset({choice.model}))].predict(
            measurements.operations, times_us[None, :], np.array([latency_ms])
        )
        for target in others
    }
    trace = {
        "operations": {
            name: round(float(value), 3)
            for name, value in zip(measurements.operations, times_us, strict=True)
            if value > 0
        },
        "meta": {
            "gpu": load_catalog()[choice.anchor].gpu,
            "framework": "TensorFlow 2.5",
            "precision": "fp32",
            "batch_size": choice.batch_size,
            "pixels": choice.pixels,
            "parameters": parameters,
            "step_latency_ms": latency_ms,
        },
    }
    short = choice.anchor.split(".")[0]
    row = {
        "name": f"{choice.model.lower()}-{choice.pixels}px-b{choice.batch_size}-{short}",
        "title": f"{choice.model}, {choice.pixels} pixels, batch {choice.batch_size}, on {choice.anchor}",
        "description": choice.why,
        "anchor": choice.anchor,
        "model": choice.model,
        "batch_size": choice.batch_size,
        "pixels": choice.pixels,
        "latency_ms": latency_ms,
        "measured_ms": {target: round(medians[target], 3) for target in others},
        "left_out_ms": {target: _join(said[target], "with_latency") for target in others},
        "left_out_without_latency_ms": {target: _join(said[target], "without_latency") for target in others},
    }
    return trace, row


def _join(said: dict[str, np.ndarray], case: str) -> float:
    rule = PROFET_METHOD[case]
    answers = np.column_stack([said[member] for member in rule["members"]])
    return round(float(combine(answers, rule["combine"])[0]), 3)


def main() -> None:
    """Make the shipped folder."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    for row in make_samples(load_measurements(folder), load_parameters(folder), Path("sample_traces")):
        print(row["title"], row["measured_ms"], row["left_out_ms"])


if __name__ == "__main__":
    main()
