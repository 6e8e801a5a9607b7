"""ONNX exports give what the fitted members give."""

import lightgbm
import numpy as np
import onnxruntime
import pytest

from profet_lab.classes.boosted import PARAMETERS
from profet_lab.documented.dense import DenseWeights
from profet_lab.documented.members import fit_forest, fit_line
from profet_lab.export import dense_to_onnx, estimator_to_onnx, trees_to_onnx

pytestmark = pytest.mark.training


def run(data: bytes, rows: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: rows.astype(np.float32)})[0].reshape(-1)


def test_a_line_keeps_its_slope_and_intercept():
    data = estimator_to_onnx(fit_line(np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0, 9.0])), 1)
    np.testing.assert_allclose(run(data, np.array([[10.0], [0.0]])), [23.0, 3.0], rtol=1e-6)


def test_a_forest_predicts_as_it_did_before_export():
    random = np.random.default_rng(0)
    features = random.uniform(0, 1e6, (300, 7))
    forest = fit_forest(features, features.sum(axis=1) / 1_000, seed=0)
    np.testing.assert_allclose(
        run(estimator_to_onnx(forest, 7), features), forest.predict(features.astype(np.float32)), rtol=1e-5
    )


def test_a_dense_network_answers_in_milliseconds():
    # relu([1000, 2000] @ [[1, -1], [1, 0]]) = [3000, 0]; [3000, 0] @ [[2], [5]] + 500 = 6500 us.
    weights = DenseWeights(
        kernels=(np.array([[1.0, -1.0], [1.0, 0.0]]), np.array([[2.0], [5.0]])),
        biases=(np.zeros(2), np.array([500.0])),
    )
    rows = np.array([[1_000.0, 2_000.0]])
    np.testing.assert_allclose(weights.predict_us(rows), [6_500.0])
    np.testing.assert_allclose(run(dense_to_onnx(weights), rows), [6.5], rtol=1e-6)


def test_equal_members_are_equal_bytes():
    weights = DenseWeights((np.ones((2, 1)),), (np.zeros(1),))
    assert dense_to_onnx(weights) == dense_to_onnx(weights)


@pytest.fixture(scope="module")
def boosted() -> list[lightgbm.Booster]:
    """Three models of four inputs, with other trees and another number of them each."""
    random = np.random.default_rng(0)
    seen = random.uniform(-3, 3, (400, 4)).astype(np.float32)
    wanted = [np.sin(seen[:, 0]) + seen[:, 1], 5 - seen[:, 2] ** 2, np.abs(seen[:, 3])]
    return [
        lightgbm.train({**PARAMETERS, "seed": number}, lightgbm.Dataset(seen, values), 30 + 10 * number)
        for number, values in enumerate(wanted)
    ]


@pytest.mark.parametrize("rows", [1, 2, 500])
@pytest.mark.parametrize("models", [1, 3])
def test_boosted_trees_answer_as_before_export_each_on_its_own_target(boosted, models, rows):
    seen = np.random.default_rng(1).uniform(-3, 3, (rows, 4)).astype(np.float32)
    session = onnxruntime.InferenceSession(trees_to_onnx(boosted[:models]), providers=["CPUExecutionProvider"])
    (outputs,) = session.run(None, {"inputs": seen})
    assert outputs.shape == (models, rows, 1)
    for number in range(models):
        np.testing.assert_allclose(outputs[number, :, 0], boosted[number].predict(seen), rtol=1e-5, atol=1e-5)


def test_the_order_of_the_models_is_that_of_the_targets(boosted):
    seen = np.array([[0.5, 1.0, 2.0, -1.0]], np.float32)
    order = [boosted[2], boosted[0], boosted[1]]
    session = onnxruntime.InferenceSession(trees_to_onnx(order), providers=["CPUExecutionProvider"])
    outputs = session.run(None, {"inputs": seen})[0][:, 0, 0]
    # |-1|, sin(0.5) + 1 and 5 - 4, as far as these trees have learned them.
    np.testing.assert_allclose(outputs, [1.0, np.sin(0.5) + 1.0, 1.0], atol=0.7)
    np.testing.assert_allclose(outputs, [model.predict(seen)[0] for model in order], rtol=1e-5)


def test_equal_trees_are_equal_bytes(boosted):
    assert trees_to_onnx(boosted) == trees_to_onnx(boosted)
