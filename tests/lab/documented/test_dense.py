"""The stacked dense networks."""

import numpy as np


def made_set(seed: int, rows: int = 200, inputs: int = 3):
    from profet_lab.documented.ensemble import DenseTrainingRows

    features = np.random.default_rng(seed).uniform(1_000, 100_000, (rows, inputs))
    return DenseTrainingRows(features, features @ np.arange(1, inputs + 1))


def fit_dense(*sets, **how):
    from profet_lab.documented import dense

    return dense.fit_dense(list(sets), **how)


def test_a_network_learns_a_weighted_sum():
    wanted = made_set(0)
    (weights,) = fit_dense(wanted, seed=0, epochs=60)
    error = np.abs(weights.predict_us(wanted.features) - wanted.target_us) / wanted.target_us
    assert np.mean(error) < 0.03


def test_a_network_learns_the_same_whatever_its_neighbors_are(uncompiled):
    beside_one, _ = fit_dense(made_set(0), made_set(1), seed=0, epochs=2)
    beside_other, _ = fit_dense(made_set(0), made_set(2), seed=0, epochs=2)
    np.testing.assert_allclose(beside_one.kernels[0], beside_other.kernels[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        beside_one.predict_us(made_set(0).features), beside_other.predict_us(made_set(0).features), rtol=1e-4
    )
