"""Networks that train have the parameters that are counted, in both frameworks; no weight is made for it."""

from __future__ import annotations

import csv

import pytest

from profet_collect.graph import Graph, Node, network_graph
from profet_collect.grid import NEWER
from profet_core.errors import InputError
from profet_core.layers.networks import counts_of, layers_of, measured_networks, named_networks
from tests.recorder.runs import needs

pytorch = needs("torch")


def parameter_count(module) -> int:
    """As the measurements count them: running averages among them, the number of batches seen not."""
    values = [*module.parameters(), *(one for one in module.buffers() if one.is_floating_point())]
    return sum(one.numel() for one in values)


def test_the_graph_holds_the_layers_that_are_counted():
    for name in named_networks():
        assert network_graph(name, 224).layers == layers_of(name, 224), name


@pytorch
def test_pytorch_has_the_parameters_of_all_71_measured_architectures(repository):
    import torch

    from profet_collect.in_pytorch import build

    architectures = list(csv.DictReader((repository / "data" / "architectures.csv").read_text().splitlines()))
    assert len(architectures) == 71
    with torch.device("meta"):
        for row in architectures:
            network = build(network_graph(row["model"], int(row["pixels"])))
            trainable = sum(one.numel() for one in network.parameters())
            assert [parameter_count(network), trainable] == [int(row["parameters"]), int(row["trainable"])], row


@pytorch
@pytest.mark.parametrize("name", [*NEWER, "InceptionResNetV2", "MobileNetV2", "ShuffleNetV2-x1.0", "SqueezeNet 1.0"])
def test_pytorch_trains_what_is_described(name):
    import torch

    from profet_collect.in_pytorch import build

    with torch.device("meta"):
        network = build(network_graph(name, 128))
        logits = network(torch.empty(2, 3, 128, 128))
    assert parameter_count(network) == counts_of(name, 128).parameters
    assert logits.shape == (2, 100) and logits.requires_grad


def test_both_frameworks_compute_the_same_of_the_same_weights(in_keras):
    assert len(in_keras["apart"]) == 3
    for *size, apart, largest in in_keras["apart"]:
        assert largest > 1e-6 and apart < 1e-4 * largest, size
    # VGG with normalization and the AlexNet of 2014 pool to 7 and 6 a side, from whatever an image leaves them.
    assert len(in_keras["pooled apart"]) == 6 and max(in_keras["pooled apart"]) < 1e-6


def test_keras_has_the_parameters_of_the_measured_and_the_newer(in_keras):
    sizes = {name for name, _, _ in in_keras["parameters"]}
    assert sizes >= {*measured_networks(), *NEWER} - {"InceptionResNetV2"}
    for *size, found in in_keras["parameters"]:
        counts = counts_of(*size)
        assert found == [counts.parameters, counts.trainable_parameters, counts.classes], size


@pytorch
def test_a_kind_of_layer_that_cannot_be_built_is_named():
    from profet_collect.in_pytorch import build

    nodes = (Node("input", (), (8, 8, 3)), Node("fractal pooling", (0,), (8, 8, 3)))
    with pytest.raises(InputError, match="fractal pooling"):
        build(Graph("odd", 8, 10, nodes, ()))


@pytorch
def test_an_activation_writes_over_its_input_only_where_nobody_else_reads_it():
    from profet_collect.in_pytorch import build

    # Of a residual network normalized before its convolutions (v2), sums go on beside their normalization.
    network = build(network_graph("DenseNet-121", 32))
    graph = network_graph("DenseNet-121", 32)
    readers = [sum(index in node.inputs for node in graph.nodes) for index in range(len(graph.nodes))]
    for node, layer in zip(graph.nodes, network.layers, strict=True):
        if getattr(layer, "inplace", False):
            assert readers[node.inputs[0]] == 1
