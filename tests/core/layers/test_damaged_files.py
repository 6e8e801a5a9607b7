"""Damaged network files: each is a network whose counts are sane, or one line, whatever was changed in it."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core.errors import InputError
from profet_core.layers.keras.kinds import RULES as KERAS_RULES
from profet_core.layers.onnx.operators import RULES
from profet_core.layers.reading import read_network
from tests.core.layers.test_keras import IMAGE, functional, layer, sequential
from tests.core.layers.test_table import LENET, RESIDUAL
from tests.made.onnx_files import Model, node, port, small_network, tensor

VALUES = [None, True, -1, 0, 1, 3, 2**31, 10**17, 1.5, float("nan"), float("inf"), "", "same", "conv", "x" * 300]
VALUES += [
    [],
    {},
    [[]],
    [0, 1],
    [None, 8, 8, 3],
    [["image", 0, 0]],
    {"class_name": "Lambda", "config": {}},
    "\n\x00\u202e",
]
NUMBERS = st.integers(0, 2**32)


def keras_3() -> dict[str, object]:
    """A functional model as Keras 3 writes it."""

    def tensor(name: str, *shape: int | None) -> dict[str, object]:
        return {"class_name": "__keras_tensor__", "config": {"shape": [None, *shape], "keras_history": [name, 0, 0]}}

    def called(record: dict[str, object], *tensors: object) -> dict[str, object]:
        return {**record, "module": "keras.layers", "inbound_nodes": [{"args": list(tensors), "kwargs": {}}]}

    conv = layer("Conv2D", "conv", filters=4, kernel_size=[3, 3], padding="same", data_format="channels_last")
    image = {**layer("InputLayer", "image", batch_shape=[None, 8, 8, 3]), "module": "keras.layers"}
    return functional(
        image,
        called(conv, tensor("image", 8, 8, 3)),
        called(layer("BatchNormalization", "norm", axis=-1), tensor("conv", 8, 8, 4)),
        called(layer("Concatenate", "both", axis=-1), [tensor("conv", 8, 8, 4), tensor("norm", 8, 8, 4)]),
        called(
            layer("MultiHeadAttention", "mha", num_heads=2, key_dim=4), tensor("flat", 64, 8), tensor("flat", 64, 8)
        ),
        called(layer("Reshape", "flat", target_shape=[64, 8]), tensor("both", 8, 8, 8)),
        called(layer("Lambda", "code"), tensor("mha", 64, 8)),
        called(layer("Dense", "head", units=3), tensor("code", 64, 8)),
    )


def computing() -> Model:
    """A graph that computes shapes."""
    model = Model(inputs=[port("image", ("n", 4, 6, 6))], outputs=[port("out", ("n", 4, 36))])
    model.add("Shape", ["image"], "shape")
    model.add("Slice", ["shape", model.numbers("a", 0), model.numbers("b", 2), model.numbers("c", 0)], "start")
    model.add("Concat", ["start", model.numbers("rest", -1)], "target", axis=0)
    model.add("Reshape", ["image", "target"], "rows")
    model.add("Transpose", ["rows"], "columns", perm=[0, 2, 1])
    model.add("MatMul", ["rows", "columns"], "product")
    model.add("ReduceMean", ["product"], "mean", axes=[2], keepdims=1)
    model.add("Expand", ["mean", model.numbers("wide", 1, 4, 4)], "out")
    return model


def net_in_net() -> dict[str, object]:
    inside = sequential(layer("Conv2D", "c", filters=4, kernel_size=1), layer("Dense", "d", units=2))
    return sequential(IMAGE, {**inside, "name": "inside"}, layer("Flatten", "f"), layer("Dense", "out", units=2))


DOCUMENTS = [keras_3(), net_in_net()]
DOCUMENTS += [functional(IMAGE, layer("Conv2D", "conv", "image", filters=4, kernel_size=3), layer("ReLU", "r", "conv"))]


def archive(document: object) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("config.json", json.dumps(document))
        target.writestr("model.weights.h5", b"\x89HDF" * 99)
    return out.getvalue()


FILES = [small_network().data(), computing().data(), LENET, RESIDUAL, archive(keras_3())]
FILES += [json.dumps(document).encode() for document in DOCUMENTS]


def check(data: bytes, pixels: int | None) -> bool:
    """Whether it was read; anything but a sane network or a line fails the test."""
    try:
        network = read_network(data, "mine", pixels)
    except InputError as error:
        line = str(error)
        assert line.startswith("mine: ") and line.isprintable() and len(line) < 700, line
        return False
    counts = network.counts
    assert counts.pixels > 0 and counts.layers == len(network.layers) > 0
    assert 0 <= counts.trainable_parameters <= counts.parameters
    assert counts.activation_elements >= counts.other_elements >= 0 and counts.flops >= 0
    assert all(isinstance(side, int) and side > 0 for layer in network.layers for side in layer.output)
    assert all(layer.name.isprintable() for layer in network.layers)
    assert all(line.isprintable() for line in network.caveats)
    return True


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Ways to every value in a JSON document."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        found += places(each, (*path, key))
    return found


def changed(document: object, seed: int) -> object:
    """The document with one to three values replaced, dropped, repeated or taken from elsewhere in it."""
    chance = random.Random(seed)
    document = json.loads(json.dumps(document))
    for _ in range(chance.randint(1, 3)):
        where = chance.choice(places(document))
        holder = document
        for key in where[:-1]:
            holder = holder[key]
        match chance.randrange(4):
            case 0:
                del holder[where[-1]]
            case 1 if isinstance(holder, list):
                holder.append(json.loads(json.dumps(holder[where[-1]])))
            case 2:
                other = document
                for key in chance.choice(places(document)):
                    other = other[key]
                holder[where[-1]] = json.loads(json.dumps(other))
            case _:
                holder[where[-1]] = chance.choice(VALUES)
    return document


def damaged(data: bytes, seed: int) -> bytes:
    """Bytes changed, dropped, repeated or cut."""
    chance = random.Random(seed)
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(out))
        match chance.randrange(5):
            case 0:
                out[at] = chance.randrange(256)
            case 1:
                del out[at : at + chance.randrange(1, 9)]
            case 2:
                out[at:at] = out[at : at + chance.randrange(1, 99)]
            case 3:
                out[at : at + 1] = b"\xff" * chance.randrange(1, 12)
            case 4:
                del out[max(at, len(out) // 2) :]
        out = out or bytearray(b"x")
    return bytes(out)


def test_the_sound_files_are_read():
    for data in FILES:
        assert check(data, 32 if data is LENET else None)


@given(st.sampled_from(DOCUMENTS), NUMBERS, st.sampled_from([None, 8, 9]))
def test_a_description_with_other_values_is_a_network_or_a_line(document, seed, pixels):
    check(json.dumps(changed(document, seed)).encode(), pixels)


@given(st.sampled_from(FILES), NUMBERS, st.sampled_from([None, 16]))
def test_damaged_bytes_are_a_network_or_a_line(data, seed, pixels):
    check(damaged(data, seed), pixels)


ATTRIBUTES = re.findall(
    r"\w+",
    """axis axes kernel_shape strides pads dilations group auto_pad ceil_mode keepdims perm to transA transB starts ends
    split blocksize allowzero value_int value_ints start end output_padding scales""",
)
WHOLE = [-(2**63), -5, -1, 0, 1, 2, 3, 7, 2**20, 2**40]
OPERATORS = sorted({*RULES, "Constant", "Nothing"})


def any_attribute(chance: random.Random) -> int | str | list[int]:
    few = chance.choices([0, 1, 2], k=2)
    return chance.choice([chance.choice(WHOLE), chance.choices(WHOLE, k=3), few, "VALID"])


def any_graph(seed: int) -> bytes:
    """Operators with whatever inputs and attributes."""
    chance = random.Random(seed)
    model = Model(inputs=[port("image", chance.choice([("n", 3, 8, 8), (2, 3, 8, 8), ("n", 9, 9, 3)]))])
    names = ["image"]
    for index in range(chance.randrange(1, 6)):
        sides = [chance.choice([0, 1, 2, 3, 8, 9]) for _ in range(chance.randrange(5))]
        names.append(model.weights(f"weight{index}", *sides))
        names.append(model.numbers(f"number{index}", *chance.choices(WHOLE, k=chance.randrange(5))))
        reals = np.array(chance.choices([0, 1, 2, -1, np.nan, np.inf, 0.5], k=chance.randrange(5)), np.float32)
        model.tensors.append(tensor(f"real{index}", reals))
        names.append(f"real{index}")
    for index in range(chance.randrange(1, 5)):
        attributes = {name: any_attribute(chance) for name in chance.sample(ATTRIBUTES, chance.randrange(5))}
        inputs = chance.choices([*names, ""], k=chance.randrange(5))
        inputs = [names[-1], *inputs] if chance.random() < 0.6 else inputs
        outputs = [f"out{index}", f"more{index}"][: chance.randrange(1, 3)]
        model.nodes.append(node(chance.choice(OPERATORS), inputs, outputs, attributes))
        names.append(f"out{index}")
    model.outputs = [port(names[-1], (1,))]
    return model.data()


SETTINGS = {
    **{"filters": 4, "kernel_size": 3, "strides": 1, "padding": "same", "groups": 1, "depth_multiplier": 1, "units": 5},
    **{"pool_size": 2, "axis": -1, "target_shape": [-1, 3], "dims": [2, 1, 3], "n": 2, "size": 2, "height": 4},
    **{"width": 4, "num_heads": 2, "key_dim": 3, "cropping": 1, "dilation_rate": 1, "use_bias": True, "function": "x"},
    **{"shared_axes": None, "data_format": "channels_last", "keepdims": False, "trainable": True, "value_dim": None},
}
CLASSES = [*sorted(KERAS_RULES), "Lambda", "GetItem", "Stack", "TFOpLambda", "Relu", "InputLayer", "Sequential"]
SIZES = [[None, 9, 3], [None, 4, 4], [None, 3, 8, 8], [None, 2, 3, 4, 5], [None, None, None, 3]]


def any_model(seed: int) -> bytes:
    """Layers of all kinds, some of their settings odd, one after another."""
    chance = random.Random(seed)
    layers = [IMAGE, layer("InputLayer", "other", batch_shape=chance.choice(SIZES))]
    names = ["image", "other"]
    odd = [*VALUES, 2, 4, [1, 1], [-1], [1, 2, 3], [[1, 1], [0, 0]], "causal", "channels_first", 2**24]
    for index in range(chance.randrange(1, 5)):
        config = SETTINGS | {name: chance.choice(odd) for name in chance.sample(list(SETTINGS), chance.randrange(4))}
        inputs = chance.choices(names[-2:], k=chance.choice([1, 1, 1, 2, 3]))
        record = layer(chance.choice(CLASSES), f"layer{index}", *inputs, **config)
        module = chance.choice([None, None, "keras.layers", "keras.src.ops.numpy", "mine", 3])
        layers.append(record if module is None else {**record, "module": module})
        names.append(f"layer{index}")
    return json.dumps(functional(*layers) if chance.random() < 0.7 else sequential(*layers[1:])).encode()


@given(NUMBERS, st.sampled_from([None, 1, 8]))
@settings(max_examples=200)
def test_any_model_is_a_network_or_a_line(seed, pixels):
    check(any_model(seed), pixels)


@given(NUMBERS, st.sampled_from([None, 16]))
@settings(max_examples=200)
def test_any_graph_is_a_network_or_a_line(seed, pixels):
    check(any_graph(seed), pixels)


def test_operators_that_once_failed_are_a_line():
    for operator, inputs, attributes in (
        ("ConstantOfShape", ["", "image"], {}),
        ("Unsqueeze", ["", "number"], {}),
        ("Unsqueeze", ["number"], {"axes": list(range(54))}),
        ("Pad", ["image", "number"], {}),
    ):
        model = small_network()
        model.numbers("number", -(2**63), 2**62)
        model.nodes.append(node(operator, inputs, ["end"], attributes))
        assert not check(model.data(), None)


def some_read(make: Callable[[int], bytes]) -> float:
    return sum(check(make(seed), None) for seed in range(100)) / 100


def test_the_damage_is_neither_fatal_nor_harmless_throughout():
    assert 0.05 < some_read(lambda seed: json.dumps(changed(DOCUMENTS[0], seed)).encode()) < 0.95
    assert 0.02 < some_read(any_model) < 0.95 and 0.02 < some_read(any_graph) < 0.95
    assert 0.02 < some_read(lambda seed: damaged(FILES[0], seed)) < 0.95
