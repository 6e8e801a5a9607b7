"""The JSON of Keras models, of Keras 2 too, and what is refused of it; the lab's tests have files that Keras wrote."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from profet_core.errors import InputError
from profet_core.layers import counts_of
from profet_core.layers.keras import nodes
from profet_core.layers.reading import read_network


def layer(class_name: str, name: str, *inputs: str, **config: object) -> dict[str, object]:
    """A layer of a functional model as Keras 2 writes it."""
    nodes = [[[each, 0, 0, {}] for each in inputs]] if inputs else []
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
    assert network.counts.depthwise_flops == 2 * 36 * 9
    assert network.counts.convolution_flops == 2 * (108 * 64 + 24 * 9 + 216 * 9)
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
    assert read(document).counts == counts_of("LeNet5", 32)
    assert read(document, 28).counts.parameters == counts_of("LeNet5", 28).parameters


def test_a_layer_that_is_called_again_has_its_parameters_once():
    twice = layer("Conv2D", "conv", filters=3, kernel_size=3, padding="same")
    twice["inbound_nodes"] = [[["image", 0, 0, {}]], [["conv", 0, 0, {}]]]
    document = functional(IMAGE, twice)
    document["config"]["output_layers"] = [["conv", 1, 0]]
    counts = read(document).counts
    assert counts.parameters == 84 and counts.convolution_flops == 2 * (2 * 81 * 64)


def test_a_model_that_is_called_again_is_parsed_once(monkeypatch):
    parsed: list[str] = []
    parse = nodes._layer_record

    def noted(record, number):
        parsed.append(record["class_name"])
        return parse(record, number)

    monkeypatch.setattr(nodes, "_layer_record", noted)
    counts = read(called(sequential(layer("Conv2D", "conv", filters=3, kernel_size=1)), 50)).counts
    assert parsed == ["InputLayer", "Sequential", "Conv2D"]
    assert counts.parameters == 12 and counts.convolutions == 50 and counts.convolution_flops == 50 * 2 * 9 * 64


def test_a_model_in_a_model_is_its_layers():
    inside = functional(
        layer("InputLayer", "inner", batch_input_shape=[None, 99, 99, 3]),
        layer("Conv2D", "conv", "inner", filters=4, kernel_size=1),
        first="inner",
    )
    document = functional(
        IMAGE,
        {**inside, "name": "base", "inbound_nodes": [[["image", 0, 0, {}]]]},
        layer("Flatten", "flat", "base"),
    )
    network = read(document)
    assert network.counts.convolution_flops == 2 * 12 * 64
    assert [each.name for each in network.layers] == ["image", "conv", "flat"]


def deep(depth: int) -> dict[str, object]:
    document = sequential(layer("Conv2D", "conv", filters=1, kernel_size=1, batch_input_shape=[None, 8, 8, 3]))
    for _ in range(depth):
        document = sequential(document)
    return document


def unfolding() -> dict[str, object]:
    """Each model calls the one inside it ten times: 10^9 layers of some lines."""
    inner = functional(layer("InputLayer", "i", batch_input_shape=[None, 8, 8, 3]), layer("ReLU", "r", "i"), first="i")
    for level in range(9):
        calls = [[["i", 0, 0, {}]]] + [[[f"m{level}", call, 0, {}]] for call in range(9)]
        inner = functional(
            layer("InputLayer", "i", batch_input_shape=[None, 8, 8, 3]),
            {**inner, "name": f"m{level}", "inbound_nodes": calls},
            first="i",
        )
        inner["config"]["output_layers"] = [[f"m{level}", 9, 0]]
    return inner


def called(inner: dict[str, object], times: int) -> dict[str, object]:
    """A model in a model that is called so many times on the image."""
    return functional(IMAGE, {**inner, "name": "inner", "inbound_nodes": [[["image", 0, 0, {}]]] * times})


def one_of_many_inputs() -> dict[str, object]:
    """A sequence of a thousand inputs, which are no layers of it, and an activation."""
    inputs = [layer("InputLayer", f"i{number}") for number in range(1_000)]
    return sequential(*inputs, layer("ReLU", "relu"))


def one_of_many_tensors() -> dict[str, object]:
    """A sum of one tensor with itself, a thousand times."""
    return functional(IMAGE, layer("Add", "sum", *["image"] * 1_000))


def one_of_many_outputs() -> dict[str, object]:
    """An activation that is put out a thousand times."""
    inner = functional(IMAGE, layer("ReLU", "relu", "image"))
    inner["config"]["output_layers"] = [["relu", 0, 0]] * 1_000
    return inner


def of(class_name: str, **config: object) -> dict[str, object]:
    """A model of one layer."""
    return functional(IMAGE, layer(class_name, "mine", "image", **config))


def policies(inside: object) -> dict[str, object]:
    """Keras' policies of dtypes of the layers in one layer."""
    return {"class_name": "DTypePolicyMap", "config": {"default_policy": "float32", "policy_map": {"q": inside}}}


def taking(shape: object) -> dict[str, object]:
    """A model whose input has this shape."""
    return functional(layer("InputLayer", "image", batch_input_shape=shape), layer("ReLU", "a", "image"))


def chain(class_name: str, **config: object) -> dict[str, object]:
    """Two layers alike, one after another."""
    return functional(IMAGE, layer(class_name, "a", "image", **config), layer(class_name, "b", "a", **config))


def lists_in_lists(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (of("Lambda"), r"layer mine \(Lambda\): what its code does"),
        (of("Secret"), r"layer mine \(Secret\): this kind of layer isn't known"),
        (of("LSTM"), r"layer mine \(LSTM\): such layers aren't counted"),
        (
            functional(IMAGE, {**layer("Conv2D", "mine", "image"), "registered_name": "evil>Conv2D"}),
            "this kind of layer isn't known",
        ),
        (functional(IMAGE, {**layer("ReLU", "mine", "image"), "module": "keras_mine.layers"}), "isn't known"),
        (functional(IMAGE, {**layer("Relu", "mine", "image"), "module": "os.ops"}), "isn't known"),
        (functional(IMAGE, layer("ReLU", "a", "b"), layer("ReLU", "b", "a")), "called in a circle"),
        (functional(IMAGE, layer("ReLU", "a", "a")), "called in a circle"),
        (functional(IMAGE, layer("ReLU", "a", "nowhere")), "layer a is called on nowhere, which isn't there"),
        (functional(IMAGE, layer("ReLU", "a", "image"), layer("ReLU", "a", "image")), "two .* are called a"),
        (of("Conv2D", filters=-1, kernel_size=3), "its filters is -1: a whole number"),
        (of("Conv2D", filters=0, kernel_size=3), "its filters is 0"),
        (of("Conv2D", filters=10**17, kernel_size=3), "its filters is 1000"),
        (of("Conv2D", filters="9", kernel_size=3), 'its filters is the text "9": a whole number'),
        (of("Conv2D", filters=True, kernel_size=3), "its filters is True"),
        (of("Conv2D", filters=float("nan"), kernel_size=3), "its filters is nan"),
        (of("Conv2D", filters=lists_in_lists(900), kernel_size=3), "its filters is a list|nested too deeply"),
        (of("Conv2D", filters=9, kernel_size=[3] * 9), "its kernel_size has 9 numbers"),
        (of("Conv2D", filters=9, kernel_size=9), "would put out 0 x 0 x 9"),
        (of("Conv2D", filters=9, kernel_size=3, padding="mirror"), "its padding is mirror"),
        (of("Conv2D", filters=9, kernel_size=3, use_bias="yes"), "its use_bias is neither true nor false"),
        (of("Dense", units=3, lora_rank=2), "adapted by LoRA"),
        (of("Dense", units=3, dtype="int8_from_float32"), "it is quantised"),
        (of("Dense", units=3, dtype={"config": {"mode": "int8"}}), "it is quantised"),
        (of("Dense", units=3, dtype=policies("int8_from_float32")), "it is quantised"),
        (of("LayerNormalization", rms_scaling=1), "its rms_scaling is neither true nor false"),
        (chain("Dense", units=2**24), "more than .* parameters"),
        (of("ZeroPadding2D", padding=[[-1, 0], [0, 0]]), "its padding is -1"),
        (of("ZeroPadding2D", padding=2**23), "more than .* values"),
        (chain("RepeatVector", n=2**24), "more than .* values"),
        (of("UpSampling2D", size=2**20), "more than .* values"),
        (of("Reshape", target_shape=[5, 5]), "don't fill"),
        (of("Permute", dims=[1, 1, 1]), "order doesn't fit"),
        (of("BatchNormalization", axis=9), "its axis doesn't fit"),
        (of("Concatenate", axis="x"), "its axis doesn't fit"),
        (taking([None, -4, 4, 3]), "image's height is -4"),
        (taking([None, 10**9, 4, 3]), "image's height is 1000000000"),
        (taking([None, 700]), "no image as its input"),
        (taking([None, "32", 32, 3]), 'its image\'s height is the text "32": a whole number'),
        (taking("big"), "its input has no shape"),
        ({"class_name": "MyModel", "config": {}}, "it is a MyModel, whose layers only its code knows"),
        ({"class_name": "Sequential", "config": {"layers": []}}, "it has no layers"),
        ({"class_name": ["Sequential"], "config": {}}, "its JSON names no class of a model: save it"),
        (sequential(IMAGE, {"class_name": "Conv2D", "config": {}}), r": layer number 2 \(Conv2D\): its filters"),
        ({"class_name": "Functional", "config": None}, "it has no layers"),
        ({"class_name": "Sequential", "config": {"layers": [[]]}}, "its layer 1 is not written as Keras"),
        ({"model": 1}, "describes no Keras model"),
        (functional(IMAGE), "an input and no layer behind it"),
        (sequential(IMAGE), "an input and no layer behind it"),
        (of("TFOpLambda", function=[]), "this kind of layer isn't known"),
        (deep(11), "models in models, more than 10 deep"),
        (deep(100), "more than 10 deep"),
        (called(one_of_many_inputs(), 300), "it has more than 200,000 layers and tensors to follow"),
        (called(one_of_many_tensors(), 300), "more than 200,000 layers and tensors"),
        (called(one_of_many_outputs(), 300), "more than 200,000 layers and tensors"),
        (of("ReLU", **{f"s{number}": 1 for number in range(1_001)}), "its layer 2 has more than 1,000 settings"),
        (unfolding(), "called more than 20,000 times|more than 20,000 layers"),
    ],
)
def test_what_cannot_be_counted_is_one_line(document, line):
    refused(document, line)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"{" * 100_000, "not valid JSON|nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"class_name":"Sequential","class_name":"x"}', "a key twice"),
        (b'{"a":' + b"9" * 5000 + b"}", "a number of 5,000 digits"),
        (b'{"class_name": "Sequential", "config"', "not valid JSON, or cut short"),
        (b"{\xff}", "not valid JSON"),
        (b"", "file is empty"),
        (b"\x89HDF\r\n\x1a\n" + b"x" * 99, "old HDF5 format"),
        (b"\x80\x02}q\x00.", "a pickle of PyTorch"),
        (b"\x89PNG\r\n\x1a\nxxxx", "this is a picture, no network"),
        ("kind,channels\nflatten,\ndense,10".encode("utf-16"), r"it is UTF-16 text: save it in UTF-8, a layer table"),
        (b"hello, world", "this is plain text, no network that can be read: give a .keras file"),
        (b"\x08\x08\xff\xff\xff", "damaged or cut short, or no ONNX"),
        (b"\x08\x08", "no graph of operators"),
        # A SavedModel: its version, then a long message.
        (b"\x08\x01\x12\xff\xff\x01" + b"\x0a" * 0x7FFF, "this is no ONNX model; of a SavedModel"),
        (b'{"Device_Conv2D": 51425.8, "Host_IDLE": 613483.8}', "describes no Keras model"),
        (b"\x1f\x8b\x08\x00broken", "compressed file is damaged|cut short"),
    ],
)
def test_what_is_no_network_is_one_line(data, line):
    with pytest.raises(InputError, match=line) as error:
        read_network(data, "mine.bin")
    assert str(error.value).startswith("mine.bin: ") and "\n" not in str(error.value)


# --- .keras: a zip archive --------------------------------------------------------------------------------------------

MODEL = json.dumps(sequential(IMAGE, layer("Conv2D", "conv", filters=4, kernel_size=3))).encode()


def archive(*files: tuple[str, bytes], packed: bool = True) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as target:
        for name, data in files:
            target.writestr(name, data)
    return out.getvalue()


def test_an_archive_is_read_by_its_description_alone():
    data = archive(("metadata.json", b"not even JSON"), ("config.json", MODEL), ("model.weights.h5", b"\x89" * 9))
    assert read_network(data, "net.keras").counts.convolution_flops == 2 * 108 * 36


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (archive(("data.pkl", b"x"), ("version", b"3")), "no config.json, so it is no .keras file"),
        (archive(("../../config.json", MODEL)), "no config.json"),
        (archive(("/config.json", MODEL)), "no config.json"),
        (archive(("config.json", b"{}" + b" " * 40 * 2**20)), "more than 100 times its size|more than 16 MB"),
        (archive(("config.json", MODEL))[:-30], "cut short"),
        (archive(("config.json", b" " * 10 * 2**20)), r"^net\.keras: its config\.json is blank: save"),
        (archive(("config.json", MODEL), packed=False).replace(b'"filters": 4', b'"filters": 5'), "archive is damaged"),
        (archive(*((f"f{number}", b"x") for number in range(2_001))), "more than 2,000 files"),
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
