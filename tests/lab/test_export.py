"""What is exported gives, once written and read, what the fitted members give."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.ensemble.fitted import Fitted, read_fitted, written


def run(fitted: Fitted, rows: np.ndarray) -> np.ndarray:
    """Answers of the file, (models, rows)."""
    return read_fitted(written(fitted)).run(rows)[..., 0]


def test_lines_keep_their_slopes_and_intercepts(tmp_path):
    from profet_lab.documented.ensemble import fit_line
    from profet_lab.export import line_stack, write_fitted

    latency_ms = np.array([1.0, 2.0, 3.0])
    lines = [fit_line(latency_ms, np.array(target_ms)) for target_ms in ([5.0, 7.0, 9.0], [1 / 3, 2 / 3, 1.0])]
    rows = np.array([[10.0], [0.0], [1e5]])
    np.testing.assert_allclose(run(line_stack(lines), rows), [line.predict(rows) for line in lines], rtol=1e-14)
    np.testing.assert_allclose(run(line_stack(lines[:1]), rows[:2]), [[23.0, 3.0]], rtol=1e-12)
    # Its file lies in its anchor's folder.
    assert write_fitted(line_stack(lines), tmp_path, "slow", "line") == "slow/line.npz"
    assert (tmp_path / "slow" / "line.npz").read_bytes() == written(line_stack(lines))


def test_forests_predict_as_they_did_before_export():
    from profet_lab.documented.ensemble import fit_forest
    from profet_lab.export import forest_stack

    random = np.random.default_rng(0)
    features = random.uniform(0, 1e6, (300, 7))
    forests = [fit_forest(features, features[:, part].sum(axis=1) / 1_000, seed=0) for part in (slice(7), slice(3))]
    rows = np.concatenate([features, random.uniform(0, 1e6, (300, 7))]).astype(np.float32)
    np.testing.assert_allclose(
        run(forest_stack(forests), rows), [forest.predict(rows) for forest in forests], rtol=1e-14
    )


def test_a_dense_network_answers_in_milliseconds_in_single_precision():
    from profet_lab.documented.ensemble import DenseWeights
    from profet_lab.export import dense_stack

    # relu([1000, 2000] @ [[1, -1], [1, 0]]) = [3000, 0]; [3000, 0] @ [[2], [5]] + 500 = 6500 us.
    weights = DenseWeights(
        kernels=(np.array([[1.0, -1.0], [1.0, 0.0]]), np.array([[2.0], [5.0]])), biases=(np.zeros(2), np.array([500.0]))
    )
    other = DenseWeights(weights.kernels, (np.zeros(2), np.array([1500.0])))
    rows = np.array([[1_000.0, 2_000.0]])
    np.testing.assert_allclose(weights.predict_us(rows), [6_500.0])
    # In single precision, to three digits of a latency.
    np.testing.assert_allclose(run(dense_stack([weights, other]), rows), [[6.5], [7.5]], rtol=1e-5)
    weights = DenseWeights((np.full((2, 1), 1 / 3),), (np.zeros(1),))
    (kernel,) = read_fitted(written(dense_stack([weights]))).kernels
    assert kernel.dtype == np.float32 and kernel[0, 0, 0] == np.float32(1 / 3_000)


@pytest.fixture(scope="module")
def boosted() -> list:
    """Three LightGBM models of four inputs, with other trees and another number of them each."""
    import lightgbm

    from profet_lab.classes.boosted import PARAMETERS

    random = np.random.default_rng(0)
    seen = random.uniform(-3, 3, (400, 4))
    wanted = [np.sin(seen[:, 0]) + seen[:, 1], 5 - seen[:, 2] ** 2, np.abs(seen[:, 3])]
    return [
        lightgbm.train({**PARAMETERS, "seed": number}, lightgbm.Dataset(seen, values), 30 + 10 * number)
        for number, values in enumerate(wanted)
    ]


@pytest.mark.parametrize(("models", "rows"), [(1, 1), (3, 500)])
def test_boosted_trees_answer_as_before_export_each_on_its_own_target(boosted, models, rows):
    from profet_lab.export import boosted_stack

    seen = np.random.default_rng(1).uniform(-3, 3, (rows, 4))
    outputs = run(boosted_stack(boosted[:models]), seen)
    assert outputs.shape == (models, rows)
    expected = [boosted[number].predict(seen) for number in range(models)]
    np.testing.assert_allclose(outputs, expected, rtol=1e-12, atol=1e-13)
    assert written(boosted_stack(boosted)) == written(boosted_stack(boosted)), "equal members are equal bytes"


def test_boosted_trees_send_every_threshold_left_as_lightgbm_does(boosted):
    from profet_lab.export import boosted_stack

    thresholds = read_fitted(written(boosted_stack(boosted[:1]))).numbers
    rows = np.repeat(np.concatenate([thresholds, np.nextafter(thresholds, np.inf)])[:, None], 4, axis=1)
    np.testing.assert_allclose(
        run(boosted_stack(boosted[:1]), rows)[0], boosted[0].predict(rows), rtol=1e-12, atol=1e-13
    )


def test_trees_that_nothing_splits_are_leaves_and_those_that_know_missing_values_are_refused():
    import lightgbm

    from profet_lab.classes.boosted import PARAMETERS
    from profet_lab.export import boosted_stack

    seen = np.zeros((50, 2))
    constant = lightgbm.train(PARAMETERS, lightgbm.Dataset(seen, np.full(50, 7.0)), 3)
    np.testing.assert_allclose(run(boosted_stack([constant]), seen[:2]), [[7.0, 7.0]])
    seen = np.random.default_rng(0).normal(size=(200, 2))
    seen[::3, 0] = np.nan
    missing = lightgbm.train(PARAMETERS, lightgbm.Dataset(seen, np.isnan(seen[:, 0]) + seen[:, 1]), 3)
    with pytest.raises(ValueError, match="none missing"):
        boosted_stack([missing])
