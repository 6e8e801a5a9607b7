"""ONNX files: shapes, parameters and work of graphs that are worked out by hand, and of one that PyTorch wrote."""

from __future__ import annotations

import io

import numpy as np
import pytest

from profet_core.errors import InputError
from profet_core.layers.reading import read_network
from profet_core.layers.rules import Kind
from tests.made.onnx_files import INT64, Model, empty_tensor, entry, node, port, small_network, tensor


def outputs(network) -> dict[str, tuple[int, ...]]:
    return {layer.name.rpartition("_")[0] or layer.name: layer.output for layer in network.layers}


def test_a_small_network_by_hand():
    network = read_network(small_network().data(), "net.onnx")
    counts = network.counts
    # Weights, four of normalisation, depthwise with biases, dense with biases.
    assert counts.parameters == 216 + 32 + (72 + 8) + (80 + 10)
    assert counts.trainable_parameters == counts.parameters - 16
    assert counts.convolution_flops == 2 * 216 * 64 and counts.depthwise_flops == 2 * 72 * 64
    assert counts.dense_flops == 160
    # 16 x 16 halved; 8 x 8 pooled to 4 x 4, as the last window may reach over the end.
    sizes = outputs(network)
    assert sizes["conv"] == sizes["sum"] == (8, 8, 8) and sizes["pool"] == (8, 4, 4) and sizes["classes"] == (10,)
    assert counts.activation_elements == 768 + 5 * 512 + 128 + 8 + 8 + 10
    assert counts.other_elements == 768 + 3 * 512 + 128 + 8 + 8
    assert (counts.convolutions, counts.normalisations, counts.pools, counts.dense_layers) == (2, 1, 2, 1)
    assert (counts.pixels, counts.classes, counts.layers) == (16, 10, 10)
    assert network.caveats == () and network.source_format == "ONNX model of tests"


def test_other_pixels_and_a_batch_in_the_file_change_nothing_else():
    given = read_network(small_network().data(), pixels=32).counts
    assert given == read_network(small_network((4, 3, 32, 32)).data()).counts
    assert given.convolution_flops == 2 * 216 * 256 and given.parameters == 418


def test_an_open_size_has_to_be_given():
    data = small_network(("batch", 3, "height", "width")).data()
    with pytest.raises(InputError, match="leaves the image's size open: give the pixels"):
        read_network(data)
    assert read_network(data, pixels=16).counts == read_network(small_network().data()).counts


def test_dense_layers_that_take_the_whole_image_take_no_other_size():
    model = Model(inputs=[port("image", (1, 3, 8, 8))], outputs=[port("out", (1, 5))])
    model.add("Flatten", ["image"], "flat")
    model.add("Gemm", ["flat", model.weights("w", 192, 5)], "out")
    assert read_network(model.data()).counts.dense_flops == 2 * 192 * 5
    with pytest.raises(InputError, match=r"out_Gemm \(Gemm\): its weights are for 192 values, and it gets 768"):
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
    assert network.counts.dense_flops == 2 * 4 * 4 * 36 + 2 * 4 * 36 * 4
    assert [layer.kind for layer in network.layers].count(Kind.PRODUCT) == 2


def test_weights_are_counted_once_and_single_numbers_are_none():
    model = Model(inputs=[port("image", (1, 4, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    shared = model.weights("w", 4, 4, 3, 3)
    model.add("Conv", ["image", shared], "one", pads=[1] * 4)
    model.add("Conv", ["one", shared], "two", pads=[1] * 4)
    model.add("Mul", ["two", model.weights("half")], "scaled")
    model.add("Mul", ["scaled", model.weights("gamma", 4, 1, 1)], "out")
    network = read_network(model.data())
    assert network.counts.parameters == 144 + 4
    assert network.counts.convolution_flops == 2 * 2 * 144 * 36
    # A number for all values is no pass over them.
    assert [layer.name for layer in network.layers][-2:] == ["two_Conv", "out_Mul"]


def test_weights_that_are_alike_are_weights_each():
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


def test_the_shape_of_a_weight_is_no_weight():
    model = Model(inputs=[port("image", (1, 4, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    model.add("Shape", [model.weights("w", 1, 4, 6, 6)], "shape")
    model.add("Reshape", ["image", "shape"], "out")
    assert read_network(model.data()).counts.parameters == 0


def test_channels_last_is_found_by_the_sides():
    model = Model(inputs=[port("image", ("n", 9, 9, 3))], outputs=[port("out", ("n", 5, 9, 9))])
    model.add("Transpose", ["image"], "turned", perm=[0, 3, 1, 2])
    model.add("Conv", ["turned", model.weights("w", 5, 3, 1, 1)], "out")
    assert read_network(model.data(), pixels=7).counts.convolution_flops == 2 * 15 * 49


def test_folded_normalisation_is_said():
    model = Model(inputs=[port("image", (1, 3, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    model.add("Conv", ["image", model.weights("w", 4, 3, 1, 1)], "out")
    assert any("folded it into convolutions" in line for line in read_network(model.data()).caveats)


def test_data_in_other_files_are_never_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = Model(inputs=[port("image", (1, 3, 6, 6))], outputs=[port("out", (1, 4, 6, 6))])
    model.tensors.append(empty_tensor("w", (4, 3, 1, 1), location="../../../../etc/passwd"))
    model.add("Conv", ["image", "w"], "out")
    assert read_network(model.data()).counts.parameters == 12
    model = Model(inputs=[port("image", (1, 3, 6, 6))], outputs=[port("out", (1, 108))])
    model.tensors.append(entry(1, 2) + entry(2, INT64) + entry(8, "to") + entry(14, 1))
    model.add("Reshape", ["image", "to"], "out")
    with pytest.raises(InputError, match="known in a run only"):
        read_network(model.data())


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda model: model.add("If", ["image"], "x"), "export the model without control flow"),
        (lambda model: model.add("QLinearConv", ["image"], "x"), "export the float one"),
        (lambda model: model.add("LSTM", ["image"], "x"), "such layers aren't counted"),
        (lambda model: model.add("Fancy", ["image"], "x"), r"operator x_Fancy \(Fancy\): this operator isn't counted"),
        (lambda model: model.nodes.append(node("Relu", ["image"], ["x"], domain="mine")), "operators of mine"),
        (lambda model: model.add("Relu", ["image"], "conv"), "two operators put out conv"),
        (lambda model: model.add("Relu", ["later"], "x"), "takes later, which nothing before it puts out"),
        (lambda model: model.add("Add", ["loop", "image"], "loop"), "takes loop, which nothing before it puts out"),
        (lambda model: model.tensors.append(tensor("w1", np.zeros(3, np.float32))), "have one name"),
        (lambda model: model.tensors.append(empty_tensor("bad", (4, -2))), "negative size"),
        (lambda model: model.tensors.append(empty_tensor("bad", (1,) * 99)), "more than 16 sides"),
        (lambda model: model.add("Conv", ["image", "w2"], "x"), "weights are for 1 channels, and it gets 3"),
        (lambda model: model.add("Conv", ["image", "w1"], "x", strides=[0, 1]), "its strides makes no sense"),
        (lambda model: model.add("Conv", ["image", "w1"], "x", pads=[2**40] * 4), "its pads makes no sense"),
        (lambda model: model.add("Conv", ["image", "w1"], "x", group=-1), "don't fit an image"),
        (lambda model: model.add("Conv", ["image", "w1"], "x", pads=[2**23] * 4), "more than .* values"),
        (lambda model: model.add("Transpose", ["image"], "x", perm=[0, 0, 1, 2]), "order doesn't fit"),
        (lambda model: model.add("Concat", ["image", "conv"], "x", axis=9), "nothing to put together"),
        (lambda model: model.add("Unsqueeze", ["image", "many"], "x"), "makes more than 8 sides"),
    ],
)
def test_what_cannot_be_counted_is_one_line_that_names_the_operator(change, line):
    model = small_network()
    model.numbers("many", *range(50))
    change(model)
    with pytest.raises(InputError, match=line) as error:
        read_network(model.data(), "mine.onnx")
    assert str(error.value).startswith("mine.onnx: ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "model",
    [
        Model(inputs=[port("image", (1, 3, 6, 6))]),
        Model(inputs=[port("words", (1, 30))], nodes=[node("Relu", ["words"], ["x"])]),
        Model(inputs=[port("image", (1, 3, 2**40, 2**40))], nodes=[node("Relu", ["image"], ["x"])]),
        Model(inputs=[port("image", (1, 3, 6, 6))], nodes=[node("Relu", ["image"], ["x"])], outputs=[port("y", (1,))]),
    ],
)
def test_graphs_without_an_image_or_an_end_are_refused(model):
    with pytest.raises(InputError) as error:
        read_network(model.data(), "mine.onnx")
    assert "\n" not in str(error.value)


def test_a_constant_that_would_unfold_is_left_alone():
    model = small_network()
    model.numbers("huge", 2**40, 2**40)
    model.add("ConstantOfShape", ["huge"], "filled")
    with pytest.raises(InputError, match=r"more than .* values"):
        read_network(model.data())
    model = small_network()
    for name, number in (("start", 0), ("end", 2**60), ("step", 1)):
        model.tensors.append(tensor(name, np.array(number, np.int64)))
    model.add("Range", ["start", "end", "step"], "line")
    with pytest.raises(InputError, match=r"\(Range\)"):
        read_network(model.data())


def test_what_grows_with_every_operator_has_an_end():
    model = small_network()
    model.numbers("wide", *range(200))
    last = "wide"
    for index in range(200):
        last = model.add("Concat", [last, last] if index < 8 else [last, "wide"], f"grown{index}", axis=0)
    with pytest.raises(InputError, match=r"constants have more than 4,000,000 values"):
        read_network(model.data())
    model = small_network()
    last = model.weights("first", 2, 300)
    for index in range(1_001):
        last = model.add("Add", [last, model.weights(f"more{index}", 2, 300)], f"sum{index}")
    with pytest.raises(InputError, match=r"made of more than 1,000 tensors"):
        read_network(model.data())


def test_a_network_that_pytorch_exports():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, and the app does not need it")
    pytest.importorskip("onnx", reason="PyTorch exports through the onnx package, which nothing else here needs")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = torch.nn.Conv2d(3, 16, 3, 2, 1, bias=False)
            self.norm = torch.nn.BatchNorm2d(16)
            self.deep = torch.nn.Conv2d(16, 16, 3, 1, 1, groups=16)
            self.squeeze = torch.nn.Conv2d(16, 4, 1)
            self.excite = torch.nn.Conv2d(4, 16, 1)
            self.layer_norm = torch.nn.LayerNorm(16)
            self.wide, self.narrow = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16)
            self.scale = torch.nn.Parameter(torch.full((16,), 0.1))
            self.head = torch.nn.Linear(16, 10)

        def forward(self, image):
            x = torch.nn.functional.gelu(self.norm(self.stem(image)))
            y = self.deep(x)
            weights = torch.relu(self.squeeze(y.mean([2, 3], keepdim=True)))
            x = x + y * torch.sigmoid(self.excite(weights))
            x = torch.nn.functional.max_pool2d(x, 3, 2, 1, ceil_mode=True)
            y = self.layer_norm(x.permute(0, 2, 3, 1))
            y = self.narrow(torch.nn.functional.gelu(self.wide(y))) * self.scale
            x = x + y.permute(0, 3, 1, 2)
            left, right = x.chunk(2, dim=1)
            return self.head(torch.cat([right, left], dim=1).mean([2, 3]))

    net, file = Net().train(), io.BytesIO()
    torch.onnx.export(
        net,
        (torch.zeros(2, 3, 64, 64),),
        file,
        dynamo=False,
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
    )
    for pixels, places in ((None, 32 * 32), (32, 16 * 16)):
        network = read_network(file.getvalue(), "net.onnx", pixels)
        counts = network.counts
        assert counts.trainable_parameters == sum(weight.numel() for weight in net.parameters())
        assert counts.parameters == counts.trainable_parameters + 32
        assert counts.convolution_flops == 2 * (27 * 16 * places + 2 * 64)
        assert counts.depthwise_flops == 2 * 9 * 16 * places
        pooled = (int(places**0.5) // 2 + 1) ** 2
        assert counts.dense_flops == 2 * (2 * 16 * 64 * pooled + 160)
        assert (counts.convolutions, counts.dense_layers, counts.normalisations) == (4, 3, 2)
