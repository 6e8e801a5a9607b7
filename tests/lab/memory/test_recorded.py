"""What recorded peaks tell: a made-up truth is found, nothing of a held-out architecture reaches it."""

from __future__ import annotations

import pandas as pd
import pytest

from profet_core.memory.model import GIB_PER_VALUE
from profet_lab.memory.fit import ASSUMED_PEAK, LOG_SCALE, fit_peak, recorded_cells

MEMORIES_GIB = (8.0, 12.0, 16.0)
#: Network -> parameters, GiB of activations of 16 images.
NETWORKS = {"A": (1e6, 0.5), "B": (4e8, 0.2), "C": (2e7, 1.2), "D": (5e7, 0.8), "E": (1e7, 2.0), "F": (2e8, 0.3)}


def peak_gib(name: str, batch: float) -> float:
    """Weights and gradients stay, the rest grows."""
    parameters, grows = NETWORKS[name]
    return 2 * parameters * GIB_PER_VALUE + grows * batch / 16


def made_peaks() -> pd.DataFrame:
    rows = [(name, 64, batch, round(peak_gib(name, batch) * 2**30)) for name in NETWORKS for batch in (16, 64)]
    peaks = pd.DataFrame(rows, columns=["model", "pixels", "batch_size", "without_indices_bytes"])
    return peaks.assign(peak_bytes=2 * peaks["without_indices_bytes"])


def made_cells(factor: float = 1.2) -> pd.DataFrame:
    rows = [
        (name, 64, batch, NETWORKS[name][0], memory, 0.4 + factor * peak_gib(name, batch) <= memory)
        for name in NETWORKS
        for batch in range(8, 260, 12)
        for memory in MEMORIES_GIB
    ]
    return pd.DataFrame(rows, columns=["model", "pixels", "batch_size", "parameters", "memory_gib", "ran"])


def test_the_relation_finds_the_truth_where_cells_show_it():
    found = fit_peak(made_cells(), made_peaks())
    assert found.per_peak == pytest.approx(1.2, rel=0.03)
    assert found.fixed_gib + found.per_parameter * 4e8 * GIB_PER_VALUE == pytest.approx(0.4, abs=0.25)
    assert found.log_scale == LOG_SCALE, "what no cell tells is not taken from them"
    assert found.log_scale_a_doubling < 0.02 < found.unsplit_log_scale_a_doubling, "the parameters tell what stays"


def test_networks_without_a_peak_are_held_out():
    cells, peaks = made_cells(), made_peaks()
    rows = recorded_cells(cells, peaks[peaks["model"] != "A"])
    assert set(rows["model"]) == set("BCDEF") and len(rows) == len(cells) * 5 // 6
    assert (rows["growth"] == rows["batch_size"] / 16).all()
    assert fit_peak(cells, peaks[peaks["model"].isin(["A", "B"])]) == ASSUMED_PEAK, "too few to leave one out"
