"""ONNX exports give what the fitted members give."""

import numpy as np
import onnxruntime
import pytest

from profet_lab.dense import DenseWeights
from profet_lab.export import dense_to_onnx, estimator_to_onnx
from profet_lab.members import fit_forest, fit_line

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
