"""What Keras and TensorFlow do here, as one JSON: `python in_keras.py`; one process, since each starts for seconds."""

from __future__ import annotations

import gc
import json
import math
import sys

import keras

from profet_collect import in_keras
from profet_collect.cell import CellTask, measure_here
from profet_collect.networks import MEASURED, NEWER, classes_at, missing
from profet_collect.store import Cell


def parameter_sizes() -> list[tuple[str, int]]:
    """Networks and pixels, without the deepest: it takes as long as all others and has no layer that they lack."""
    names = [name for name in [*MEASURED, *NEWER] if name not in ("InceptionResNetV2", *missing("tensorflow"))]
    sizes = [(name, 128 if name.startswith("Inception") else 64) for name in names]
    return [*sizes, ("LeNet5", 256), ("AlexNet", 256), ("VGG11", 224)]


def parameters(name: str, pixels: int) -> list[int]:
    """All parameters, the trainable ones, and the classes. Each network is let go before the next: all take 15 GB."""
    keras.utils.clear_session()
    gc.collect()
    with keras.StatelessScope(initialize_variables=False):
        model = in_keras.build(name, pixels, classes_at(pixels))
    trainable = sum(math.prod(variable.shape) for variable in model.trainable_variables)
    return [model.count_params(), trainable, model.output_shape[1]]


def cell(precision: str, batch_size: int) -> dict:
    """A cell as its process measures it."""
    keras.utils.clear_session()
    asked = Cell("tensorflow", precision, "LeNet5", 32, batch_size)
    return measure_here(CellTask("tensorflow", asked, "cpu", warm_up=1, timed=2)).document()


def counted_cell(precision: str, batch_size: int) -> dict:
    """The same, and how many steps were trained."""
    models, build = [], in_keras.trained_model
    in_keras.trained_model = lambda *network: models.append(build(*network)) or models[-1]
    measured = cell(precision, batch_size)
    in_keras.trained_model = build
    return {**measured, "steps": int(models[0].optimizer.iterations)}


if __name__ == "__main__":
    json.dump(
        {
            "parameters": [[*size, parameters(*size)] for size in parameter_sizes()],
            "fp32": counted_cell("fp32", 4),
            "amp": cell("amp", 4),
            "too large": cell("fp32", 10**9),
        },
        sys.__stdout__,
    )
