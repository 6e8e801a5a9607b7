"""Reports of measured accuracy: what is damaged or of other models is refused, the shipped ones reach their aims."""

from __future__ import annotations

import json
from typing import Any

import pytest

from profet_core.accuracy.cells import CellsRow, load_cells_rows, with_cells
from profet_core.accuracy.reports import read_report
from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.from_layers.model import METHODS, Regime, load_estimate
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer

SHIPPED = shipped_folder("models")
NAME = "cells_validation.json"


def shipped(name: str) -> Any:
    return json.loads((SHIPPED / name).read_text())


def test_a_missing_or_torn_one_is_one_line_that_says_what_writes_it(tmp_path):
    with pytest.raises(ArtifactError, match=rf"{NAME} is missing: .*`profet validate --cells --card`"):
        load_cells_rows(tmp_path)
    for text in ("", "[]", "{", "{}", "[" * 100_000):
        (tmp_path / NAME).write_text(text)
        with pytest.raises(ArtifactError, match=rf"{NAME} is damaged .*`profet validate --cells --card`") as error:
            load_cells_rows(tmp_path)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "change", [{"rows": None}, {"rows": [{"cells": 1}]}, {"rows": [{"cells": 1, "mean": "much"}]}, {"checksum": "0"}]
)
def test_one_with_something_else_for_a_figure_or_a_checksum_is_damaged(tmp_path, change):
    content = {**shipped(NAME), **change}
    if "rows" in change:
        del content["checksum"]
        content["checksum"] = manifest_checksum(content)
    (tmp_path / NAME).write_text(json.dumps(content))
    with pytest.raises(ArtifactError, match="is damaged"):
        load_cells_rows(tmp_path)


def test_one_of_other_models_is_refused():
    path, judged = (
        SHIPPED / "transfer_validation.json",
        {"transfer": load_transfer(SHIPPED), "memory": load_memory(SHIPPED)},
    )
    checksums = {name: model.checksum for name, model in judged.items()}
    assert read_report(path, "", **checksums)["seed"] == 0
    for name in judged:
        with pytest.raises(ArtifactError, match=rf"another {name}\.json"):
            read_report(path, "", **{**checksums, name: "0" * 64})
    with pytest.raises(ArtifactError, match="other models"):
        read_report(SHIPPED / "validation.json", "", models="0" * 64)


def test_the_report_on_cells(models):
    rows = load_cells_rows(SHIPPED)
    assert rows == tuple(CellsRow(row["cells"], row["mean"]) for row in shipped(NAME)["rows"])
    # So many cells are judged by the row below.
    assert [with_cells(rows, cells).cells for cells in (1, 9, 20, 49, 1000)] == [1, 3, 20, 20, 50]
    assert with_cells(rows, 0) is None


# --- what was aimed at ----------------------------------------------------------------------------------------------


def test_the_report_on_the_models_is_theirs(models):
    assert shipped("validation.json")["models_checksum"] == models.manifest["checksum"]


def test_the_figures_on_unprofiled_gpus():
    found = shipped("transfer_validation.json")
    targets, routes = found["left_out_gpus"], found["derived"]["routes"]
    assert len(targets["directions"]) == 12
    assert targets["mean"]["mape_with_latency"] <= 15
    assert max(row["mape_with_latency"] for row in targets["directions"]) <= 25
    assert routes["corrected"]["T4 -> V100"] <= 10
    assert routes["corrected"]["V100 -> T4"] <= 10
    assert set(found["derived"]["gpus"]) == {"A10G", "Tesla P100-PCIE-16GB"}


def test_the_figures_on_memory():
    memory = shipped("transfer_validation.json")["memory"]
    scores, layers, recorded = memory["served"]["profile and its meta"], memory["arithmetic"], memory["recorded"]
    assert scores["strict_false_fits"] <= 0.02 and scores["decided_accuracy"] > 0.98
    assert layers["recall"] >= 0.8 and layers["false_fits"] <= 0.02
    for known in ("recorded peak", "peaks at batch 16 and 64"):
        assert recorded[known]["strict_recall"] >= 0.8 and recorded[known]["strict_false_fits"] <= 0.02
        assert recorded[known]["recall"] >= 0.8 and recorded[known]["false_fits"] <= 0.02
    peak = recorded["recorded peak"]
    assert (peak["cells"], peak["did_not_run"]) == (scores["cells"], scores["did_not_run"]), "the same questions"


def test_the_figures_without_a_profile():
    found, model = shipped("estimate_validation.json"), load_estimate(SHIPPED)
    assert found["estimate_checksum"] == model.checksum
    assert (found["rows"], found["networks"], found["default"]) == (1_304, 15, model.default)
    aims = {"INTERPOLATION": 8, "LARGER_BATCH": 11, "DEEPER": 15, "UNSEEN_GPU": 25, "UNSEEN_NETWORK": 25}
    for regime in Regime:
        row = found["regimes"][regime]
        assert 85 <= row["coverage_90"][model.default] <= 95, regime
        assert set(row["mape"]) == set(METHODS)
        if regime.name in aims:
            assert max(row["mape"][model.default], row["chosen_mape"]) <= aims[regime.name], regime
