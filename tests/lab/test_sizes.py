"""Scalers learn curves and scaling from training rows only."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from profet_core import ArtifactError
from profet_core.latency import quantile
from profet_core.prediction.growth import SIGNS, growth_model, scaling_distances
from profet_core.prediction.scaler import KNOTS, learned_scaler, scaling_model_ms
from profet_lab import train as training
from profet_lab.documented import learned_inner_ms, mape_percent, predicted_ends, scaled
from profet_lab.measurements.tables import DataError, class_bank
from profet_lab.sizes import (
    curve_from_bend,
    curve_rows,
    fit_error,
    fit_growth,
    fit_learned_scaler,
    fit_scaler,
    growth_content,
    growth_report,
    growth_rows,
    held_out_growth,
    held_out_scalers,
    latency_curves,
    learned_scalers,
    with_growth,
)


def curves(axis: str, other: int, latency) -> pd.DataFrame:
    index = pd.MultiIndex.from_tuples([("A", other), ("B", other)], names=["model", "other"])
    sizes = np.asarray(KNOTS[axis], float)
    return pd.DataFrame([latency(sizes), 3 + 10 * latency(sizes)], index=index, columns=KNOTS[axis])


@pytest.mark.parametrize(("bend", "middle"), [(0.0, 0.5), (1.0, 0.25), (-1.0, 0.75)])
def test_a_bend_is_the_polynomial_through_both_ends(bend, middle):
    curve = curve_from_bend("any", "batch", bend)  # u = 0.5 at batch 136: u + bend * (u**2 - u)
    np.testing.assert_allclose(curve.scaled(np.array([16, 136, 256])), [0, middle, 1], atol=1e-12)


def test_documented_curves_are_fitted_exactly_never_fall_and_ignore_other_workloads():
    wanted = curves("pixels", 64, lambda size: 5 + 0.01 * size**2)
    curve = fit_scaler(wanted, "any", "pixels")
    expected = (128**2 - 32**2) / (256**2 - 32**2)
    np.testing.assert_allclose(curve.scaled(np.array([128.0])), [expected], rtol=1e-9)
    falling_first = curves("batch", 256, lambda size: (size - 100.0) ** 4)
    curve = fit_scaler(falling_first, "any", "batch")
    assert np.all(np.diff(curve.scaled(np.arange(16, 257))) >= 0)
    fitted_on = curves("batch", 256, lambda size: size)
    other = curves("batch", 32, lambda size: size**2)
    assert fit_scaler(pd.concat([fitted_on, other]), "any", "batch") == fit_scaler(fitted_on, "any", "batch")


def test_workloads_with_all_five_sizes_are_as_many_as_in_the_baseline(measurements):
    for axis, count in (("batch", 633), ("pixels", 627)):
        assert 3 * sum(len(latency_curves(measurements, name, axis)) for name in measurements.instances) == count


def made_rows(number: int = 900) -> pd.DataFrame:
    """Steps of which a part that the first sign tells grows with the work, in proportion to images and area."""
    random = np.random.default_rng(1)
    signs = random.normal(size=(number, len(SIGNS)))
    log_batch, log_area = np.log(2.0) * random.integers(-4, 5, number), np.log(4.0) * random.integers(-3, 4, number)
    share = 1 / (1 + np.exp(-0.5 - 1.5 * signs[:, 0]))
    growth = np.log(1 - share + share * np.exp(log_batch + log_area))
    table = pd.DataFrame({"model": random.choice(list("ABCDE"), number), "instance": random.choice(["a", "b"], number)})
    table = table.assign(log_batch=log_batch, log_area=log_area, log_growth=growth)
    return table.join(pd.DataFrame(signs).add_prefix("sign "))


def test_a_made_up_model_is_found_again_without_a_held_out_architectures_rows():
    rows = made_rows()
    grown = with_growth(rows, dict.fromkeys("ABCDE", fit_growth(rows)))
    assert grown["log_error"].abs().mean() < 0.05 * rows["log_growth"].abs().mean()
    rows = made_rows(300)
    spoilt = rows.assign(log_growth=rows["log_growth"].where(rows["model"] != "B", 9.0))
    models, spoilt_models = held_out_growth(rows), held_out_growth(spoilt)
    assert np.array_equal(models["B"].share, spoilt_models["B"].share)
    assert not np.array_equal(models["A"].share, spoilt_models["A"].share)


def test_the_interval_covers_nine_of_ten_and_widens_with_the_distance():
    rows = made_rows(4_000)
    log_batch, log_area = rows["log_batch"].to_numpy(), rows["log_area"].to_numpy()
    away = scaling_distances(log_batch, log_area)
    errors = np.abs(np.random.default_rng(2).normal(size=4_000))
    errors = errors * np.hypot(0.1 * away[:2].sum(axis=0), 0.2 * away[2:].sum(axis=0))
    shares = np.full(4_000, 0.7)
    fitted = fit_error(rows.assign(log_error=errors, share=shares))
    covered = errors <= quantile() * fitted.log_sd(shares, log_batch, log_area)
    for along in (log_area == 0, log_batch == 0, (log_area != 0) & (log_batch != 0)):
        judged = along & (errors > 0)
        assert covered[judged].mean() == pytest.approx(0.9, abs=0.04)
    near, far = (fitted.log_sd(np.array([0.7]), np.array([step]), np.array([0.0]))[0] for step in (0.7, 1.4))
    assert far > 1.5 * near > 0
    assert fitted.log_sd(np.array([0.7]), np.array([0.0]), np.array([0.0]))[0] == 0


def test_pairs_are_of_one_network_and_their_file_is_what_serving_reads(classed, small):
    rows = growth_rows(classed, class_bank(classed), "slow")
    assert len(rows) == 4 * 6 * 5, "each size of a network to each other one, on the instance with latencies"
    assert (rows["log_batch"] == np.log(rows["other_batch"] / rows["batch_size"])).all()
    doubled = (rows["log_batch"] == np.log(2)) & (rows["log_area"] == 0)
    assert rows.loc[doubled, "log_growth"].to_numpy() == pytest.approx(np.log(2), abs=0.15), (
        "these steps grow with their images"
    )
    content = growth_content(classed)
    model = growth_model(content)
    assert set(model.models) == {"slow", "fast"} and model.checksum == content["checksum"]
    assert min(*model.error.of_size, *model.error.of_still) >= 0

    few = replace(small, workloads=small.workloads.assign(model="A"))
    with pytest.raises(DataError, match="at least 3 networks"):
        growth_content(few)


def test_the_report_has_every_distance(classed):
    both = replace(
        classed,
        all_latencies=pd.concat(
            [
                classed.workloads.assign(instance=name, batch_latency_ms=values, epoch_latency_s=1.0)
                for name, values in classed.latency_ms.items()
            ]
        ),
    )
    keys = ["model", "pixels", "batch_size"]
    predicted = both.workloads.groupby(keys).size().index.to_frame(index=False)
    truth = both.workloads.assign(ms=both.latency_ms["fast"]).groupby(keys)["ms"].median().to_numpy()
    predicted = predicted.assign(anchor="slow", target="fast", predicted_ms=1.3 * truth, log_half_width=0.5)
    report = growth_report(both, class_bank(both), predicted)
    assert [(row["axis"], row["knots"]) for row in report["scaled"]] == [
        *(("batch", knots) for knots in (1, 2, None)),
        *(("pixels", knots) for knots in (1, None)),
        ("both", None),
    ]
    chain = next(row for row in report["chain"] if row["axis"] == "batch" and row["knots"] == 1)
    assert chain["n"] == 4 * 2 * 4 and 20 < chain["mape"] < 45, "nearly what the prediction itself errs by"
    assert chain["coverage_90"] > 90


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
    inner = scaling_model_ms(axis, low, high, rows["head_share"].to_numpy()) * [1, factor, 1]
    return rows.join(pd.DataFrame(np.column_stack([low, inner, high]), columns=list(KNOTS[axis])))


@pytest.mark.parametrize("axis", list(KNOTS))
@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_a_factor_beyond_the_model_is_learned(axis, factor):
    rows = made_up_rows(axis, factor)
    scaler = fit_learned_scaler(rows, axis)
    curves = rows[list(KNOTS[axis])].to_numpy()
    scaled_ms = scaler.inner_ms(
        rows["instance"].tolist(),
        curves[:, 0],
        curves[:, -1],
        rows["other_size"].to_numpy(float),
        rows["head_share"].to_numpy(),
    )
    np.testing.assert_allclose(scaled_ms, curves[:, 1:-1], rtol=0.01)


@pytest.mark.parametrize("axis", list(KNOTS))
def test_no_row_of_a_held_out_architecture_changes_its_scaler(axis):
    """A's rows are poisoned: the scaler without A stays as it was, any that sees them has no numbers left."""
    rows = made_up_rows(axis, 1.1)
    before = dict(held_out_scalers(rows, axis))
    poisoned = rows.copy()
    poisoned.loc[poisoned["model"] == "A", list(KNOTS[axis])] = np.nan
    scalers = held_out_scalers(poisoned, axis)
    assert next(scalers) == ("A", before["A"])
    with pytest.raises(ArtifactError, match="invalid numbers"):
        next(scalers)


def test_rows_of_curves_hold_medians_and_the_nearest_profile_and_share(small):
    assert curve_rows(small, "batch").empty
    assert learned_scalers(small) == []
    rows = curve_rows(five_sizes(small, "batch_size"), "batch")
    assert len(rows) == 2 * 3 * 2  # instances x models x pixel sizes, one other instance each
    assert (rows["instance"] != rows["anchor"]).all()
    assert rows["head_share"].isna().all()  # no profile at batch 256
    np.testing.assert_allclose(rows[256] / rows[16], 16)
    # Profiles at 256 pixels exist for batches 16 to 64 only; the curve at batch 256 takes the one at 64.
    workloads = small.workloads.assign(pixels=small.workloads["pixels"].replace({64: 256}))
    runs = small.all_latencies[small.all_latencies["pixels"] == 32]
    runs = pd.concat([runs.assign(pixels=size) for size in KNOTS["pixels"]], ignore_index=True)
    runs = pd.concat([runs, runs[runs["batch_size"] == 64].assign(batch_size=256)], ignore_index=True)
    rows = curve_rows(replace(small, workloads=workloads, all_latencies=runs), "pixels")
    shares = rows.set_index(["instance", "model", "other_size"])["head_share"]
    assert shares["slow", "A", 256] == shares["slow", "A", 64] != shares["slow", "A", 16]
    assert shares.between(0, 1).all()


def five_sizes(small, axis_column: str):
    """The made-up measurements with runs (but not profiles) at all five batch sizes."""
    runs = small.all_latencies
    first = runs[runs[axis_column] == 16]
    more = [
        first.assign(**{axis_column: size, "batch_latency_ms": first["batch_latency_ms"] * size / 16})
        for size in KNOTS["batch"]
    ]
    return replace(small, all_latencies=pd.concat(more, ignore_index=True))


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


def test_sizes_that_were_not_all_measured_get_no_scaler(classed):
    assert training._scaler_rows(classed) == []
    sizes = {"model": "A", "pixels": 256, "repeat": 1}
    rows = [
        {"instance": name, **sizes, "batch_size": size, "batch_latency_ms": 1.0 * size}
        for name in classed.instances
        for size in (16, 32, 64, 128, 256)
    ]
    scaler_rows = training._scaler_rows(replace(classed, all_latencies=pd.DataFrame(rows)))
    assert [(row["instance"], row["axis"]) for row in scaler_rows] == [("slow", "batch"), ("fast", "batch")]
