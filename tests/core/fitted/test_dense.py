"""Stacked dense networks give what each network gives alone, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from profet_core.fitted.dense import DenseStack


def two_layers(activation: str) -> DenseStack:
    """value -> 3 x act(2 x value - 1) + 0.5, and value -> act(-value) + 1."""
    return DenseStack(
        kernels=(np.array([[[2.0]], [[-1.0]]]), np.array([[[3.0]], [[1.0]]])),
        biases=(np.array([[[-1.0]], [[0.0]]]), np.array([[[0.5]], [[1.0]]])),
        activation=activation,
    )


def silu(value: float) -> float:
    return value / (1 + math.exp(-value))


def test_networks_answer_side_by_side():
    networks = two_layers("relu")
    assert (networks.models, networks.inputs) == (2, 1)
    assert networks.run(np.array([[1.0], [-1.0]])).tolist() == [[[3.5], [0.5]], [[1.0], [2.0]]]


def test_silu_is_a_value_times_its_sigmoid():
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


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_networks_compute_in_the_precision_of_their_weights(precision):
    line = DenseStack((np.array([[[3.0]]], precision),), (np.zeros((1, 1, 1), precision),), "relu")
    answer = line.run(np.array([[0.1]]))
    assert answer.dtype == precision and answer.item() == precision(3) * precision(0.1)


def test_a_row_s_answer_does_not_depend_on_its_company():
    random = np.random.default_rng(0)
    widths = [(20, 64), (64, 32), (32, 5)]
    networks = DenseStack(
        [random.normal(size=(3, *width)) for width in widths],
        [random.normal(size=(3, 1, width[1])) for width in widths],
        "silu",
    )
    rows = random.normal(size=(700, 20))
    together = networks.run(rows)
    assert together.shape == (3, 700, 5)
    alone = np.concatenate([networks.run(row[None]) for row in rows], axis=1)
    np.testing.assert_allclose(together, alone, rtol=1e-10, atol=1e-10)


def test_no_rows_are_answered_with_none():
    assert two_layers("relu").run(np.zeros((0, 1))).shape == (2, 0, 1)


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
    ids=["nothing", "unknown activation", "no bias", "wide bias", "two biases", "layers that do not fit"],
)
def test_what_is_no_network_is_none(kernels, biases, activation):
    with pytest.raises(ValueError, match="layers"):
        DenseStack([np.zeros(shape) for shape in kernels], [np.zeros(shape) for shape in biases], activation)
