"""Damaged network files: each is a network whose counts are sane, or one line, whatever was changed in it."""

from __future__ import annotations

import json
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core.errors import InputError
from profet_core.layers.keras.kinds import JOINING
from profet_core.layers.keras.kinds import RULES as KERAS_RULES
from profet_core.layers.onnx.operators import RULES
from profet_core.layers.reading import read_network
from tests.core.layers.test_keras import IMAGE, functional, layer, sequential
from tests.core.layers.test_table import LENET, RESIDUAL
from tests.fuzz.damage import damaged, wrong_tokens
from tests.made.onnx_files import Model, node, port, small_network, tensor

VALUES = [None, True, -1, 0, 1, 3, 2**31, 1.5, float("nan"), "", "same", "conv", [], {}, [0, 1], [None, 8, 8, 3]]
_WORDS = """axis axes kernel_shape strides pads dilations group auto_pad ceil_mode keepdims perm to transA transB starts
ends split blocksize allowzero value_int value_ints start end output_padding scales"""
ATTRIBUTES = _WORDS.split()
NUMBERS = st.integers(0, 2**32)


CONV = layer("Conv2D", "conv", "image", filters=4, kernel_size=3)
INSIDE = {**sequential(CONV, layer("Dense", "d", units=2)), "name": "inside"}
DOCUMENTS = [functional(IMAGE, CONV, layer("ReLU", "r", "conv")), sequential(IMAGE, INSIDE, layer("Flatten", "f"))]
FILES = [small_network().data(), LENET, RESIDUAL, *(json.dumps(document).encode() for document in DOCUMENTS)]


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
CLASSES = [
    *sorted({*KERAS_RULES, *JOINING}),
    "Lambda",
    "GetItem",
    "Stack",
    "TFOpLambda",
    "Relu",
    "InputLayer",
    "Sequential",
]
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


@given(st.sampled_from(FILES), st.sampled_from([damaged, wrong_tokens]), NUMBERS, st.sampled_from([None, 16]))
def test_a_damaged_file_is_a_network_or_a_line(data, damage, seed, pixels):
    assert check(data, 32)
    dice = random.Random(seed)
    check(wrong_tokens(data, dice) if damage is wrong_tokens else damaged(data, dice, FILES), pixels)


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
