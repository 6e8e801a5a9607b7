"""Third-party network files in a limited process: the same networks, and output that is not trusted."""

from __future__ import annotations

import io
import json
import random
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper

from profet_core.errors import InputError
from profet_core.layers import reading as guarded
from profet_core.layers.onnx import KINDS as ONNX_KINDS
from profet_core.layers.reading import network_document, network_in, read_network, read_network_guarded
from profet_core.layers.rules import KINDS
from profet_profiles import sandbox
from profet_profiles.sandbox import SMALL_BYTES
from tests.core.layers.test_keras import IMAGE, functional, layer, of, sequential
from tests.core.layers.test_table import LENET, RESIDUAL
from tests.fuzz.damage import damaged, wrong_tokens
from tests.made.onnx_files import Model, node, port, small_network

MODEL = json.dumps(functional(IMAGE, layer("Conv2D", "conv", "image", filters=4, kernel_size=3))).encode()
#: A text that takes four bytes a letter once it is read.
WIDE = f'{{"class_name":"Sequential","x":"{"a" * 15_000_000}\N{GRINNING FACE}"}}'.encode()


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """The command of every process that is started."""
    commands: list[list[str]] = []
    start = subprocess.Popen

    def noted(arguments, **named):
        commands.append(arguments)
        return start(arguments, **named)

    monkeypatch.setattr(subprocess, "Popen", noted)
    return commands


@pytest.mark.parametrize(("data", "pixels"), [(MODEL, None), (small_network().data(), 24)])
def test_a_file_reads_as_in_this_process(started, data, pixels):
    network = read_network_guarded(io.BytesIO(data), "my secret net.bin", pixels)
    assert network == read_network(data, "my secret net.bin", pixels)
    assert len(started) == 1 and "secret" not in repr(started)


def test_a_small_table_needs_no_process(started):
    assert read_network_guarded(LENET, "lenet.csv", 32) == read_network(LENET, "lenet.csv", 32)
    assert started == []
    padded = LENET + b"\n" * SMALL_BYTES
    assert read_network_guarded(padded, "lenet.csv", 32).counts == read_network(LENET, "lenet.csv", 32).counts
    assert len(started) == 1


def test_a_refusal_is_the_same_line():
    for data in (json.dumps(of("Secret")).encode(), b"hello"):
        with pytest.raises(InputError) as here:
            read_network(data, "mine\n.json")
        with pytest.raises(InputError) as there:
            read_network_guarded(data, "mine\n.json")
        assert str(here.value) == str(there.value)


def test_too_much_memory_is_reported_and_nonsense_not_believed(monkeypatch):
    with monkeypatch.context() as small:
        small.setattr(sandbox, "limits_for", lambda size: (80, 5))
        with pytest.raises(InputError, match=r"^net\.json: it takes more than 80 MB of memory to read: give "):
            read_network_guarded(WIDE, "net.json")
    monkeypatch.setattr(guarded, "TASK", replace(guarded.TASK, module="this"))
    with pytest.raises(InputError, match=r"^net: reading it ended without a result"):
        read_network_guarded(MODEL, "net")


def test_what_is_no_network_is_refused():
    record = json.loads(json.dumps(network_document(read_network(MODEL, "net"))))
    layer = record["layers"][0]
    changes = [
        {"layers": []},
        {"layers": [layer] * 20_001},
        {"layers": [layer | {"flops": -1}]},
        {"layers": [layer | {"kind": "lambda"}]},
        {"layers": [layer | {"output": [0, 5]}]},
        {"layers": [layer | {"output": ["5"]}]},
        {"layers": [layer | {"channels": [3, -1]}]},
        {"layers": [layer | {"channels": [3]}]},
        {"layers": [layer | {"name": "two\nlines"}]},
        {"layers": [layer | {"output": [2**39]}]},
        {"pixels": 0},
        {"classes": "10"},
        {"caveats": ["two\nlines"]},
        {"caveats": ["x"] * 101},
        {"name": 7},
    ]
    documents = [None, {}, *(record | change for change in changes)]
    documents += [{key: record[key] for key in record if key != gone} for gone in record]
    for document in documents:
        with pytest.raises(ValueError):
            network_in(document)


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
    assert counts.pixels > 0 and counts.layers.all == len(network.layers) > 0
    assert 0 <= counts.trainable_parameters <= counts.parameters
    assert counts.elements.all >= counts.elements.other >= 0 and counts.flops.all >= 0
    assert all(isinstance(side, int) and side > 0 for layer in network.layers for side in layer.output)
    assert all(layer.name.isprintable() for layer in network.layers)
    assert all(line.isprintable() for line in network.caveats)
    return True


WHOLE = [-(2**63), -5, -1, 0, 1, 2, 3, 7, 2**20, 2**40]
OPERATORS = sorted({*ONNX_KINDS, "Constant", "Relu", "PRelu", "Clip", "Nothing"})


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
        model.tensors.append(numpy_helper.from_array(reals, f"real{index}"))
        names.append(f"real{index}")
    for index in range(chance.randrange(1, 5)):
        attributes = {name: any_attribute(chance) for name in chance.sample(ATTRIBUTES, chance.randrange(5))}
        inputs = chance.choices([*names, ""], k=chance.randrange(5))
        inputs = [names[-1], *inputs] if chance.random() < 0.6 else inputs
        outputs = [f"out{index}", f"more{index}"][: chance.randrange(1, 3)]
        model.nodes.append(node(chance.choice(OPERATORS), inputs, outputs, **attributes))
        names.append(f"out{index}")
    model.outputs = [port(names[-1], (1,))]
    return model.data()


SETTINGS = {
    **{"filters": 4, "kernel_size": 3, "strides": 1, "padding": "same", "groups": 1, "depth_multiplier": 1, "units": 5},
    **{"pool_size": 2, "axis": -1, "target_shape": [-1, 3], "dims": [2, 1, 3], "n": 2, "size": 2, "height": 4},
    **{"width": 4, "num_heads": 2, "key_dim": 3, "cropping": 1, "dilation_rate": 1, "use_bias": True, "function": "x"},
    **{"shared_axes": None, "data_format": "channels_last", "keepdims": False, "trainable": True, "value_dim": None},
}
CLASSES = [*sorted(KINDS), "Lambda", "GetItem", "Stack", "TFOpLambda", "Relu", "InputLayer", "Sequential"]
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
        model.nodes.append(node(operator, inputs, ["end"], **attributes))
        assert not check(model.data(), None)
