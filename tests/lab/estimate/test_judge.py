"""Fold honesty: nothing that is judged changes what is learned, chosen or calibrated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.from_layers.model import METHODS, Regime
from profet_lab.estimate.rows import EstimateRows, estimate_rows, folds_of

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
