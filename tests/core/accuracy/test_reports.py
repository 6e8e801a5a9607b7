"""The reports of measured accuracy: their figures are read, the shipped ones reach their aims, others are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from profet_core.accuracy.cells_report import load_cells_accuracy
from profet_core.accuracy.real_report import load_real_report
from profet_core.accuracy.scaleout_report import load_scaleout_accuracy
from profet_core.accuracy.transfer_report import load_transfer_accuracy, read_transfer_accuracy
from profet_core.accuracy.validation import GrowthAccuracy
from profet_core.accuracy.validation_report import growth_accuracies, load_validation
from profet_core.artifacts.models import Models, load_models
from profet_core.errors import ArtifactError
from profet_core.estimate.model import METHODS, load_estimate
from profet_core.estimate.regimes import Regime
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.memory.model import load_memory
from profet_core.scaleout.model import load_scaleout
from profet_core.transfer.model import load_transfer
from tests.made.transfer_report import made_transfer_report

SHIPPED = shipped_folder("models")
#: File of a report -> what loads it from a folder, for the shipped models.
REPORTS: dict[str, Callable[[Any], Any]] = {
    "cells_validation.json": load_cells_accuracy,
    "real_profiles.json": lambda folder: load_real_report(Models(folder, load_models(SHIPPED).manifest)),
    "scaleout_validation.json": lambda folder: load_scaleout_accuracy(load_scaleout(SHIPPED), folder),
    "transfer_validation.json": lambda folder: load_transfer_accuracy(
        load_transfer(SHIPPED), load_memory(SHIPPED), folder
    ),
    "validation.json": lambda folder: load_validation(Models(folder, load_models(SHIPPED).manifest)),
}


def shipped(name: str) -> Any:
    return json.loads((SHIPPED / name).read_text())


def read(folder, name: str, content: object, *, sign: bool = True):
    """What is read of it, signed anew where the report has a checksum of its own."""
    if sign and isinstance(content, dict) and "checksum" in content:
        content = {**content, "checksum": manifest_checksum(content)}
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return REPORTS[name](folder)


def put(content: Any, where: str, value: object) -> None:
    """Put a value where a path of keys and places leads."""
    *path, last = (int(key) if key.isdigit() else key for key in where.split("/"))
    for key in path:
        content = content[key]
    content[last] = value


# --- what is no such report -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REPORTS)
def test_a_missing_or_torn_one_is_one_line_that_says_what_writes_it(tmp_path, name):
    if name == "real_profiles.json":
        assert REPORTS[name](tmp_path) is None, "nobody has to look"
    else:
        with pytest.raises(ArtifactError, match=rf"{name} is missing: .*`profet validate .*--card`"):
            REPORTS[name](tmp_path)
    for text in ("", "[]", "{", "[" * 100_000):
        with pytest.raises(ArtifactError, match=rf"{name} is damaged: .*`profet validate .*--card`") as error:
            read(tmp_path, name, text)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("real_profiles.json", "models_checksum"),
        ("scaleout_validation.json", "scaleout_checksum"),
        ("transfer_validation.json", "transfer_checksum"),
        ("transfer_validation.json", "memory_checksum"),
        ("validation.json", "models_checksum"),
    ],
)
def test_one_of_other_models_is_refused(tmp_path, name, field):
    with pytest.raises(ArtifactError, match="belong to"):
        read(tmp_path, name, {**shipped(name), field: "0" * 64})


@pytest.mark.parametrize("name", [f"{kind}_validation.json" for kind in ("scaleout", "transfer")])
def test_a_changed_one_is_damaged(tmp_path, name):
    with pytest.raises(ArtifactError, match="is damaged"):
        read(tmp_path, name, {**shipped(name), "made": "2020-01-01"}, sign=False)


#: Report -> where what is put instead of a figure.
DAMAGE = {
    "cells_validation.json": [("rows", []), ("rows/0/mean", "much"), ("rows/1/gpus", {}), ("made", None)],
    "real_profiles.json": [
        ("profiles", 3),
        ("made", 2021),
        ("read/0/steps", 1.5),
        ("read/0/left_out", "0"),
        ("profiles/0/truth_ms", 0),
        ("profiles/0/trained_on", 1),
    ],
    "scaleout_validation.json": [("data_sets", {}), ("on_64", None), ("network_64", {}), ("network_64", {"a": "much"})],
    "transfer_validation.json": [
        ("left_out_gpus/directions/3/one_constant", None),
        ("left_out_gpus/mean/mape_with_latency", "11"),
        ("left_out_anchors/directions", []),
        ("left_out_anchors/by_anchor/p2.xlarge/bias_with_latency", None),
        ("published/tables/0/held_back", "yes"),
        ("published/tables/0/networks", ["VGG16", None]),
        ("published/tables/1/n", 0),
        ("published/tables/1/bias", -100.0),
        ("published/self_checks/0/own_point", -100),
        ("published/tables", []),
        ("derived/routes", {"by_model": {}}),
        ("derived/gpus/A10G", None),
        ("memory/arithmetic/did_not_run", 0),
        ("memory/served", {}),
        ("seed", None),
    ],
    "validation.json": [
        ("scatter", []),
        ("scatter/0/low_ms", 0),
        ("scatter/0/model", "VGG7"),
        ("scatter/0/pixels", 1.5),
        ("noise_percent", {"a": "much"}),
    ],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_one_with_something_else_for_a_figure_is_damaged(tmp_path, name):
    for where, value in DAMAGE[name]:
        content = shipped(name)
        put(content, where, value)
        with pytest.raises(ArtifactError, match="is damaged"):
            read(tmp_path, name, content)


def test_cells_have_rows_in_their_order(tmp_path):
    content = shipped("cells_validation.json")
    for rows in (content["rows"][::-1], [*content["rows"], content["rows"][-1]]):
        with pytest.raises(ArtifactError, match="is damaged"):
            read(tmp_path, "cells_validation.json", {**content, "rows": rows})


# --- what is read ---------------------------------------------------------------------------------------------------


def test_the_report_on_cells():
    found, content = load_cells_accuracy(SHIPPED), shipped("cells_validation.json")
    assert found.instances == ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
    for row, written in zip(found.rows, content["rows"], strict=True):
        assert (row.cells, row.mean) == (written["cells"], written["mean"])
        for name, errors in row.gpus.items():
            assert (errors.mape, errors.missed_90) == tuple(written["gpus"][name][key] for key in ("mape", "missed_90"))
    # So many cells are judged by the row below.
    assert [found.of(cells).cells for cells in (1, 9, 20, 49, 1000)] == [1, 3, 20, 20, 50]
    assert found.of(0) is None


def test_the_report_on_several_gpus():
    found, content = REPORTS["scaleout_validation.json"](SHIPPED), shipped("scaleout_validation.json")
    data, written = found.data_sets["throughputs"], content["data_sets"]["throughputs"]
    assert data.networks.every.mape == written["networks"]["every"]["mape"]
    assert data.gpus.by_fold["V100"].n == written["gpus"]["by_fold"]["V100"]["n"]
    assert dict(found.network_64) == content["network_64"]
    assert sum(data.excluded.values()) + written["n"] == 1988


def test_the_section_on_other_sizes():
    row = {"axis": "batch", "knots": 2, "n": 9, "mape": 11.0, "coverage_90": 90.0, "median_interval_pct": 20.0}
    found = list(growth_accuracies({"carried": [{**row, "proportional": 40.0}], "between": [{**row, "knots": None}]}))
    assert found == [
        GrowthAccuracy("carried", "batch", 2, 9, 11.0, 40.0, 90.0, 20.0),
        GrowthAccuracy("between", "batch", None, 9, 11.0, None, 90.0, 20.0),
    ]
    for change in ({"mape": "11"}, {"n": -1}, {"axis": 3}, {"coverage_90": float("nan")}):
        with pytest.raises((TypeError, ValueError)):
            list(growth_accuracies({"chain": [{**row, **change}]}))


def test_the_report_on_unprofiled_gpus():
    report = made_transfer_report("a" * 64, "b" * 64)
    found, rows = read_transfer_accuracy(report), report["left_out_gpus"]["directions"]
    for known, case in ((True, "with_latency"), (False, "without_latency")):
        assert [row.point[known].mape for row in found.directions] == [row[f"mape_{case}"] for row in rows]
        assert found.worst(known).point[known].mape == max(row[f"mape_{case}"] for row in rows)
    assert [(row.anchor, row.target) for row in found.beaten_by_constant(True)] == [("g3s.xlarge", "g4dn.xlarge")]
    assert found.worst_constant().one_constant == max(row["one_constant"] for row in rows)
    scores, given = found.memory.served["that it ran"], report["memory"]["served"]["that it ran"]
    assert scores.recall is None and scores.cant_tell == given["cant_tell"]
    recorded = report["memory"]["recorded"]
    assert {known: row.recall for known, row in found.memory.recorded.items()} == {
        known: row["recall"] for known, row in recorded.items()
    }


# --- what was aimed at ----------------------------------------------------------------------------------------------


def test_the_figures_on_unprofiled_gpus():
    found = REPORTS["transfer_validation.json"](SHIPPED)
    assert len(found.directions) == 12
    assert found.mean.point[True].mape <= 15
    assert found.worst(True).point[True].mape <= 25
    assert found.routes["corrected"].t4_to_v100 <= 10
    assert found.routes["corrected"].v100_to_t4 <= 10
    assert set(found.derived) == {"A10G", "Tesla P100-PCIE-16GB"}


def test_the_figures_on_memory():
    memory = REPORTS["transfer_validation.json"](SHIPPED).memory
    scores = memory.served["profile and its meta"]
    assert scores.strict_false_fits <= 0.02 and scores.decided_accuracy > 0.98
    assert memory.layers_known.recall >= 0.8 and memory.layers_known.false_fits <= 0.02
    for known in ("recorded peak", "recorded peak of all that ran", "peaks at batch 16 and 64"):
        assert memory.recorded[known].strict_recall >= 0.8 and memory.recorded[known].strict_false_fits <= 0.02
        assert memory.recorded[known].recall >= 0.8 and memory.recorded[known].false_fits <= 0.02
    peak = memory.recorded["recorded peak"]
    assert (peak.cells, peak.did_not_run) == (scores.cells, scores.did_not_run), "the same questions"


def test_the_figures_without_a_profile():
    found, model = shipped("estimate_validation.json"), load_estimate(SHIPPED)
    assert found["estimate_checksum"] == model.checksum
    assert (found["rows"], found["networks"], found["default"]) == (1_304, 15, model.default)
    aims = {"INTERPOLATION": 8, "LARGER_BATCH": 11, "DEEPER": 15, "UNSEEN_GPU": 25, "UNSEEN_NETWORK": 25}
    for regime in Regime:
        row = found["regimes"][regime]
        assert 85 <= row["coverage_90"][model.default] <= 95, regime
        assert set(row["mape"]) > set(METHODS)
        if regime.name in aims:
            assert max(row["mape"][model.default], row["chosen_mape"]) <= aims[regime.name], regime
