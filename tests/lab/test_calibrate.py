"""A GPU's model calibrated on a few cells, and derived GPUs by corrected epoch times."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.latency import Estimate
from profet_core.transfer.model import derive
from profet_lab.measurements.published import load_epochs
from profet_lab.measurements.tables import DataError, data_folder
from profet_lab.transfer.calibrate import PRIOR_CELLS, PRIOR_LOG_SD, MeasuredCells, calibrate, choose_cells, steps_of
from profet_lab.transfer.derived_law import (
    corrected_held_out,
    corrected_ms,
    derived_rows,
    fit_correction,
    fit_derived,
    fit_law,
    held_out_errors,
    route_ratios,
)
from profet_lab.transfer.leave_one_gpu_out import known_of, measured_latencies, profiled_target, reference_of, target_of
from profet_lab.transfer.step_law import fit_step_law
from tests.made.transfer_steps import SLOWNESS, made_transfer_steps

NEW = "g4dn.xlarge"


@pytest.fixture(scope="module")
def steps():
    return made_transfer_steps()


@pytest.fixture(scope="module")
def law(steps):
    return fit_step_law(steps, [name for name in SLOWNESS if name != NEW], np.ones(len(steps.workloads), bool))


def fit(steps, law, rows, factor=1.0):
    known = {name: known_of(law, steps, name, measured_latencies(steps), True) for name in law.instances}
    prior = target_of(law, steps, profiled_target(steps, NEW, sheet_only=True), 0.0)
    cells = MeasuredCells(rows, factor * steps.latency_ms[NEW][rows], steps.architectures[rows])
    return calibrate(known, reference_of(law), replace(prior, mix_log_sd=0.0), cells), known, prior


def test_the_benchmark_comes_first_then_each_network_in_turn(steps):
    everything = np.ones(len(steps.workloads), bool)
    rows = choose_cells(steps, everything, 8, np.random.default_rng(0))
    assert steps.benchmark[rows[0]]
    assert sorted(steps.architectures[rows[:4]]) == sorted(steps.architectures[rows[4:]]) == ["B", "C", "D", "ResNet50"]
    assert len(set(rows)) == 8
    whole = choose_cells(steps, everything, len(everything), np.random.default_rng(0))
    assert sorted(whole) == list(range(len(everything)))


def test_no_cell_is_of_the_network_that_is_held_out(steps):
    allowed = steps.architectures != "ResNet50"
    for seed in range(5):
        rows = choose_cells(steps, allowed, 27, np.random.default_rng(seed))
        assert allowed[rows].all()
    with pytest.raises(ValueError, match="28 cells of 27"):
        choose_cells(steps, allowed, 28, np.random.default_rng(0))


def test_cells_correct_the_specs_to_the_true_speed(steps, law):
    rows = np.flatnonzero(np.isin(steps.architectures, ["ResNet50", "B"]))
    found, _, prior = fit(steps, law, rows)
    truth = math.log(SLOWNESS["p3.2xlarge"] / SLOWNESS[NEW])
    assert abs(prior.log_speed - truth) > 0.1
    assert found.target.log_speed == pytest.approx(truth, abs=0.06)


def test_the_residual_is_learned_near_the_cells(steps, law):
    rows = np.flatnonzero(steps.architectures != "C")
    unseen = np.flatnonzero(steps.architectures == "C")
    found, known, _ = fit(steps, law, rows)
    for one in known.values():
        served = found.served(steps_of(one, unseen), reference_of(law))
        assert np.abs(np.log(served.latency_ms / steps.latency_ms[NEW][unseen])).max() < 0.12
        assert (served.log_sd >= found.log_sd).all()


def test_one_cell_leaves_the_spread_that_was_known(steps, law):
    found, _, _ = fit(steps, law, np.flatnonzero(steps.benchmark))
    most = math.sqrt((PRIOR_CELLS * PRIOR_LOG_SD**2 + 0.1**2) / (PRIOR_CELLS + 1))
    assert PRIOR_LOG_SD * math.sqrt(PRIOR_CELLS / (PRIOR_CELLS + 1)) <= found.log_sd < most


def test_the_report_judges_each_gpu_and_more_cells_err_less(steps):
    from profet_lab.validation.cells import cells_report

    report = cells_report(steps, lambda name: measured_latencies(steps), seed=0, counts=(1, 12), draws=1)
    few, many = report["rows"]
    assert list(few["gpus"]) == list(steps.instances)
    assert many["mean"] < few["mean"] < 30
    assert many["gpus"][NEW]["worst_draw"] == many["gpus"][NEW]["mape"]


def test_the_held_out_network_changes_no_prediction_of_itself(steps):
    """Its latencies on the new GPU could be anything."""
    from profet_lab.validation.cells import folds

    spoilt = replace(
        steps,
        latency_ms={
            name: np.where((steps.architectures == "B") & (name == NEW), 1e4, values)
            for name, values in steps.latency_ms.items()
        },
    )

    def predicted(made):
        fold = folds(made, lambda _: measured_latencies(steps), NEW, ["B"])["B"]
        return fold.judge(0, 6, np.random.default_rng(0)).query("to_new")["predicted_ms"]

    np.testing.assert_allclose(predicted(steps), predicted(spoilt))


def made_epochs() -> pd.DataFrame:
    """Three networks on T4, V100 and A10G, epochs half as long again as their steps; A10G takes 0.4 of T4."""
    rows = []
    for model, layers, t4_ms in (("A", 20, 100.0), ("B", 50, 300.0), ("C", 90, 50.0)):
        for batch_size in (16, 32, 64):
            base = t4_ms * batch_size / 16
            for instance, factor in (("g4dn", 1.0), ("p3", 0.3), ("g5", 0.4)):
                step_ms = base * factor
                rows.append(
                    {
                        "model": model,
                        "pixels": 64,
                        "batch_size": batch_size,
                        "instance": instance,
                        "raw_ms": 1.5 * step_ms,
                        "epoch_s": 1.5 * step_ms * 100 / 1000,
                        "train_batches": 100,
                        "gpu_util_mean": 80.0,
                        "n_layers": layers,
                        "g4dn.xlarge": base,
                        "p3.2xlarge": base * 0.3,
                        "measured_ms": np.nan if instance == "g5" else step_ms,
                    }
                )
    return pd.DataFrame(rows)


def test_a_constant_overhead_is_taken_off():
    epochs = made_epochs()
    found = corrected_ms(fit_correction(epochs), epochs)
    assert found == pytest.approx(epochs.raw_ms.to_numpy() / 1.5)


def test_a_networks_own_measurement_does_not_correct_it():
    epochs = made_epochs()
    spoilt = epochs.copy()
    spoilt.loc[spoilt.model == "B", "measured_ms"] *= 7
    own = (epochs.model == "B").to_numpy()
    before, after = corrected_held_out(epochs), corrected_held_out(spoilt)
    assert np.array_equal(before[own], after[own])
    assert not np.allclose(before[~own], after[~own])


def test_a_fit_on_one_gpu_alone_ignores_the_other():
    epochs = made_epochs()
    spoilt = epochs.copy()
    spoilt.loc[spoilt.instance == "p3", "measured_ms"] *= 7
    assert np.array_equal(corrected_held_out(epochs, ["g4dn"]), corrected_held_out(spoilt, ["g4dn"]))


def test_routes_compare_ratios_by_hand():
    epochs = made_epochs()
    steps = epochs.raw_ms.to_numpy() * np.where(epochs.instance == "p3", 1.2, 1.0)
    routes = route_ratios(epochs, steps)
    assert len(routes) == 9
    assert routes["T4 -> V100"].to_numpy() == pytest.approx(1.2)
    assert routes["V100 -> T4"].to_numpy() == pytest.approx(1 / 1.2)


def test_a_constant_ratio_is_recovered():
    rows = derived_rows(made_epochs(), "g5", made_epochs().raw_ms.to_numpy() / 1.5)
    law = fit_law(rows)
    known = {"g4dn.xlarge": np.array([80.0]), "p3.2xlarge": np.array([24.0])}
    found = derive(law, {name: Estimate.exact(values) for name, values in known.items()})
    assert found.latency_ms[0] == pytest.approx(32.0)


def test_the_model_is_judged_on_networks_unseen_by_it_and_the_correction():
    epochs = made_epochs()
    own = np.repeat(["A", "B", "C"], 3) == "B"
    errors = held_out_errors(epochs, "g5")
    # What PROFET measured of a network reaches its own error nowhere, the errors of the others through both fits.
    measured = np.where(epochs.model == "B", 3 * epochs.measured_ms, epochs.measured_ms)
    spoilt = held_out_errors(epochs.assign(measured_ms=measured), "g5")
    assert np.array_equal(spoilt[own], errors[own])
    assert not np.allclose(spoilt[~own], errors[~own])


def test_a_network_held_out_beside_another_reaches_nothing():
    epochs = made_epochs()
    measured = np.where(epochs.model == "B", 3 * epochs.measured_ms, epochs.measured_ms)
    spoilt = epochs.assign(measured_ms=measured)
    assert np.array_equal(held_out_errors(spoilt, "g5", without=["B"]), held_out_errors(epochs, "g5", without=["B"]))


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"No external/cloud_hw_trainpred.csv in"):
        load_epochs(tmp_path, pd.DataFrame())


def test_the_correction_reaches_the_figures_the_project_promises(measurements):
    epochs = load_epochs(data_folder(), measurements.all_latencies)
    raw = route_ratios(epochs, epochs.raw_ms.to_numpy())
    assert (100 * (raw["V100 -> T4"] - 1).abs().mean()) == pytest.approx(15.5, abs=0.1)
    corrected = route_ratios(epochs, corrected_held_out(epochs))
    for route in ("T4 -> V100", "V100 -> T4"):
        assert 100 * (corrected[route] - 1).abs().mean() <= 10
    laws = fit_derived(epochs)
    assert set(laws) == {"A10G", "Tesla P100-PCIE-16GB"}
    assert all(0 < law.log_sd < math.log(1.2) for law in laws.values())
