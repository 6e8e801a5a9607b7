"""What Keras and TensorFlow do here, as one JSON: `python in_keras.py`; one process, since each starts for seconds."""

from __future__ import annotations

import gc
import json
import math
import sys

import keras
import numpy as np
import torch

from profet_collect import in_keras, in_pytorch
from profet_collect.cell import CellTask, measure_here
from profet_collect.networks import MEASURED, NEWER, network_graph
from profet_collect.store import Cell

#: Odd sizes, so that what is padded before and after differs.
SAME_SIZES = (("ResNetSmall", 33), ("ResNet18", 45), ("ResNeXt-50 32x4d", 64))


def parameter_sizes() -> list[tuple[str, int]]:
    """Networks and pixels, without the deepest: it takes as long as all others and has no layer that they lack."""
    names = [name for name in [*MEASURED, *NEWER] if name != "InceptionResNetV2"]
    sizes = [(name, 128 if name.startswith("Inception") else 64) for name in names]
    return [*sizes, ("LeNet5", 256), ("AlexNet", 256), ("VGG11", 224), ("RegNetY-800MF", 64)]


def parameters(name: str, pixels: int) -> list[int]:
    """All parameters, the trainable ones, and the classes. Each network is let go before the next: all take 15 GB."""
    keras.utils.clear_session()
    gc.collect()
    with keras.StatelessScope(initialize_variables=False):
        model = in_keras.build(network_graph(name, pixels))
    trainable = sum(math.prod(one.shape) for one in model.trainable_variables)
    return [model.count_params(), trainable, model.output_shape[1]]


def apart(name: str, pixels: int) -> list[float]:
    """Largest difference of the logits of both frameworks with the same weights, and the largest logit."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    graph = network_graph(name, pixels)
    theirs, ours = in_keras.build(graph), in_pytorch.build(graph).eval()
    _copy_weights(graph, theirs, ours)
    images = np.random.default_rng(0).random((2, pixels, pixels, 3), dtype=np.float32)
    first = theirs(images, training=False).numpy()
    second = ours(torch.from_numpy(images.transpose(0, 3, 1, 2).copy())).detach().numpy()
    return [float(abs(first - second).max()), float(abs(first).max())]


def _copy_weights(graph, theirs, ours) -> None:
    weights = {"convolution": _made(theirs, "Conv2D"), "dense": _made(theirs, "Dense")}
    with torch.no_grad():
        for node, module in zip(graph.nodes, ours.layers, strict=True):
            inner = module[1] if isinstance(module, torch.nn.Sequential) else module
            if node.kind in weights:
                kernel, *bias = weights[node.kind].pop(0).get_weights()
                order = (3, 2, 0, 1) if kernel.ndim == 4 else (1, 0)
                inner.weight.copy_(torch.from_numpy(kernel.transpose(order).copy()))
                for one in bias:
                    inner.bias.copy_(torch.from_numpy(one))
            elif node.kind == "batch normalization":
                inner.eps = 1e-3


def _made(model, kind: str) -> list:
    """Layers of a kind in the order in which they were made, which their names count."""
    found = [layer for layer in model.layers if type(layer).__name__ == kind]
    return sorted(found, key=lambda layer: int("0" + "".join(filter(str.isdigit, layer.name.removeprefix("conv2d")))))


def cell(precision: str, batch_size: int) -> dict:
    """A cell as its process measures it."""
    keras.utils.clear_session()
    asked = Cell("tensorflow", precision, "LeNet5", 32, batch_size)
    return measure_here(CellTask("tensorflow", asked, "cpu", warm_up=1, timed=2)).document()


def counted_cell(precision: str, batch_size: int) -> dict:
    """The same, and how many steps were trained."""
    models, build = [], in_keras.build
    in_keras.build = lambda graph: models.append(build(graph)) or models[-1]
    found = cell(precision, batch_size)
    in_keras.build = build
    return {**found, "steps": int(models[0].optimizer.iterations)}


if __name__ == "__main__":
    json.dump(
        {
            "parameters": [[*size, parameters(*size)] for size in parameter_sizes()],
            "apart": [[*size, *apart(*size)] for size in SAME_SIZES],
            "fp32": counted_cell("fp32", 4),
            "amp": cell("amp", 4),
            "too large": cell("fp32", 10**9),
        },
        sys.__stdout__,
    )
