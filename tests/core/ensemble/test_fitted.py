"""Dense networks and trees side by side: worked out by hand, and read again to the last bit."""

from __future__ import annotations

import io
import math
import zipfile

import numpy as np
import pytest

from profet_core.ensemble.fitted import DenseStack, TreeStack, read_fitted, written


def two_layers(activation: str) -> DenseStack:
    """value -> 3 x act(2 x value - 1) + 0.5, and value -> act(-value) + 1."""
    return DenseStack(
        kernels=(np.array([[[2.0]], [[-1.0]]]), np.array([[[3.0]], [[1.0]]])),
        biases=(np.array([[[-1.0]], [[0.0]]]), np.array([[[0.5]], [[1.0]]])),
        activation=activation,
    )


def silu(value: float) -> float:
    return value / (1 + math.exp(-value))


def test_networks_answer_side_by_side_by_relu_or_silu():
    networks = two_layers("relu")
    assert (networks.models, networks.inputs) == (2, 1)
    assert networks.run(np.array([[1.0], [-1.0]])).tolist() == [[[3.5], [0.5]], [[1.0], [2.0]]]
    assert networks.run(np.zeros((0, 1))).shape == (2, 0, 1)
    answers = two_layers("silu").run(np.array([[1.0], [-1.0]]))[..., 0]
    expected = [[3 * silu(1) + 0.5, 3 * silu(-3) + 0.5], [silu(-1) + 1, silu(1) + 1]]
    np.testing.assert_allclose(answers, expected, rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_no_value_is_too_large_for_silu(precision):
    layers = two_layers("silu")
    kernels, biases = ([array.astype(precision) for array in arrays] for arrays in (layers.kernels, layers.biases))
    answers = DenseStack(kernels, biases, "silu").run(np.array([[1e6], [-1e6]]))[..., 0]
    np.testing.assert_allclose(answers, [[3 * (2e6 - 1) + 0.5, 0.5], [1, 1e6 + 1]], rtol=1e-6)
    # Networks compute in the precision of their weights.
    line = DenseStack((np.array([[[3.0]]], precision),), (np.zeros((1, 1, 1), precision),), "relu")
    answer = line.run(np.array([[0.1]]))
    assert answer.dtype == precision and answer.item() == precision(3) * precision(0.1)


def test_a_row_s_answer_does_not_depend_on_its_company():
    random = np.random.default_rng(0)
    widths = [(20, 64), (64, 32), (32, 5)]
    kernels = [random.normal(size=(3, *width)) for width in widths]
    networks = DenseStack(kernels, [random.normal(size=(3, 1, width[1])) for width in widths], "silu")
    rows = random.normal(size=(700, 20))
    alone = np.concatenate([networks.run(row[None]) for row in rows], axis=1)
    np.testing.assert_allclose(networks.run(rows), alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("kernels", "biases", "activation"),
    [
        ([], [], "relu"),
        ([(1, 2, 3)], [(1, 1, 3)], "tanh"),
        ([(1, 2, 3)], [], "relu"),
        ([(1, 2, 3)], [(1, 1, 4)], "relu"),
        ([(1, 2, 3)], [(2, 1, 3)], "relu"),
        ([(1, 2, 3), (1, 4, 1)], [(1, 1, 3), (1, 1, 1)], "relu"),
    ],
)
def test_what_is_no_network_is_none(kernels, biases, activation):
    with pytest.raises(ValueError, match="layers"):
        DenseStack([np.zeros(shape) for shape in kernels], [np.zeros(shape) for shape in biases], activation)


# Node 0: column 1 <= 2.5 ? leaf 10 : (column 0 <= -1 ? leaf 20 : leaf 30). Nodes 5 to 7: column 0 <= 0 ? 1 : 2.
# Node 8: a leaf of 100.
TREES = TreeStack(
    roots=np.array([[0, 5], [8, 5]]),
    features=np.array([1, 0, 0, 0, 0, 0, 0, 0, 0]),
    steps=np.array([1, 0, 1, 0, 0, 1, 0, 0, 0]),
    numbers=np.array([2.5, 10.0, -1.0, 20.0, 30.0, 0.0, 1.0, 2.0, 100.0]),
    inputs=2,
)


def by_hand(row: np.ndarray) -> list[float]:
    second = 1.0 if row[0] <= 0 else 2.0
    first = 10.0 if row[1] <= 2.5 else 20.0 if row[0] <= -1 else 30.0
    return [first + second, 100 + second]


def test_each_row_ends_in_its_own_leaves():
    rows = np.array([[0.0, 0.0], [1.0, 2.5], [-1.0, 2.6], [-0.9, 3.0], [1.0, 1e300]])
    answers = TREES.run(rows)
    assert answers.shape == (2, 5, 1)
    assert answers[..., 0].T.tolist() == [by_hand(row) for row in rows]
    assert answers[0, :, 0].tolist() == [11, 12, 21, 31, 32]
    # A value on the threshold goes left and the next one right.
    assert TREES.run(np.array([[0.0, 2.5], [0.0, np.nextafter(2.5, 3)]]))[0, :, 0].tolist() == [11, 31]
    assert TREES.run(np.zeros((0, 2))).shape == (2, 0, 1)
    for columns in (1, 3):
        with pytest.raises(ValueError, match=f"2 columns are needed, not {columns}"):
            TREES.run(np.zeros((1, columns)))


@pytest.mark.parametrize("together", [1, 7, 40_000])
def test_chunks_of_rows_answer_as_all_rows_do(monkeypatch, together):
    monkeypatch.setattr("profet_core.ensemble.fitted._TREES_TOGETHER", together)
    rows = np.random.default_rng(0).uniform(-3, 6, (101, 2))
    assert TREES.run(rows)[..., 0].T.tolist() == [by_hand(row) for row in rows]


@pytest.mark.parametrize(
    "change",
    [
        {"roots": np.array([[0, 9]])},
        {"roots": np.array([[-1, 5]])},
        {"roots": np.array([0, 5])},
        {"features": np.array([2, 0, 0, 0, 0, 0, 0, 0, 0])},
        {"features": np.array([-1, 0, 0, 0, 0, 0, 0, 0, 0])},
        {"steps": np.array([8, 0, 1, 0, 0, 1, 0, 0, 0])},
        {"steps": np.array([1, 0, -2, 0, 0, 1, 0, 0, 0])},
        {"steps": np.array([1, 1, 1, 1, 1, 1, 1, 0, 0])},
        {"numbers": np.zeros(8)},
    ],
)
def test_what_is_no_table_of_trees_is_none(change):
    whole = {name: getattr(TREES, name) for name in ("roots", "features", "steps", "numbers", "inputs")}
    with pytest.raises(ValueError, match="node"):
        TreeStack(**{**whole, **change})


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
    restored = read_fitted(written(layer))
    assert isinstance(restored, DenseStack) and restored.activation == activation
    assert [(array.dtype, array.shape) for array in restored.kernels] == [(precision, (2, 3, 1))]
    assert restored.kernels[0].ravel().tolist() == [precision(THIRD)] * 6 and restored.biases[0].ravel().tolist() == [
        -1,
        -1,
    ]


@pytest.mark.parametrize("threshold", [0.5, THIRD])
def test_trees_come_back_as_they_were(threshold):
    restored = read_fitted(written(tree(threshold)))
    assert isinstance(restored, TreeStack) and restored.inputs == 3
    assert (restored.numbers.dtype, restored.numbers.tolist()) == (np.float64, [threshold, -1.0, 2.0])
    rows = np.array([[0, 0, threshold], [0, 0, np.nextafter(threshold, 1)]])
    assert restored.run(rows).ravel().tolist() == [-1.0, 2.0]
    # More columns than 16 bits hold are distinguished.
    wide = np.zeros((2, 70_000))
    wide[1, -1] = 1
    assert read_fitted(written(tree(inputs=70_000))).run(wide).ravel().tolist() == [-1.0, 2.0]


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


def test_another_file_or_a_pickle_is_a_value_error():
    files = [
        b"",
        b"PK\x03\x04",
        written(network())[:-1],
        arrays(),
        arrays(activation="relu"),
        arrays(activation="relu", kernel_0=[[[1.0]]], bias_1=[[[1.0]]]),
        arrays(activation="relu", kernel_0=[[["1"]]], bias_0=[[[1.0]]]),
        arrays(activation="relu", kernel_0=1.0, bias_0=1.0),
        arrays(activation="relu", kernel_0=np.array([print], object), bias_0=np.zeros((1, 1, 1))),
        arrays(roots=[[0]]),
        arrays(roots=[[]], features=[], steps=[], numbers=[], inputs=0),
        archive(activation=b"relu", kernel_0=b"1", bias_0=b"1"),
    ]
    for data in files:
        with pytest.raises(ValueError, match="not a file of fitted arrays"):
            read_fitted(data)
