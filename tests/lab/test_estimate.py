"""Estimates without a profile: forward selection, judges, published steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.from_layers.model import METHODS, Regime, load_estimate
from profet_core.layers.networks import counts_of
from profet_lab.estimate.fit import forward_selection
from profet_lab.estimate.report import published_report, published_steps
from profet_lab.estimate.rows import EstimateRows, estimate_rows, folds_of
from profet_lab.measurements.published import THROUGHPUT_FILE

FEW = ("LeNet5", "VGG11", "VGG13", "VGG16", "ResNet18", "ResNet34", "ResNet50")
#: The splits that a few networks on two GPUs can tell, each by one cheap fold.
REGIMES = (Regime.LARGER_BATCH, Regime.DEEPER, Regime.UNSEEN_GPU)


@pytest.fixture(scope="module")
def rows(measurements) -> EstimateRows:
    """Of seven networks on three GPUs the sizes that all of them ran."""
    every = estimate_rows(measurements.all_latencies)
    wanted = np.isin(every.networks, FEW) & np.isin(every.pixels, (128, 224)) & (every.instances != "p2.xlarge")
    return every.of(wanted)


@pytest.fixture
def fast(monkeypatch):
    """Trees of a few rounds: what is asked here is the same of many."""
    monkeypatch.setattr("profet_lab.estimate.fit.ROUNDS", 10)


@pytest.mark.parametrize("regime", REGIMES)
def test_poisoned_rows_that_are_judged_change_nothing(rows, regime, fast):
    from profet_lab.estimate.report import Judge

    fold = list(folds_of(regime, rows))[-1]
    known = rows.is_benchmark  # Known of a held-out GPU.
    poisoned = np.where(fold.judged & ~known, rows.latency_ms * 1_000 + 7, rows.latency_ms)
    assert (poisoned != rows.latency_ms).any()
    found = []
    for latency_ms in (rows.latency_ms, poisoned):
        judge = Judge(replace(rows, latency_ms=latency_ms))
        learned = np.flatnonzero(fold.learned)
        found.append((judge.predicted(fold), judge.inside(regime, learned)))
    (clean, inside), (other, poisoned_inside) = found
    assert inside == poisoned_inside
    assert all(np.array_equal(clean[name], other[name]) for name in METHODS)


def test_each_fold_leaves_out_what_its_regime_is_about(rows):
    for fold in folds_of(Regime.INTERPOLATION, rows):
        # A workload is held out on all GPUs at once.
        assert not set(rows.workloads[fold.learned]) & set(rows.workloads[fold.judged])
    (larger,) = folds_of(Regime.LARGER_BATCH, rows)
    assert set(rows.batch_sizes[larger.learned]) == {16, 32, 64} and set(rows.batch_sizes[larger.judged]) == {128, 256}
    (deeper,) = folds_of(Regime.DEEPER, rows)
    assert set(rows.networks[deeper.judged]) == {"VGG16", "ResNet50"}
    for fold in folds_of(Regime.UNSEEN_NETWORK, rows):
        assert not set(rows.networks[fold.learned]) & set(rows.networks[fold.judged])
    for fold in folds_of(Regime.UNSEEN_GPU, rows):
        assert not set(rows.instances[fold.learned]) & set(rows.instances[fold.judged])
        assert "ResNet50" not in rows.networks[fold.judged]
    for fold in folds_of(Regime.UNSEEN_BOTH, rows):
        assert not set(rows.instances[fold.learned]) & set(rows.instances[fold.judged])
        assert not set(rows.networks[fold.learned]) & set(rows.networks[fold.judged])


def test_arrays_answer_as_the_libraries_that_fitted_them(rows):
    """xgboost splits below a threshold in single precision, lightgbm up to one: both as arrays of one kind."""
    import lightgbm
    import xgboost

    from profet_lab.estimate import fit
    from profet_lab.estimate.fit import training_of

    training = training_of(rows)
    features, values, rises = training.features, training.log_ratios, training.rises
    parameters = {**fit._XGBOOST, "monotone_constraints": "(" + ",".join(str(int(one)) for one in rises) + ")"}
    theirs = xgboost.train(parameters, xgboost.DMatrix(features, values), fit.ROUNDS)
    ours = fit.fit_xgboost(features, values, rises).run(features)[0, :, 0]
    assert ours == pytest.approx(theirs.predict(xgboost.DMatrix(features)), abs=1e-5)
    booster = lightgbm.train(
        {**fit._LIGHTGBM, "monotone_constraints": [int(one) for one in rises]},
        lightgbm.Dataset(features, values, params={"verbosity": -1}),
        fit.ROUNDS,
    )
    assert fit.fit_lightgbm(features, values, rises).run(features)[0, :, 0] == pytest.approx(
        booster.predict(features), abs=1e-9
    )


def test_inner_folds_choose_the_default_and_a_conformal_width_holds_the_share_it_says():
    from profet_lab.estimate.report import Inside, Judged, conformal, default_method

    assert conformal(np.arange(1, 100) / 100.0) == 0.9
    assert conformal(np.array([0.1, 0.2])) == 0.2

    def fold(best: str) -> Judged:
        return Judged(np.zeros(0), {}, Inside({name: 5.0 - (name == best) for name in METHODS}, {}))

    # One split of many folds has no more to say than one of a single fold.
    judged = {
        Regime.DEEPER: [fold(METHODS[1])],
        Regime.LARGER_BATCH: [fold(METHODS[1])],
        Regime.UNSEEN_NETWORK: [fold(METHODS[2])] * 15,
    }
    assert default_method(judged) == METHODS[1]
    assert judged[Regime.UNSEEN_NETWORK][0].inside.best == METHODS[2]


NETWORKS = np.repeat(np.array(list("abcdefghij")), 20)


def made(weights: list[float]) -> tuple[np.ndarray, np.ndarray]:
    features = np.random.default_rng(1).normal(size=(len(NETWORKS), 6))
    return features, 3.0 + features @ np.array([*weights, *[0.0] * (6 - len(weights))])


def test_what_made_the_values_is_selected_the_weightiest_first():
    features, values = made([0.5, 0.0, 2.0])
    found = forward_selection(features, values, [True] * 6, NETWORKS)
    assert found.columns[:2] == (2, 0)
    assert found.weights[:2] == pytest.approx([2.0, 0.5], abs=0.02)
    assert found.intercept == pytest.approx(3.0, abs=0.02)
    assert list(found.errors) == sorted(found.errors, reverse=True) and found.errors[2] < 0.02


def test_a_feature_that_rises_gets_no_weight_below_zero():
    features, values = made([-1.0, 0.3])
    rising = forward_selection(features, values, [True] * 6, NETWORKS)
    assert 0 not in rising.columns
    assert 0 in forward_selection(features, values, [False, *[True] * 5], NETWORKS).columns


def write(folder, *rows):
    columns = ["gpu", "memory_gib", "precision", "network", "pixels", "batch_size", "gpus", "images_per_s"]
    (folder / THROUGHPUT_FILE.parent).mkdir()
    pd.DataFrame(rows, columns=columns).to_csv(folder / THROUGHPUT_FILE, index=False)


def test_steps_on_one_gpu_of_known_networks_but_resnet_50_are_judged(models, tmp_path):
    write(
        tmp_path,
        ("A100-PCIE-40GB", 40, "tf32", "VGG16", 224, 64, 1, 640.0),
        ("A100-PCIE-40GB", 40, "fp32", "AlexNet", 227, 512, 1, 5120.0),
        ("A100-PCIE-40GB", 40, "tf32", "ResNet50", 224, 64, 1, 800.0),
        ("A100-PCIE-40GB", 40, "fp16", "VGG16", 224, 64, 1, 1280.0),
        ("A100-PCIE-40GB", 40, "tf32", "VGG16", 224, 64, 2, 1280.0),
        ("A100-PCIE-40GB", 40, "tf32", "SSD300 (ResNet-50)", 300, 64, 1, 200.0),
        ("Voodoo2", 1, "fp32", "VGG16", 224, 64, 1, 1.0),
    )
    model = load_estimate(models.folder)
    steps = published_steps(model, models.transfer, tmp_path)
    assert [(one.gpu, one.network) for one in steps] == [
        ("A100-PCIE-40GB", "VGG16"),
        ("A100-PCIE-40GB", "AlexNet (2014)"),
    ]
    # 64 images at 640 a second; the small AlexNet, of 61 million parameters.
    assert [one.latency_ms for one in steps] == pytest.approx([100, 100])
    assert counts_of("AlexNet (2014)", 227, 1_000).parameters < 65e6
    figures = published_report(model, models.transfer, tmp_path)
    ratios = [one.estimated_ms / 100 for one in steps]
    assert figures["all"]["n"] == 2
    assert figures["all"]["mape"] == pytest.approx(sum(abs(ratio - 1) for ratio in ratios) / 2 * 100)
    assert figures["by_network"]["VGG16"]["bias"] == pytest.approx(100 * (ratios[0] - 1))
