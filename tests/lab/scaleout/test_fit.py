"""The fit finds a scale-out model that made its rows, and no fold sees what it is asked about."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.latency import quantile
from profet_core.multi_gpu.law import Strategy
from profet_core.multi_gpu.step import GpuStep, scaled_step
from profet_lab.scaleout.fit import (
    GPU,
    NETWORK,
    covered,
    fitted_model,
    held_out_ms,
    held_out_steps,
    log_half_widths,
    predicted_ms,
    widths,
)


def test_it_finds_the_law_that_made_the_rows(made, true_law):
    found = fitted_model(made)
    np.testing.assert_allclose(predicted_ms(found, made), made["latency_ms"], rtol=0.01)
    for name in ("host_efficiency", "network_efficiency", "copy_efficiency", "overlap", "tensor_gpu_ms"):
        assert getattr(found, name) == pytest.approx(getattr(true_law, name), rel=0.1), name
    for link, share in found.link_efficiency.items():
        assert share == pytest.approx(true_law.link_efficiency[link], rel=0.2), link


def test_the_fit_runs_what_serves(made, true_law):
    for row in made[::7].itertuples():
        step = GpuStep(row.one_gpu_ms, 64, row.gradient_bytes / 4, "fp32", tensors=row.tensors)
        served = scaled_step(true_law, step, row.interconnect, row.gpus, Strategy(row.strategy))
        assert served.latency_ms == pytest.approx(row.latency_ms)


@pytest.mark.parametrize(("by", "fold", "third"), [(NETWORK, "A", "B"), (GPU, "pcie", "nvlink")])
def test_a_fold_does_not_see_what_is_held_out(noisy, by, fold, third):
    """Poisoned: were a single step of the fold seen, scale-out model and widths would be others."""
    of_fold = (noisy[by] == fold).to_numpy()
    poisoned = noisy.assign(latency_ms=noisy["latency_ms"] * np.where(of_fold, 9, 1))
    clean, other = (held_out_steps(rows, by, only=[fold]) for rows in (noisy, poisoned))
    np.testing.assert_array_equal(clean.latency_ms, other.latency_ms)
    np.testing.assert_array_equal(clean.log_half_width, other.log_half_width)
    assert np.isfinite(clean.latency_ms[of_fold]).all() and np.isnan(clean.latency_ms[~of_fold]).all()
    # The poison does reach those that may see it.
    seen = [held_out_steps(rows, by, only=[third]) for rows in (noisy, poisoned)]
    assert not np.array_equal(seen[0].log_half_width, seen[1].log_half_width, equal_nan=True)


def test_widths_hold_nine_of_ten_errors(noisy):
    times_ms = held_out_ms(noisy, NETWORK)
    found = widths(noisy, times_ms)
    inside = covered(noisy, times_ms, log_half_widths(noisy, times_ms, found))
    assert 0.85 <= inside.mean() <= 0.97


def test_errors_of_one_process_and_of_few_gpus_are_no_others_s(noisy):
    """One process far off, and each doubling far more: neither reaches what it says nothing of."""
    factor = {2: 1.02, 4: 1.2, 8: 1.4, 32: 1.8}
    rows = noisy[noisy["link"] == "pcie"]
    off = np.where(rows["strategy"] == Strategy.ONE_PROCESS, 3.0, rows["gpus"].map(factor))
    said = rows["latency_ms"].to_numpy() / off
    found = widths(rows, said)
    several, alone = found.several["pcie"], found.one_process["pcie"]
    assert several.doubling == pytest.approx(np.log(1.8) / 4, rel=0.3)
    assert quantile() * several.log_sd(0.0, 2) < 0.2 < quantile() * several.log_sd(0.0, 8) < 0.6
    assert quantile() * alone.log_sd(0.0, 2) > 0.9
