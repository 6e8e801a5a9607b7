"""A GPU's model calibrated on a few cells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from profet_lab.transfer.leave_one_gpu_out import known_of, measured_latencies, profiled_target, reference_of, target_of
from profet_lab.transfer.step_model import fit_step_model
from tests.made.transfer_steps import SLOWNESS, made_transfer_steps

from profet_lab.transfer.calibrate import PRIOR_CELLS, PRIOR_LOG_SD, MeasuredCells, calibrate, choose_cells, steps_of

NEW = "g4dn.xlarge"


@pytest.fixture(scope="module")
def steps():
    return made_transfer_steps()


@pytest.fixture(scope="module")
def step_model(steps):
    return fit_step_model(steps, [name for name in SLOWNESS if name != NEW], np.ones(len(steps.workloads), bool))


def fit(steps, step_model, rows, factor=1.0):
    known = {name: known_of(step_model, steps, name, measured_latencies(steps), True) for name in step_model.instances}
    prior = target_of(step_model, steps, profiled_target(steps, NEW, sheet_only=True), 0.0)
    cells = MeasuredCells(rows, factor * steps.latency_ms[NEW][rows], steps.architectures[rows])
    return calibrate(known, reference_of(step_model), prior, cells), known, prior


def test_the_benchmark_comes_first_then_each_network_in_turn_but_the_held_out_one(steps):
    everything = np.ones(len(steps.workloads), bool)
    rows = choose_cells(steps, everything, 8, np.random.default_rng(0))
    assert steps.benchmark[rows[0]]
    assert sorted(steps.architectures[rows[:4]]) == sorted(steps.architectures[rows[4:]]) == ["B", "C", "D", "ResNet50"]
    assert len(set(rows)) == 8
    whole = choose_cells(steps, everything, len(everything), np.random.default_rng(0))
    assert sorted(whole) == list(range(len(everything)))
    allowed = steps.architectures != "ResNet50"
    for seed in range(5):
        rows = choose_cells(steps, allowed, 27, np.random.default_rng(seed))
        assert allowed[rows].all()
    with pytest.raises(ValueError, match="28 cells of 27"):
        choose_cells(steps, allowed, 28, np.random.default_rng(0))


def test_cells_correct_the_specs_and_one_leaves_the_spread_that_was_known(steps, step_model):
    rows = np.flatnonzero(np.isin(steps.architectures, ["ResNet50", "B"]))
    found, _, prior = fit(steps, step_model, rows)
    truth = math.log(SLOWNESS["p3.2xlarge"] / SLOWNESS[NEW])
    assert abs(prior.compute - truth) > 0.1
    assert found.target.compute == pytest.approx(truth, abs=0.06)
    found, _, _ = fit(steps, step_model, np.flatnonzero(steps.benchmark))
    most = math.sqrt((PRIOR_CELLS * PRIOR_LOG_SD**2 + 0.1**2) / (PRIOR_CELLS + 1))
    assert PRIOR_LOG_SD * math.sqrt(PRIOR_CELLS / (PRIOR_CELLS + 1)) <= found.log_sd < most


def test_the_residual_is_learned_near_the_cells(steps, step_model):
    rows = np.flatnonzero(steps.architectures != "C")
    unseen = np.flatnonzero(steps.architectures == "C")
    found, known, _ = fit(steps, step_model, rows)
    for one in known.values():
        served = found.served(steps_of(one, unseen), reference_of(step_model))
        assert np.abs(np.log(served.latency_ms / steps.latency_ms[NEW][unseen])).max() < 0.12
        assert (served.log_sd >= found.log_sd).all()


def test_the_report_judges_each_gpu_and_more_cells_err_less(steps):
    from profet_lab.cells import cells_report

    report = cells_report(steps, lambda name: measured_latencies(steps), seed=0, counts=(1, 12), draws=1)
    few, many = report["rows"]
    assert list(few["gpus"]) == list(steps.instances)
    assert many["mean"] < few["mean"] < 30
    assert many["gpus"][NEW]["worst_draw"] == many["gpus"][NEW]["mape"]


def test_the_held_out_network_changes_no_prediction_of_itself(steps):
    """Its latencies on the new GPU could be anything."""
    from profet_lab.cells import judged_network

    spoilt = replace(
        steps,
        latency_ms={
            name: np.where((steps.architectures == "B") & (name == NEW), 1e4, values)
            for name, values in steps.latency_ms.items()
        },
    )

    def predicted(made):
        found = judged_network(made, NEW, "B", measured_latencies(steps), [(6, 0, [0])])
        return found.query("to_new")["predicted_ms"]

    np.testing.assert_allclose(predicted(steps), predicted(spoilt))
