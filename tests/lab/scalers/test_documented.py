"""Fitting the scalers."""

import numpy as np
import pandas as pd
import pytest

from profet_core.sizes.axes import KNOTS
from profet_lab.scalers.curves import curve_from_bend, fit_scaler, latency_curves, min_max_scaled


def curves(axis: str, other: int, latency) -> pd.DataFrame:
    index = pd.MultiIndex.from_tuples([("A", other), ("B", other)], names=["model", "other"])
    sizes = np.asarray(KNOTS[axis], float)
    return pd.DataFrame([latency(sizes), 3 + 10 * latency(sizes)], index=index, columns=KNOTS[axis])


@pytest.mark.parametrize(("bend", "middle"), [(0.0, 0.5), (1.0, 0.25), (-1.0, 0.75)])
def test_a_bend_is_the_polynomial_through_both_ends(bend, middle):
    curve = curve_from_bend("any", "batch", bend)  # u = 0.5 at batch 136: u + bend * (u**2 - u)
    np.testing.assert_allclose(curve.scaled(np.array([16, 136, 256])), [0, middle, 1], atol=1e-12)


def test_a_quadratic_latency_is_recovered_exactly():
    wanted = curves("pixels", 64, lambda size: 5 + 0.01 * size**2)
    curve = fit_scaler(wanted, "any", "pixels")
    expected = (128**2 - 32**2) / (256**2 - 32**2)
    np.testing.assert_allclose(curve.scaled(np.array([128.0])), [expected], rtol=1e-9)


def test_a_curve_that_would_fall_is_bent_no_further_than_flat():
    falling_first = curves("batch", 256, lambda size: (size - 100.0) ** 4)
    curve = fit_scaler(falling_first, "any", "batch")
    assert np.all(np.diff(curve.scaled(np.arange(16, 257))) >= 0)


def test_only_the_documented_workloads_are_fitted_on():
    fitted_on = curves("batch", 256, lambda size: size)
    other = curves("batch", 32, lambda size: size**2)
    assert fit_scaler(pd.concat([fitted_on, other]), "any", "batch") == fit_scaler(fitted_on, "any", "batch")


def test_rows_are_scaled_from_their_smallest_to_their_largest_latency():
    table = pd.DataFrame([[10.0, 20.0, 30.0], [4.0, 1.0, 2.0]])
    np.testing.assert_allclose(min_max_scaled(table), [[0, 0.5, 1], [1, 0, 1 / 3]])


def test_workloads_with_all_five_sizes_are_as_many_as_in_the_baseline(measurements):
    for axis, count in (("batch", 633), ("pixels", 627)):
        assert 3 * sum(len(latency_curves(measurements, name, axis)) for name in measurements.instances) == count
