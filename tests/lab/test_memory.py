"""The memory fit is learned from what ran, and from recorded peaks."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import asdict

from profet_core.training.memory import GIB_PER_VALUE, MEMORY_NAME, load_memory
from profet_lab.measurements.tables import data_folder
from profet_lab.memory import (
    ASSUMED_PEAK,
    LOG_SCALE,
    fit_peak,
    held_out_log_room,
    memory_content,
    memory_report,
    memory_tables,
    recorded_cells,
)
from profet_lab.models_folder import write_coefficients


def test_a_held_out_architecture_does_not_change_its_own_answer(measurements):
    cells, traffic = memory_tables(measurements, data_folder())
    assert len(cells) == 71 * 5 * 4 and len(traffic) == 307 * 4
    cells = cells[cells["model"].isin(["VGG16", "ResNet50", "MobileNetV2", "AlexNet"])].reset_index(drop=True)
    before = held_out_log_room(cells)
    in_a = (cells["model"] == "VGG16").to_numpy()
    swapped = cells.assign(ran=np.where(in_a, ~cells["ran"], cells["ran"]))
    after = held_out_log_room(swapped)
    np.testing.assert_allclose(after[in_a], before[in_a])
    assert not np.allclose(after[~in_a], before[~in_a])


def test_the_shipped_figures_are_those_of_held_out_architectures(measurements, repository):
    """What they must reach stands in test_cards."""
    shipped = json.loads((repository / "models" / "gpus_validation.json").read_text())["memory"]
    report = memory_report(measurements, data_folder())
    assert report.keys() == shipped.keys() and report["ran_elsewhere"] == shipped["ran_elsewhere"]
    assert report["arithmetic"] == pytest.approx(shipped["arithmetic"], abs=0.002)
    for kind in ("served", "recorded"):
        assert list(report[kind]) == list(shipped[kind])
        for case, scores in report[kind].items():
            assert scores == pytest.approx(shipped[kind][case], abs=0.002)


def test_the_shipped_file_is_what_the_measurements_give(measurements, repository, tmp_path):
    content = memory_content(measurements, data_folder())
    write_coefficients(content, tmp_path / MEMORY_NAME)
    fitted, shipped = load_memory(tmp_path), load_memory(repository / "models")
    assert fitted.formula.per_convolution == pytest.approx(shipped.formula.per_convolution, rel=0.01)
    assert fitted.formula.log_scale == pytest.approx(shipped.formula.log_scale, rel=0.05)
    assert fitted.traffic.log_scale == pytest.approx(shipped.traffic.log_scale, rel=0.05)
    assert fitted.fitted_on == shipped.fitted_on
    assert asdict(fitted.peak) == pytest.approx(asdict(shipped.peak), rel=0.02)


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


def test_the_relation_finds_the_truth_and_networks_without_a_peak_are_held_out():
    fitted = fit_peak(made_cells(), made_peaks())
    assert fitted.per_peak == pytest.approx(1.2, rel=0.03)
    assert fitted.fixed_gib + fitted.per_parameter * 4e8 * GIB_PER_VALUE == pytest.approx(0.4, abs=0.25)
    assert fitted.log_scale == LOG_SCALE, "what no cell tells is not taken from them"
    assert fitted.log_scale_a_doubling < 0.02 < fitted.unsplit_log_scale_a_doubling, "the parameters tell what stays"
    cells, peaks = made_cells(), made_peaks()
    rows = recorded_cells(cells, peaks[peaks["model"] != "A"])
    assert set(rows["model"]) == set("BCDEF") and len(rows) == len(cells) * 5 // 6
    assert (rows["growth"] == rows["batch_size"] / 16).all()
    assert fit_peak(cells, peaks[peaks["model"].isin(["A", "B"])]) == ASSUMED_PEAK, "too few to leave one out"
