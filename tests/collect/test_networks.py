"""Networks that train have the parameters that are counted, in both frameworks; no weight is made for it."""

from __future__ import annotations

import csv
import subprocess
import sys

import pytest

from profet_collect.grid import NEWER
from profet_collect.networks.graph import Graph, Node, network_graph
from profet_core.errors import InputError
from profet_core.layers.networks import counts_of, layers_of, measured_networks, named_networks
from profet_lab.measurements.tables import data_folder

KERAS = """
import json, keras, math, sys
from profet_collect.networks.graph import network_graph
from profet_collect.networks.keras import build
found = []
for name, pixels in json.loads(sys.argv[1]):
    with keras.StatelessScope(initialize_variables=False):
        model = build(network_graph(name, pixels))
    trainable = sum(math.prod(one.shape) for one in model.trainable_variables)
    found.append([model.count_params(), trainable, model.output_shape[1]])
print("FOUND", json.dumps(found))
"""


SAME = """
import json, sys
import keras, numpy as np, torch
from profet_collect.networks import keras as in_keras, pytorch as in_pytorch
from profet_collect.networks.graph import network_graph

def made(model, kind):
    # Layers of a kind in the order in which they were made, which their names count.
    found = [layer for layer in model.layers if type(layer).__name__ == kind]
    return sorted(found, key=lambda layer: int("0" + "".join(filter(str.isdigit, layer.name.removeprefix("conv2d")))))

found = []
for name, pixels in json.loads(sys.argv[1]):
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    graph = network_graph(name, pixels)
    theirs, ours = in_keras.build(graph), in_pytorch.build(graph).eval()
    weights = {"convolution": made(theirs, "Conv2D"), "dense": made(theirs, "Dense")}
    with torch.no_grad():
        for node, module in zip(graph.nodes, ours.layers, strict=True):
            inner = module[1] if isinstance(module, torch.nn.Sequential) else module
            if node.kind in weights:
                kernel, *bias = weights[node.kind].pop(0).get_weights()
                order = (3, 2, 0, 1) if kernel.ndim == 4 else (1, 0)
                inner.weight.copy_(torch.from_numpy(kernel.transpose(order).copy()))
                for one in bias:
                    inner.bias.copy_(torch.from_numpy(one))
            elif node.kind == "batch normalisation":
                inner.eps = 1e-3
    images = np.random.default_rng(0).random((2, pixels, pixels, 3), dtype=np.float32)
    first = theirs(images, training=False).numpy()
    second = ours(torch.from_numpy(images.transpose(0, 3, 1, 2).copy())).detach().numpy()
    found.append([float(abs(first - second).max()), float(abs(first).max())])
print("FOUND", json.dumps(found))
"""


@pytest.fixture(scope="module")
def architectures() -> list[dict[str, str]]:
    try:
        path = data_folder(None) / "architectures.csv"
    except Exception as error:
        pytest.skip(str(error))
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("name", named_networks())
def test_the_graph_holds_the_layers_that_are_counted(name):
    assert network_graph(name, 224).layers == layers_of(name, 224)


@pytest.mark.data
def test_pytorch_has_the_parameters_of_all_71_measured_architectures(architectures):
    torch = pytest.importorskip("torch")
    from profet_collect.networks.pytorch import build, parameter_count

    assert len(architectures) == 71
    with torch.device("meta"):
        for row in architectures:
            network = build(network_graph(row["model"], int(row["pixels"])))
            trainable = sum(one.numel() for one in network.parameters())
            assert [parameter_count(network), trainable] == [int(row["parameters"]), int(row["trainable"])], row


@pytest.mark.parametrize("name", [*NEWER, "InceptionResNetV2", "MobileNetV2", "ShuffleNetV2-x1.0", "SqueezeNet 1.0"])
def test_pytorch_trains_what_is_described(name):
    torch = pytest.importorskip("torch")
    from profet_collect.networks.pytorch import build, parameter_count

    with torch.device("meta"):
        network = build(network_graph(name, 128))
        logits = network(torch.empty(2, 3, 128, 128))
    assert parameter_count(network) == counts_of(name, 128).parameters
    assert logits.shape == (2, 100) and logits.requires_grad


def test_both_frameworks_compute_the_same_of_the_same_weights(repository):
    """Odd sizes, so that what is padded before and after differs."""
    import json

    pytest.importorskip("torch")
    sizes = [("ResNetSmall", 33), ("ResNet18", 45), ("SqueezeNet 1.0", 64)]
    done = subprocess.run(
        [sys.executable, "-c", SAME, json.dumps(sizes)],
        cwd=repository, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.rpartition("FOUND")[2])
    assert len(found) == len(sizes)
    for (name, pixels), (apart, largest) in zip(sizes, found, strict=True):
        assert largest > 1e-6 and apart < 1e-4 * largest, (name, pixels)


def test_keras_has_the_parameters_of_the_measured_and_the_newer(repository):
    import json

    # Without the deepest, which takes as long as all others and has no layer that they lack.
    names = [name for name in [*measured_networks(), *NEWER] if name != "InceptionResNetV2"]
    sizes = [(name, 128 if name.startswith("Inception") else 64) for name in names]
    sizes = [*sizes, ("LeNet5", 256), ("AlexNet", 256), ("VGG11", 224), ("ShuffleNetV2-x1.0", 64)]
    done = subprocess.run(
        [sys.executable, "-c", KERAS, json.dumps(sizes)],
        cwd=repository, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    for (name, pixels), found in zip(sizes, json.loads(done.stdout.rpartition("FOUND")[2]), strict=True):
        counts = counts_of(name, pixels)
        assert found == [counts.parameters, counts.trainable_parameters, counts.classes], (name, pixels)


def test_a_kind_of_layer_that_cannot_be_built_is_named():
    pytest.importorskip("torch")
    from profet_collect.networks.pytorch import build

    nodes = (Node("input", (), (8, 8, 3)), Node("fractal pooling", (0,), (8, 8, 3)))
    with pytest.raises(InputError, match="'fractal pooling' can't be built in PyTorch"):
        build(Graph("odd", 8, 10, nodes, ()))


def test_an_activation_writes_over_its_input_only_where_nobody_else_reads_it():
    pytest.importorskip("torch")
    from profet_collect.networks.pytorch import build

    # Of a residual network normalised before its convolutions (v2), sums go on beside their normalisation.
    network = build(network_graph("DenseNet-121", 32))
    graph = network_graph("DenseNet-121", 32)
    readers = [sum(index in node.inputs for node in graph.nodes) for index in range(len(graph.nodes))]
    for node, layer in zip(graph.nodes, network.layers, strict=True):
        if getattr(layer, "inplace", False):
            assert readers[node.inputs[0]] == 1
