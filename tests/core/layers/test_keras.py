"""The JSON of Keras models, of Keras 2 too, and what is refused of it; the lab's tests have files that Keras wrote."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from profet_core.errors import InputError
from profet_core.layers.reading import read_network
from tests.made.plain_lenet import PLAIN_LENET


def layer(class_name: str, name: str, *inputs: str, **config: object) -> dict[str, object]:
    """A layer of a functional model as Keras 2 writes it."""
    nodes = [[[part, 0, 0, {}] for part in inputs]] if inputs else []
    return {"class_name": class_name, "name": name, "config": {"name": name, **config}, "inbound_nodes": nodes}


def functional(*layers: dict[str, object], first: str = "image", last: str | None = None) -> dict[str, object]:
    last = last or str(layers[-1]["name"])
    config = {"name": "net", "layers": list(layers), "input_layers": [[first, 0, 0]], "output_layers": [[last, 0, 0]]}
    return {"class_name": "Functional", "config": config, "keras_version": "2.11.0", "backend": "tensorflow"}


def sequential(*layers: dict[str, object]) -> dict[str, object]:
    return {"class_name": "Sequential", "config": {"name": "net", "layers": list(layers)}}


IMAGE = layer("InputLayer", "image", batch_input_shape=[None, 8, 8, 3])


def read(document: object, pixels: int | None = None):
    return read_network(json.dumps(document).encode(), "mine.json", pixels)


def refused(document: object, line: str) -> None:
    with pytest.raises(InputError, match=line) as error:
        read(document)
    assert str(error.value).startswith("mine.json: ") and "\n" not in str(error.value)


def test_a_model_of_keras_2():
    document = functional(
        IMAGE,
        layer("Conv2D", "conv", "image", filters=4, kernel_size=[3, 3], strides=[1, 1], padding="same", use_bias=False),
        layer("BatchNormalization", "norm", "conv", axis=[3], scale=False),
        {**layer("TFOpLambda", "relu", function="nn.relu"), "inbound_nodes": [["norm", 0, 0, {"name": None}]]},
        layer("SeparableConv2D", "sep", "relu", filters=6, kernel_size=[3, 3], strides=[2, 2], depth_multiplier=1),
        layer("Conv2D", "side", "relu", filters=6, kernel_size=3, strides=2),
        {
            **layer("TFOpLambda", "plus", function="__operators__.add"),
            "inbound_nodes": [["sep", 0, 0, {"y": ["side", 0, 0], "name": None}]],
        },
        layer("GlobalAveragePooling2D", "mean", "plus"),
        layer("Dense", "head", "mean", units=5),
    )
    network = read(document)
    assert network.counts.parameters == 108 + 12 + (36 + 24 + 6) + (216 + 6) + 35
    assert network.counts.trainable_parameters == network.counts.parameters - 8
    assert network.counts.flops.depthwise == 2 * 36 * 9
    assert network.counts.flops.convolution == 2 * (108 * 64 + 24 * 9 + 216 * 9)
    assert network.source_format == "Keras 2.11.0 model" and network.counts.classes == 5
    # Listed in another order, it is the same network.
    document["config"]["layers"].reverse()
    assert read(document).counts == network.counts


def test_a_sequence_of_keras_2():
    document = sequential(
        {
            "class_name": "Conv2D",
            "config": {"filters": 6, "kernel_size": [5, 5], "batch_input_shape": [None, 32, 32, 3]},
        },
        {"class_name": "MaxPooling2D", "config": {"pool_size": [2, 2], "strides": [2, 2]}},
        {"class_name": "Conv2D", "config": {"filters": 16, "kernel_size": [5, 5]}},
        {"class_name": "MaxPooling2D", "config": {"pool_size": [2, 2], "strides": None}},
        {"class_name": "Flatten", "config": {}},
        *({"class_name": "Dense", "config": {"units": units}} for units in (120, 84, 10)),
    )
    assert read(document).counts == PLAIN_LENET
    assert read(document, 28).counts.parameters == 44_726


def test_a_layer_that_is_called_again_has_its_parameters_once():
    twice = layer("Conv2D", "conv", filters=3, kernel_size=3, padding="same")
    twice["inbound_nodes"] = [[["image", 0, 0, {}]], [["conv", 0, 0, {}]]]
    document = functional(IMAGE, twice)
    document["config"]["output_layers"] = [["conv", 1, 0]]
    counts = read(document).counts
    assert counts.parameters == 84 and counts.flops.convolution == 2 * (2 * 81 * 64)
    counts = read(called(sequential(layer("Conv2D", "conv", filters=3, kernel_size=1)), 50)).counts
    assert counts.parameters == 12 and counts.layers.convolutions == 50 and counts.flops.convolution == 50 * 2 * 9 * 64


def test_a_shape_that_the_settings_do_not_lead_to_is_refused():
    def stating(*sides: int | None) -> dict[str, object]:
        tensor = {"keras_history": ["conv", 0, 0], "shape": [None, *sides]}
        called = {"args": [{"class_name": "__keras_tensor__", "config": tensor}], "kwargs": {}}
        conv = layer("Conv2D", "conv", "image", filters=4, kernel_size=3)
        return functional(IMAGE, conv, {**layer("ReLU", "relu"), "inbound_nodes": [called]})

    assert read(stating(6, None, 4)).counts.parameters == 112
    refused(stating(6, 6, 5), "conv would put out 6 x 6 x 4 by its settings, and the file says otherwise")
    assert read(stating(6, 6, 5), 16).counts.parameters == 112, "at other pixels the file's shapes don't hold"


def test_a_model_in_a_model_is_its_layers():
    inside = functional(
        layer("InputLayer", "inner", batch_input_shape=[None, 99, 99, 3]),
        layer("Conv2D", "conv", "inner", filters=4, kernel_size=1),
        first="inner",
    )
    document = functional(
        IMAGE, {**inside, "name": "base", "inbound_nodes": [[["image", 0, 0, {}]]]}, layer("Flatten", "flat", "base")
    )
    network = read(document)
    assert network.counts.flops.convolution == 2 * 12 * 64
    assert [counted.name for counted in network.layers] == ["image", "conv", "flat"]


def test_operations_and_means_of_keras_3_by_the_archive_s_description_alone():
    flat = {**layer("Reshape", "flat", "image", newshape=[-1, 192]), "module": "keras.src.ops.numpy"}
    document = functional(IMAGE, layer("Normalization", "norm", "image", axis=-1), flat)
    assert [counted.output for counted in read(document).layers] == [(8, 8, 3), (8, 8, 3), (192,)]
    alone = functional(IMAGE, layer("Normalization", "norm", "image", axis=None))
    assert [read(document).counts.parameters for document in (of("Normalization"), alone)] == [7, 3]
    data = archive(("metadata.json", b"not even JSON"), ("config.json", MODEL), ("model.weights.h5", b"\x89" * 9))
    assert read_network(data, "net.keras").counts.flops.convolution == 2 * 108 * 36


def called(inner: dict[str, object], times: int) -> dict[str, object]:
    """A model in a model that is called so many times on the image."""
    return functional(IMAGE, {**inner, "name": "inner", "inbound_nodes": [[["image", 0, 0, {}]]] * times})


def of(class_name: str, **config: object) -> dict[str, object]:
    """A model of one layer."""
    return functional(IMAGE, layer(class_name, "mine", "image", **config))


def taking(shape: object) -> dict[str, object]:
    """A model whose input has this shape."""
    return functional(layer("InputLayer", "image", batch_input_shape=shape), layer("ReLU", "a", "image"))


def chain(class_name: str, **config: object) -> dict[str, object]:
    """Two layers alike, one after another."""
    return functional(IMAGE, layer(class_name, "a", "image", **config), layer(class_name, "b", "a", **config))


def lists_in_lists(depth: int) -> list[object]:
    nested: list[object] = []
    for _ in range(depth):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (of("Lambda"), r"layer mine \(Lambda\): what its code does"),
        (of("Secret"), r"layer mine \(Secret\): this kind of layer isn't counted"),
        (
            functional(IMAGE, {**layer("Conv2D", "mine", "image"), "registered_name": "evil>Conv2D"}),
            "this kind of layer isn't counted",
        ),
        (functional(IMAGE, {**layer("ReLU", "mine", "image"), "module": "keras_mine.layers"}), "isn't counted"),
        (functional(IMAGE, layer("ReLU", "a", "b"), layer("ReLU", "b", "a")), "called in a circle"),
        (functional(IMAGE, layer("ReLU", "a", "nowhere")), "layer a is called on nowhere, which isn't there"),
        (functional(IMAGE, layer("ReLU", "a", "image"), layer("ReLU", "a", "image")), "two .* are called a"),
        (of("Conv2D", filters=-1, kernel_size=3), "its filters is -1: a whole number"),
        (of("Conv2D", filters="9", kernel_size=3), 'its filters is the text "9": a whole number'),
        (of("Conv2D", filters=True, kernel_size=3), "its filters is True"),
        (of("Conv2D", filters=lists_in_lists(900), kernel_size=3), "its filters is a list|nested too deeply"),
        (of("Conv2D", filters=9, kernel_size=[3] * 9), "its kernel_size has 9 numbers"),
        (of("Conv2D", filters=9, kernel_size=3, padding="mirror"), "its padding is mirror"),
        (of("Conv2D", filters=9, kernel_size=3, use_bias="yes"), "its use_bias is neither true nor false"),
        (of("ReLU", data_format="channels_first"), "save it with channels last"),
        (of("ZeroPadding2D", padding=[1, 2, 3]), "its padding has 3 sides, 2 are needed"),
        (chain("RepeatVector", n=2**24), "more than .* values"),
        (of("BatchNormalization", axis=9), "its axis doesn't fit"),
        (of("Concatenate", axis="x"), "its axis doesn't fit"),
        (taking([None, -4, 4, 3]), "image's height is -4"),
        (taking([None, 700]), "no image as its input"),
        (taking("big"), "its input has no shape"),
        ({"class_name": "MyModel", "config": {}}, "it is a MyModel, whose layers only its code defines"),
        ({"class_name": "Sequential", "config": {"layers": []}}, "it has no layers"),
        ({"class_name": ["Sequential"], "config": {}}, "its JSON names no class of a model: save it"),
        (sequential(IMAGE, {"class_name": "Conv2D", "config": {}}), r": layer number 2 \(Conv2D\): its filters"),
        ({"class_name": "Sequential", "config": {"layers": [[]]}}, "its layer 1 is not written as Keras"),
        ({"model": 1}, "describes no Keras model"),
        (functional(IMAGE), "an input but no layers"),
    ],
)
def test_what_cannot_be_counted_is_one_line(document, line):
    refused(document, line)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a":' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"", "file is empty"),
        (b"\x89HDF\r\n\x1a\n" + b"x" * 99, "old HDF5 format"),
        (b"\x80\x02}q\x00.", "a pickle of PyTorch"),
        ("kind,channels\nflatten,\ndense,10".encode("utf-16"), r"it is UTF-16 text: save it in UTF-8, a layer table"),
        (b"[net]\nbatch=64\n[convolutional]\n", "convert the model to ONNX"),
        (b"hello, world", "this is plain text, not a network that can be read: give a .keras file"),
        (b'{"format": "graph-model", "modelTopology": {}}', "this is a TensorFlow.js graph model, not a network that"),
        (b"\x08\x08\xff\xff\xff", "damaged or cut short, or not ONNX"),
        (b"\x08\x08", "no graph of operators"),
        # A SavedModel: its version, then a long message.
        (b"\x08\x01\x12\xff\xff\x01" + b"\x0a" * 0x7FFF, "not an ONNX model: .* for a SavedModel"),
        (b"\x1f\x8b\x08\x00broken", "compressed file is damaged|truncated"),
    ],
)
def test_what_is_no_network_is_one_line(data, line):
    with pytest.raises(InputError, match=line) as error:
        read_network(data, "mine.bin")
    assert str(error.value).startswith("mine.bin: ") and "\n" not in str(error.value)


def test_checkpoints_are_told_to_export_and_recurrent_layers_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"x")
        archive.writestr("model/data/0", b"x")
    with pytest.raises(InputError, match=r"PyTorch checkpoint.*torch\.onnx\.export"):
        read_network(tmp_path / "model.pt", "model.pt")
    with pytest.raises(InputError, match="recurrent layers, and the models know only CNNs"):
        read(sequential(IMAGE, layer("Reshape", "rows", target_shape=[8, -1]), layer("LSTM", "mine", units=4)))


MODEL = json.dumps(sequential(IMAGE, layer("Conv2D", "conv", filters=4, kernel_size=3))).encode()


def archive(*files: tuple[str, bytes], packed: bool = True) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as target:
        for name, data in files:
            target.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (archive(("data.json", b"x"), ("version", b"3")), "no config.json, so it is not a .keras file"),
        (archive(("../../config.json", MODEL)), "no config.json"),
        (archive(("config.json", b"{}" + b" " * 40 * 2**20)), "more than 100 times its size|more than 16 MB"),
        (archive(("config.json", b" " * 10 * 2**20)), r"^net\.keras: its config\.json is blank: save"),
        (archive(("config.json", MODEL), packed=False).replace(b'"filters": 4', b'"filters": 5'), "archive is damaged"),
    ],
)
def test_archives_that_are_not_models_are_refused(data, line):
    with pytest.raises(InputError, match=line) as error:
        read_network(data, "net.keras")
    assert "\n" not in str(error.value) and "profile" not in str(error.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_descriptions_are_refused():
    with pytest.raises(InputError, match="two descriptions"):
        read_network(archive(("config.json", MODEL), ("config.json", MODEL)), "net.keras")
