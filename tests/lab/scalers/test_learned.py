"""Fit of the default scaler: it learns the correction from training rows only and reaches its figures."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core import ArtifactError
from profet_core.sizes.axes import KNOTS
from profet_core.sizes.scaler import law_ms, learned_scaler
from profet_lab.scalers.curves import curve_rows, fit_learned_scaler, held_out_scalers, learned_scalers


def made_up_rows(axis: str, factor: float = 1.0, models: str = "ABCD") -> pd.DataFrame:
    """Curves of two instances that are the scaling model times a factor at the middle knot."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        [
            {"instance": instance, "anchor": "c", "model": model, "other_size": size, "head_share": random.uniform()}
            for instance in "ab"
            for model in models
            for size in (32, 64, 128)
        ]
    )
    low = random.uniform(5, 50, len(rows))
    high = low * random.uniform(3, 12, len(rows))
    inner = law_ms(axis, low, high, rows["head_share"].to_numpy()) * [1, factor, 1]
    return rows.join(pd.DataFrame(np.column_stack([low, inner, high]), columns=list(KNOTS[axis])))


@pytest.mark.parametrize("axis", list(KNOTS))
@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_a_factor_beyond_the_law_is_learned(axis, factor):
    rows = made_up_rows(axis, factor)
    scaler = fit_learned_scaler(rows, axis)
    curves = rows[list(KNOTS[axis])].to_numpy()
    found = scaler.inner_ms(
        rows["instance"].tolist(),
        curves[:, 0],
        curves[:, -1],
        rows["other_size"].to_numpy(float),
        rows["head_share"].to_numpy(),
    )
    np.testing.assert_allclose(found, curves[:, 1:-1], rtol=0.01)


@pytest.mark.parametrize("axis", list(KNOTS))
def test_no_row_of_a_held_out_architecture_reaches_its_scaler(axis):
    """A's rows are poisoned: the scaler without A stays as it was, any that sees them has no numbers left."""
    rows = made_up_rows(axis, 1.1)
    before = dict(held_out_scalers(rows, axis))
    poisoned = rows.copy()
    poisoned.loc[poisoned["model"] == "A", list(KNOTS[axis])] = np.nan
    scalers = held_out_scalers(poisoned, axis)
    assert next(scalers) == ("A", before["A"])
    with pytest.raises(ArtifactError, match="invalid numbers"):
        next(scalers)


def test_an_axis_without_all_five_sizes_has_no_curve(small):
    assert curve_rows(small, "batch").empty
    assert learned_scalers(small) == []


def five_sizes(small, axis_column: str):
    """The made-up measurements with runs (but not profiles) at all five batch sizes."""
    runs = small.all_latencies
    first = runs[runs[axis_column] == 16]
    more = [
        first.assign(**{axis_column: size, "batch_latency_ms": first["batch_latency_ms"] * size / 16})
        for size in KNOTS["batch"]
    ]
    return replace(small, all_latencies=pd.concat(more, ignore_index=True))


def test_rows_hold_medians_and_the_nearest_profile_of_another_instance(small):
    rows = curve_rows(five_sizes(small, "batch_size"), "batch")
    assert len(rows) == 2 * 3 * 2  # instances x models x pixel sizes, one other instance each
    assert (rows["instance"] != rows["anchor"]).all()
    assert rows["head_share"].isna().all()  # no profile at batch 256
    np.testing.assert_allclose(rows[256] / rows[16], 16)


def test_a_share_unknown_at_one_size_is_that_of_the_nearest(small):
    """Profiles at 256 pixels exist for batches 16 to 64 only; the curve at batch 256 takes the one at 64."""
    workloads = small.workloads.assign(pixels=small.workloads["pixels"].replace({64: 256}))
    runs = small.all_latencies[small.all_latencies["pixels"] == 32]
    runs = pd.concat([runs.assign(pixels=size) for size in KNOTS["pixels"]], ignore_index=True)
    runs = pd.concat([runs, runs[runs["batch_size"] == 64].assign(batch_size=256)], ignore_index=True)
    rows = curve_rows(replace(small, workloads=workloads, all_latencies=runs), "pixels")
    shares = rows.set_index(["instance", "model", "other_size"])["head_share"]
    assert shares["slow", "A", 256] == shares["slow", "A", 64] != shares["slow", "A", 16]
    assert shares.between(0, 1).all()


def test_the_manifests_rows_are_numbers_and_their_curves_never_fall_whatever_the_ends_are(measurements):
    rows = json.loads(json.dumps(learned_scalers(measurements)))
    assert [learned_scaler(row).axis for row in rows] == ["batch", "pixels"]
    for row in rows:
        scaler = learned_scaler(row)
        for ratio in (1.0001, 1.1, 2, 5, 15, 17, 40, 200, 1000):
            for low_ms in (0.1, 5.0, 50.0, 5000.0):
                for other_size, head_share in ((np.nan, np.nan), (32, 0.0), (128, 0.5), (2048, 1.0)):
                    scaled = scaler.scaled("p2.xlarge", low_ms, ratio * low_ms, other_size, head_share)
                    assert scaled[0] == 0 and scaled[-1] == 1
                    assert (np.diff(scaled) >= 0).all()


def test_predicted_ends_that_are_right_do_as_well_as_true_ones(measurements):
    """And ends that fall, which serving refuses, are taken as level instead of breaking the report."""
    from profet_lab.validation.documented import learned_inner_ms, mape_percent, predicted_ends, scaled

    anchor, target = "g4dn.xlarge", "p3.2xlarge"
    true_ms = measurements.latency_ms[target]
    predictions = measurements.workloads.assign(anchor=anchor, target=target, true_ms=true_ms)
    rows = curve_rows(measurements, "batch")
    inner_ms = learned_inner_ms(rows, "batch")
    right, falling = (
        scaled(inner_ms, predicted_ends(rows, predictions.assign(ends=ends), "ends", "batch"), "batch")
        for ends in (true_ms, 1 / true_ms)
    )
    assert mape_percent(right["true_ms"], right["scaled_ms"]) <= 4.0
    assert np.isfinite(falling["scaled_ms"]).all()
