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


def test_pytorch_computes_what_keras_pads_likewise():
    """A gradient reaches every weight, and odd sizes are padded as the counts say."""
    torch = pytest.importorskip("torch")
    from profet_collect.networks.pytorch import build

    torch.manual_seed(0)
    network = build(network_graph("ResNetSmall", 33))
    torch.nn.functional.cross_entropy(network(torch.rand(4, 3, 33, 33)), torch.randint(10, (4,))).backward()
    assert all(one.grad is not None and one.grad.isfinite().all() for one in network.parameters())


def test_keras_has_the_parameters_of_the_measured_and_the_newer(repository):
    import json

    sizes = [(name, 128 if name.startswith("Inception") else 64) for name in [*measured_networks(), *NEWER]]
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
