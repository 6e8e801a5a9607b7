"""The other source's epoch times: corrected without seeing the network, and the analytical models built on them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from profet_core.latency import Estimate
from profet_core.transfer.model import derive
from profet_lab.measurements.published import load_epochs
from profet_lab.measurements.tables import DataError, data_folder
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
