"""ONNX files: shapes, parameters and work of graphs that are worked out by hand, and of one that PyTorch wrote."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from profet_core.errors import InputError
from profet_core.layers.reading import read_network
from profet_core.layers.rules import Kind
from tests.made.onnx_files import Model, empty_tensor, node, port, small_network
from tests.made.protobuf import entry


def outputs(network) -> dict[str, tuple[int, ...]]:
    return {layer.name.rpartition("_")[0] or layer.name: layer.output for layer in network.layers}


def test_a_small_network_by_hand():
    network = read_network(small_network().data(), "net.onnx")
    counts = network.counts
    # Weights, four of normalization, depthwise with biases, dense with biases.
    assert counts.parameters == 216 + 32 + (72 + 8) + (80 + 10)
    assert counts.trainable_parameters == counts.parameters - 16
    assert counts.flops.convolution == 2 * 216 * 64 and counts.flops.depthwise == 2 * 72 * 64
    assert counts.flops.dense == 160
    # 16 x 16 halved; 8 x 8 pooled to 4 x 4, as the last window may reach over the end.
    sizes = outputs(network)
    assert sizes["conv"] == sizes["sum"] == (8, 8, 8) and sizes["pool"] == (8, 4, 4) and sizes["classes"] == (10,)
    assert counts.elements.all == 768 + 5 * 512 + 128 + 8 + 10
    assert counts.elements.other == 768 + 3 * 512 + 128 + 8
    assert (counts.layers.convolutions, counts.layers.normalizations, counts.layers.pools, counts.layers.dense) == (
        2,
        1,
        2,
        1,
    )
    assert (counts.pixels, counts.classes, counts.layers.all) == (16, 10, 10)
    assert network.caveats == () and network.source_format == "ONNX model of tests"


def test_the_image_s_size_may_be_the_file_s_open_or_given_unless_dense_layers_fix_it():
    given = read_network(small_network().data(), pixels=32).counts
    assert given == read_network(small_network((4, 3, 32, 32)).data()).counts
    assert given.flops.convolution == 2 * 216 * 256 and given.parameters == 418
    data = small_network(("batch", 3, "height", "width")).data()
    with pytest.raises(InputError, match="leaves the image's size open: give the pixels"):
        read_network(data)
    assert read_network(data, pixels=16).counts == read_network(small_network().data()).counts
    model = Model(inputs=[port("image", (1, 3, 8, 8))], outputs=[port("out", (1, 5))])
    model.add("Flatten", ["image"], "flat")
    model.add("Gemm", ["flat", model.weights("w", 192, 5)], "out")
    assert read_network(model.data()).counts.flops.dense == 2 * 192 * 5
    with pytest.raises(InputError, match=r"out_Gemm \(Gemm\): its inputs, 1 x 768, 192 x 5, don't fit it"):
        read_network(model.data(), pixels=16)


def test_shapes_that_the_graph_computes_are_followed():
    model = Model(inputs=[port("image", ("n", 4, 6, 6))], outputs=[port("out", ("n", 4, 36))])
    model.add("Shape", ["image"], "shape")
    model.add("Gather", ["shape", model.numbers("zero", 0)], "batch", axis=0)
    model.add("Gather", ["shape", model.numbers("one", 1)], "channels", axis=0)
    model.add("Concat", ["batch", "channels", model.numbers("rest", -1)], "target", axis=0)
    model.add("Reshape", ["image", "target"], "rows")
    model.add("Transpose", ["rows"], "columns", perm=[0, 2, 1])
    model.add("MatMul", ["rows", "columns"], "product")
    model.add("Softmax", ["product"], "attention")
    model.add("MatMul", ["attention", "rows"], "out")
    network = read_network(model.data())
    sizes = outputs(network)
    assert sizes["rows"] == (4, 36) and sizes["product"] == (4, 4) and sizes["out"] == (4, 36)
    assert network.counts.flops.dense == 2 * 4 * 4 * 36 + 2 * 4 * 36 * 4
    assert [layer.kind for layer in network.layers].count(Kind.PRODUCT) == 2


def test_parts_of_an_image_by_hand():
    model = Model(inputs=[port("image", (1, 4, 6, 6))], outputs=[port("out", (1, 300, 6, 6))])
    bounds = [model.numbers("start", 1), model.numbers("end", 6), model.add("Constant", [], "axis", value_ints=[2])]
    bounds.append(model.numbers("step", 2))
    half = model.add("Slice", ["image", *bounds], "half")
    model.nodes.append(node("Split", [half], ["left", "right"], axis=1))
    model.add("Gather", ["left", model.numbers("first", 0, 1)], "gathered", axis=2)
    model.tensors.append(numpy_helper.from_array(np.array([1, 1, 3, 1], np.float32), "scales"))
    model.add("Resize", ["gathered", "", "scales"], "big")
    model.add("Conv", ["big", model.weights("w", 300, 2, 1, 1)], "out")
    sizes = [layer.output for layer in read_network(model.data()).layers]
    assert sizes == [(4, 6, 6), (4, 3, 6), (2, 3, 6), (2, 2, 6), (2, 6, 6), (300, 6, 6)]


def test_what_is_computed_once_is_no_layer_and_a_mask_no_weight():
    model = Model(inputs=[port("image", ("n", 1, 4, 4))], outputs=[port("out", ("n", 1, 2, 2))])
    model.add("ConstantOfShape", [model.numbers("sides", 4, 4)], "zeros")
    model.tensors.append(numpy_helper.from_array(np.array([[0]]), "where"))
    model.add("ScatterND", ["zeros", "where", model.weights("row", 1, 4)], "mask")
    model.add("Add", ["image", "mask"], "masked")
    # A last window that would begin behind the image is left out, as in PyTorch.
    model.add("MaxPool", ["masked"], "out", kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1)
    network = read_network(model.data())
    assert [layer.output for layer in network.layers] == [(1, 4, 4), (1, 4, 4), (1, 2, 2)]
    assert network.counts.parameters == 0


def test_weights_are_counted_once_each_and_numbers_and_shapes_are_none():
    model = Model(inputs=[port("image", (1, 4, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    shared = model.weights("w", 4, 4, 3, 3)
    model.add("Conv", ["image", shared], "one", pads=[1] * 4)
    model.add("Conv", ["one", shared], "two", pads=[1] * 4)
    model.add("Mul", ["two", model.weights("half")], "scaled")
    model.add("Mul", ["scaled", model.weights("gamma", 4, 1, 1)], "out")
    network = read_network(model.data())
    assert network.counts.parameters == 144 + 4
    assert network.counts.flops.convolution == 2 * 2 * 144 * 36
    # A number for all values is no pass over them.
    assert [layer.name for layer in network.layers][-2:] == ["two_Conv", "out_Mul"]
    # As PyTorch writes a new network, and as files without their weights have them.
    model = Model(inputs=[port("image", (1, 4, 6, 6))], outputs=[port("out", (1, 7, 6, 6))])
    ones = model.weights("ones", 4)
    copies = [model.add("Identity", [ones], f"copy{index}") for index in range(3)]
    model.add("BatchNormalization", ["image", ones, *copies], "normal")
    model.add("ConstantOfShape", [model.numbers("shape", 7, 4, 30, 30)], "filled")
    model.add("Conv", ["normal", "filled"], "out", pads=[15, 15, 14, 14])
    counts = read_network(model.data()).counts
    assert counts.parameters == 16 + 7 * 4 * 900 and counts.trainable_parameters == counts.parameters - 8
    assert counts.classes == 7
    model = Model(inputs=[port("image", (1, 4, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    model.add("Shape", [model.weights("w", 1, 4, 6, 6)], "shape")
    model.add("Reshape", ["image", "shape"], "out")
    assert read_network(model.data()).counts.parameters == 0


def test_channels_last_is_found_by_the_sides_and_folded_normalization_noted():
    model = Model(inputs=[port("image", ("n", 9, 9, 3))], outputs=[port("out", ("n", 5, 9, 9))])
    model.add("Transpose", ["image"], "turned", perm=[0, 3, 1, 2])
    model.add("Conv", ["turned", model.weights("w", 5, 3, 1, 1)], "out")
    assert read_network(model.data(), pixels=7).counts.flops.convolution == 2 * 15 * 49
    model = Model(inputs=[port("image", (1, 3, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    model.add("Conv", ["image", model.weights("w", 4, 3, 1, 1)], "out")
    assert any("folded it into convolutions" in line for line in read_network(model.data()).caveats)


def test_the_guides_export_is_the_network_as_it_is_trained(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, and the app does not need it")
    nn, guide = torch.nn, Path("docs/NETWORKS.md").read_text(encoding="utf-8")
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, 10)]
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), *head).train()
    image = torch.zeros(2, 3, 32, 32)
    monkeypatch.chdir(tmp_path)
    exec(
        re.search(r"```text\n(model\.eval.*?)```", guide, re.DOTALL)[1],
        {"torch": torch, "model": model, "image": image},
    )
    network = read_network(tmp_path / "model.onnx")
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert (network.counts.trainable_parameters, network.counts.layers.normalizations) == (parameters, 1)
    assert network.caveats == ()
    torch.onnx.export(model, image, "folded.onnx", dynamo=False)
    folded = read_network(tmp_path / "folded.onnx")
    assert folded.counts.layers.normalizations == 0 and "folded" in folded.caveats[0]


def test_data_in_other_files_are_never_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = Model(inputs=[port("image", (1, 3, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    model.tensors.append(empty_tensor("w", (4, 3, 1, 1), location="../../../../etc/passwd"))
    model.add("Conv", ["image", "w"], "out")
    assert read_network(model.data()).counts.parameters == 12
    model = Model(inputs=[port("image", (1, 3, 6, 6))], outputs=[port("out", (1, 108))])
    model.tensors.append(empty_tensor("to", (2,), TensorProto.INT64, location="to.bin"))
    model.add("Reshape", ["image", "to"], "out")
    with pytest.raises(InputError, match="depends on runtime values"):
        read_network(model.data())


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda model: model.add("Slice", ["image"], "x"),
            r"x_Slice \(Slice\): its inputs, 1 x 3 x 16 x 16, don't fit it",
        ),
        (lambda model: model.add("MatMul", ["b2", "b3"], "x"), r"its inputs, 8, 10, don't fit it"),
        (lambda model: model.add("MatMul", ["image", model.weights("w4", 16)], "x"), "does not multiply matrices"),
        (lambda model: model.add("Fancy", ["image"], "x"), r"operator x_Fancy \(Fancy\): this operator isn't counted"),
        (lambda model: model.add("NonZero", ["image"], "x"), "isn't counted"),
        (lambda model: model.nodes.append(node("Relu", ["image"], ["x"], domain="mine")), "operators of mine"),
        (lambda model: model.add("Relu", ["image"], "conv"), "two operators put out conv"),
        (lambda model: model.add("Add", ["loop", "image"], "loop"), "takes loop, which nothing before it puts out"),
        (lambda model: model.tensors.append(empty_tensor("bad", (4, -2))), "negative size"),
        (lambda model: model.tensors.append(empty_tensor("bad", (1,) * 99)), "more than 16 sides"),
        (lambda model: model.add("Conv", ["image", "w2"], "x"), "weights are for 1 channels, and it gets 3"),
        (lambda model: model.add("Conv", ["image", "w1"], "x", strides=[0, 1]), "don't fit it"),
        (lambda model: model.add("Conv", ["image", "w1"], "x", group=-1), "don't fit an image"),
        (lambda model: model.add("Concat", ["image", "conv"], "x", axis=9), "don't fit it"),
        (lambda model: model.add("Reshape", ["image", model.numbers("to", 1, 7)], "x"), "don't fill 1 x 7"),
        (lambda model: model.add("Unsqueeze", ["image", "many"], "x"), "would put out"),
    ],
)
def test_what_cannot_be_counted_is_one_line_that_names_the_operator(change, line):
    model = small_network()
    model.numbers("many", *range(50))
    change(model)
    with pytest.raises(InputError, match=line) as error:
        read_network(model.data(), "mine.onnx")
    assert str(error.value).startswith("mine.onnx: ") and "\n" not in str(error.value)


def test_graphs_without_image_or_end_and_constants_that_unfold_are_refused():
    relu = [node("Relu", ["image"], ["x"])]
    for model in (
        Model(inputs=[port("image", (1, 3, 6, 6))]),
        Model(inputs=[port("image", (1, 30))], nodes=relu),
        Model(inputs=[port("image", (1, 3, 2**40, 2**40))], nodes=relu),
        Model(inputs=[port("image", (1, 3, 6, 6))], nodes=relu, outputs=[port("y", (1,))]),
    ):
        with pytest.raises(InputError) as error:
            read_network(model.data(), "mine.onnx")
        assert "\n" not in str(error.value)
    data = small_network().data()
    for damaged in (data[:-1], data[:99], entry(7, entry(1, b"\xff" * 11 + b"\x01"))):
        with pytest.raises(InputError, match="damaged or cut short"):
            read_network(damaged)
    model = small_network()
    model.numbers("huge", 2**40, 2**40)
    model.add("ConstantOfShape", ["huge"], "filled")
    with pytest.raises(InputError, match=r"more than .* values"):
        read_network(model.data())
    model = small_network()
    for name, number in (("start", 0), ("end", 2**60), ("step", 1)):
        model.tensors.append(numpy_helper.from_array(np.array(number, np.int64), name))
    model.add("Range", ["start", "end", "step"], "line")
    with pytest.raises(InputError, match=r"\(Range\)"):
        read_network(model.data())
