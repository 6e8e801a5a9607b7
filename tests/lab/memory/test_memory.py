"""The memory model never sees a held-out architecture, and reaches its figures."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from profet_core.memory.model import MEMORY_NAME, load_memory
from profet_lab.export import write_coefficients
from profet_lab.measurements.tables import data_folder
from profet_lab.memory.fit import held_out_log_room, memory_content, memory_tables
from profet_lab.validation.memory import memory_report


def test_a_held_out_architecture_does_not_reach_its_own_answer(measurements):
    cells, traffic = memory_tables(measurements, data_folder())
    assert len(cells) == 71 * 5 * 4 and len(traffic) == 307 * 4
    cells = cells[cells["model"].isin(["VGG16", "ResNet50", "MobileNetV2", "AlexNet"])].reset_index(drop=True)
    before = held_out_log_room(cells)
    in_a = (cells["model"] == "VGG16").to_numpy()
    swapped = cells.assign(ran=np.where(in_a, ~cells["ran"], cells["ran"]))
    after = held_out_log_room(swapped)
    np.testing.assert_allclose(after[in_a], before[in_a])
    assert not np.allclose(after[~in_a], before[~in_a])


@pytest.fixture(scope="module")
def report(measurements):
    return memory_report(measurements, data_folder())


def test_held_out_architectures_are_answered_as_well_as_was_asked(report):
    scores = report["arithmetic"]
    assert scores["always_fits"] == pytest.approx(0.918, abs=1e-3)
    assert scores["accuracy"] > 0.97
    assert scores["recall"] >= 0.80 and scores["false_fits"] <= 0.02
    assert scores["strict_recall"] >= 0.80 and scores["strict_false_fits"] <= 0.005, "can't tell counts as a miss"
    assert scores["cant_tell"] < 0.06
    # Of the same questions a recorded peak answers at least twice as many of what did not run.
    for known in ("recorded peak", "peaks at batch 16 and 64"):
        row = report["recorded"][known]
        assert row["strict_recall"] >= 0.80 and row["strict_false_fits"] <= 0.02, "can't tell counts as a miss"
        assert row["recall"] >= 0.80 and row["false_fits"] <= 0.02, "made to choose"
        assert row["false_does_not_fit"] <= 0.005
    one, profile = report["recorded"]["recorded peak"], report["served"]["profile and its meta"]
    assert (one["cells"], one["did_not_run"]) == (profile["cells"], profile["did_not_run"]) == (5520, 352)
    assert all(row["strict_false_fits"] <= 0.02 for row in report["recorded"].values())
    served = report["served"]["profile and its meta"]
    assert served["decided_accuracy"] > 0.98 and served["strict_false_fits"] <= 0.02
    assert served["cant_tell"] < report["served"]["meta without times"]["cant_tell"] < 0.3
    assert report["served"]["that it ran"]["decided_accuracy"] == 1
    json.dumps(report, allow_nan=False)


def test_the_shipped_file_is_what_the_measurements_give(measurements, repository, tmp_path):
    content = memory_content(measurements, data_folder())
    write_coefficients(content, tmp_path / MEMORY_NAME)
    fitted, shipped = load_memory(tmp_path), load_memory(repository / "models")
    assert fitted.law.per_convolution == pytest.approx(shipped.law.per_convolution, rel=0.01)
    assert fitted.law.log_scale == pytest.approx(shipped.law.log_scale, rel=0.05)
    assert fitted.traffic.log_scale == pytest.approx(shipped.traffic.log_scale, rel=0.05)
    assert fitted.fitted_on == shipped.fitted_on
    assert asdict(fitted.peak) == pytest.approx(asdict(shipped.peak), rel=0.02)
