"""What is written is read again, to the last bit, and equal arrays are equal bytes."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from profet_core.fitted.dense import DenseStack
from profet_core.fitted.files import read_fitted, written
from profet_core.fitted.trees import TreeStack

THIRD = 1 / 3


def network(weight: float = 0.5, activation: str = "silu") -> DenseStack:
    return DenseStack((np.full((2, 3, 1), weight),), (np.full((2, 1, 1), -1.0),), activation)


def tree(threshold: float = 0.5, inputs: int = 3) -> TreeStack:
    return TreeStack(
        roots=np.array([[0]]),
        features=np.array([inputs - 1, 0, 0]),
        steps=np.array([1, 0, 0]),
        numbers=np.array([threshold, -1.0, 2.0]),
        inputs=inputs,
    )


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_networks_come_back_as_they_were(precision, activation):
    layer = DenseStack((np.full((2, 3, 1), THIRD, precision),), (np.full((2, 1, 1), -1.0, precision),), activation)
    found = read_fitted(written(layer))
    assert isinstance(found, DenseStack) and found.activation == activation
    assert [(array.dtype, array.shape) for array in found.kernels] == [(precision, (2, 3, 1))]
    assert found.kernels[0].ravel().tolist() == [precision(THIRD)] * 6 and found.biases[0].ravel().tolist() == [-1, -1]


@pytest.mark.parametrize("threshold", [0.5, THIRD])
def test_trees_come_back_as_they_were(threshold):
    found = read_fitted(written(tree(threshold)))
    assert isinstance(found, TreeStack) and found.inputs == 3
    assert (found.numbers.dtype, found.numbers.tolist()) == (np.float64, [threshold, -1.0, 2.0])
    rows = np.array([[0, 0, threshold], [0, 0, np.nextafter(threshold, 1)]])
    assert found.run(rows).ravel().tolist() == [-1.0, 2.0]


def test_more_columns_than_16_bits_hold_are_told_apart():
    found = read_fitted(written(tree(inputs=70_000)))
    rows = np.zeros((2, 70_000))
    rows[1, -1] = 1
    assert found.run(rows).ravel().tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("make", [network, tree])
def test_equal_arrays_are_equal_bytes_and_others_are_not(make):
    assert written(make()) == written(make()) != written(make(THIRD))


def test_a_table_of_nodes_takes_no_more_room_than_it_needs():
    def types(data: bytes) -> set[str]:
        with np.load(io.BytesIO(data)) as file:
            return {str(file[name].dtype) for name in file.files}

    assert types(written(tree())) == {"uint16", "float32"}
    assert types(written(tree(THIRD))) == {"uint16", "float64"}
    assert types(written(tree(inputs=70_000))) == {"uint16", "int32", "float32"}


def arrays(**values: object) -> bytes:
    data = io.BytesIO()
    np.savez(data, **{name: np.array(value) for name, value in values.items()})
    return data.getvalue()


def archive(**members: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return data.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        written(network())[:-1],
        arrays(),
        arrays(activation="relu"),
        arrays(activation="relu", kernel_0=[[[1.0]]], bias_1=[[[1.0]]]),
        arrays(activation="relu", kernel_0=[[["1"]]], bias_0=[[[1.0]]]),
        arrays(activation="relu", kernel_0=1.0, bias_0=1.0),
        arrays(roots=[[0]]),
        arrays(roots=[[]], features=[], steps=[], numbers=[], inputs=0),
        archive(activation=b"relu", kernel_0=b"1", bias_0=b"1"),
    ],
    ids=[
        "nothing",
        "a head",
        "cut",
        "empty",
        "no layers",
        "a gap",
        "text",
        "numbers",
        "roots",
        "no trees",
        "no arrays",
    ],
)
def test_another_file_is_a_value_error(data):
    with pytest.raises(ValueError, match="not a file of fitted arrays"):
        read_fitted(data)


def test_a_pickle_is_not_opened():
    data = io.BytesIO()
    np.savez(data, activation="relu", kernel_0=np.array([print], object), bias_0=np.zeros((1, 1, 1)))
    with pytest.raises(ValueError, match="not a file of fitted arrays"):
        read_fitted(data.getvalue())
