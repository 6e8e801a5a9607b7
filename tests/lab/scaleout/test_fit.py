"""The fit finds a scale-out model that made its rows, and no fold sees what it is asked about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profet_core.latency import quantile
from profet_core.multi_gpu.law import Strategy
from profet_core.multi_gpu.step import GpuStep, scaled_step
from profet_lab.scaleout.fit import fitted_model, predicted_ms
from profet_lab.scaleout.folds import gpu_of, held_out, held_out_ms, network_of
from profet_lab.scaleout.scaleout_file import law_content
from profet_lab.scaleout.widths import covered, log_half_widths, widths


def test_it_finds_the_law_that_made_the_rows(made, true_law):
    found = fitted_model(made)
    np.testing.assert_allclose(predicted_ms(found, made), [row.latency_ms for row in made], rtol=0.01)
    for name in ("host_efficiency", "network_efficiency", "copy_efficiency", "overlap", "tensor_gpu_ms"):
        assert getattr(found, name) == pytest.approx(getattr(true_law, name), rel=0.1), name
    for link, share in found.link_efficiency.items():
        assert share == pytest.approx(true_law.link_efficiency[link], rel=0.2), link


def test_the_fit_runs_what_serves(made, true_law):
    for row in made[::7]:
        step = GpuStep(row.one_gpu_ms, 64, row.weights.parameters, "fp32", tensors=row.weights.tensors)
        served = scaled_step(true_law, step, row.interconnect, row.gpus, row.strategy)
        assert served.latency_ms == pytest.approx(row.latency_ms)


@pytest.mark.parametrize(("fold_of", "fold"), [(network_of, "A"), (gpu_of, "pcie")])
def test_a_fold_does_not_see_what_is_held_out(noisy, fold_of, fold):
    """Poisoned: were a single step of the fold seen, scale-out model and widths would be others."""
    poisoned = [replace(row, latency_ms=9 * row.latency_ms) if fold_of(row) == fold else row for row in noisy]
    clean, other = (held_out(rows, fold_of, only=[fold]) for rows in (noisy, poisoned))
    np.testing.assert_array_equal(clean.latency_ms, other.latency_ms)
    np.testing.assert_array_equal(clean.log_half_width, other.log_half_width)
    of_fold = np.array([fold_of(row) == fold for row in noisy])
    assert np.isfinite(clean.latency_ms[of_fold]).all() and np.isnan(clean.latency_ms[~of_fold]).all()
    # The poison does reach those that may see it.
    third = "B" if fold_of is network_of else "nvlink"
    seen = [held_out(rows, fold_of, only=[third]) for rows in (noisy, poisoned)]
    assert not np.array_equal(seen[0].log_half_width, seen[1].log_half_width, equal_nan=True)


def test_widths_hold_nine_of_ten_errors(noisy):
    times_ms = held_out_ms(noisy, network_of)
    found = widths(noisy, times_ms)
    inside = covered(noisy, times_ms, log_half_widths(noisy, times_ms, found))
    assert 0.85 <= inside.mean() <= 0.97


def test_the_file_s_content_is_a_law(noisy):
    content = law_content([row for row in noisy if row.strategy is not Strategy.PS_CPU])
    assert set(content["widths"]) == set(content["link_efficiency"])
    # No row speaks of a parameter server: its share stays where the fit starts.
    assert content["host_efficiency"] == pytest.approx(0.5)


def test_errors_of_one_process_and_of_few_gpus_are_no_others_s(noisy):
    """One process far off, and each doubling far more: neither reaches what it says nothing of."""
    factor = {2: 1.02, 4: 1.2, 8: 1.4, 32: 1.8}
    rows = [row for row in noisy if row.interconnect.link == "pcie"]
    said = np.array(
        [row.latency_ms / (3.0 if row.strategy is Strategy.ONE_PROCESS else factor[row.gpus]) for row in rows]
    )
    found = widths(rows, said)
    several, alone = found.several["pcie"], found.one_process["pcie"]
    assert several.doubling == pytest.approx(np.log(1.8) / 4, rel=0.3)
    assert quantile() * several.log_sd(0.0, 2) < 0.2 < quantile() * several.log_sd(0.0, 8) < 0.6
    assert quantile() * alone.log_sd(0.0, 2) > 0.9
