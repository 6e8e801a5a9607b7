"""Cards: what the reports say is what they show, and templates name nothing that is missing."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import jinja2
import numpy as np
import pytest

from profet_core.errors import ArtifactError
from profet_core.files import shipped_folder
from profet_core.layers.rates import load_rates
from profet_core.prediction.models import load_transfer
from profet_lab.reports import CARD_NAME, PARTS, fixed, listed, model_card, read_report, render, section, table

pytestmark = pytest.mark.training

Keys = tuple[str | int, ...]
SHIPPED = shipped_folder("models")


def shipped(name: str) -> dict:
    return json.loads((SHIPPED / name).read_text())


def number_paths(value: object, kinds: type | tuple[type, ...], path: Keys = ()) -> Iterator[Keys]:
    """Paths of all numbers of these types below; of a list's rows, which are written alike, in the first."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:1]):
            yield from number_paths(inner, kinds, (*path, key))
    elif isinstance(value, kinds):
        yield path


def one_more(report: dict, path: Keys) -> dict:
    """A copy whose number at `path` is larger by 1."""
    changed = copy.deepcopy(report)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] += 1
    return changed


def test_the_shipped_card_is_that_of_the_shipped_reports(repository, models):
    card = model_card(repository / "models")
    assert (repository / "models" / CARD_NAME).read_text() == card, "python -m profet_lab.reports"
    assert len(card.split()) <= 3_000
    assert re.findall(r"^## (.*)", card, re.M) == [
        *("Profiled GPUs", "Third-party profiles", "Unprofiled GPUs and mixed precision", "Memory"),
        *("A GPU with few measurements", "Without a profile", "One answer", "Several GPUs", "Many-core processors"),
    ]
    default = shipped("validation.json")["default"]
    row = next(row for row in default["pairs"] if (row["anchor"], row["target"]) == ("g4dn.xlarge", "p3.2xlarge"))
    assert f"| g4dn.xlarge | p3.2xlarge | {row['mape_with_latency']:.2f} | {row['mape_without_latency']:.2f} |" in card
    assert f"python {models.manifest['versions']['python']}" in card
    transfer = load_transfer(repository / "models")
    assert f"`{transfer.checksum[:16]}`" in card and "ddps-lab/profet (MIT)" in card
    (unchecked,) = (line for line in card.splitlines() if line.startswith("**No public table has these rented GPUs"))
    assert "H100-NVL-94GB" in unchecked and "L40S" not in unchecked and "Laptop" not in unchecked


@pytest.mark.parametrize("name", PARTS)
def test_another_number_is_another_card(repository, name):
    folder = repository / "models"
    report = shipped(PARTS[name].report_name)
    card = section(name, report, folder)
    paths = [path for path in number_paths(report, float) if "scatter" not in path]
    changed = [path for path in paths if section(name, one_more(report, path), folder) != card]
    assert len(changed) >= {"models": 60, "gpus": 40}.get(name, 4)


def test_a_missing_value_is_an_error_and_tables_are_filled_from_rows_or_values_by_name():
    for name in ("models", "gpus"):
        with pytest.raises(jinja2.UndefinedError):
            render(name, {"report": {}})
    with pytest.raises(KeyError, match="mape"):
        table("what | error", "{what} | {mape}", [{"what": "all"}])
    rows = [{"what": "all", "mape": 31.25, "share": 0.5, "none": None}, {"what": 2, "mape": 3, "share": 1, "none": 1.0}]
    lines = ["| a | b | c | d |", "|---|---|---|---|", "| all | 31.2 | 50.0 |  |", "| 2 | 3 | 100.0 | 1.00 |"]
    assert table("a | b | c | d", "{what} | {mape} | {share:%} | {none}", rows).splitlines() == lines
    assert listed("{name} {value}", {"x": 0.0, "y": 1}, "; ") == "x 0.00; y 1"
    # Two decimals below 20, and one above.
    assert [fixed(value) for value in (3.14159, 19.994, 20.04, -25.55, 0)] == ["3.14", "19.99", "20.0", "-25.6", "0.00"]


def test_report_and_card_are_written_together(repository, tmp_path):
    folder = Path(shutil.copytree(repository / "models", tmp_path / "models"))
    part, report = PARTS["gpus"], shipped("gpus_validation.json")
    (folder / "scaleout_validation.json").unlink()
    dated = part.dated({name: report[name] for name in report if "checksum" not in name and name != "made"}, folder)
    whole = part.write(dated, folder)
    read = read_report(folder / part.report_name, "", **part.checksums(folder))
    assert read == json.loads(json.dumps(whole)) and read["left_out_gpus"] == report["left_out_gpus"]
    card = (folder / CARD_NAME).read_text()
    assert card == model_card(folder) and section("gpus", read, folder) in card and "## Several GPUs" not in card


def test_a_missing_torn_or_changed_report_or_one_of_other_models_is_refused(tmp_path):
    path = tmp_path / "cells_validation.json"
    for text in (None, "", "[]", "{", "{}", "[" * 100_000, json.dumps({**shipped(path.name), "checksum": "0"})):
        if text is not None:
            path.write_text(text)
        with pytest.raises(ArtifactError, match="profet validate --cells --card") as error:
            read_report(path, "profet validate --cells --card")
        assert "\n" not in str(error.value)
    path, checksums = SHIPPED / "gpus_validation.json", PARTS["gpus"].checksums(SHIPPED)
    assert read_report(path, "", **checksums)["published"]
    for name in checksums:
        with pytest.raises(ArtifactError, match=rf"another {name}\.json"):
            read_report(path, "", **{**checksums, name: "0" * 64})
    with pytest.raises(ArtifactError, match="other models"):
        read_report(SHIPPED / "validation.json", "", models="0" * 64)


# --- what was aimed at


def test_the_figures_aimed_at_are_reached(models):
    report = shipped("gpus_validation.json")
    targets, anchors, served = report["left_out_gpus"], report["left_out_anchors"], report["served"]
    assert len(targets["directions"]) == 12
    assert targets["mean"]["mape_with_latency"] <= 11 and anchors["mean"]["mape_with_latency"] <= 14
    published = report["published"]
    assert published["mape_with_latency"] <= 13 and published["missed_90_with_latency"] <= 10
    off = {(row["gpu"], row["other"]): abs(row["off"]) for row in served["mlperf"]}
    assert off["A10G", "A100-PCIE-80GB"] <= 20 and off["H100-SXM5-80GB", "A100-SXM4-80GB"] <= 15
    assert np.mean([abs(row["slower"]) for row in served["points"]]) <= 12
    # The one published AMP run of a B200, 1.02, is limited by something else.
    assert 1.2 <= served["b200_amp_over_tf32"] <= 1.7
    memory = report["memory"]
    layers, served, recorded = memory["arithmetic"], memory["served"], memory["recorded"]
    assert layers["always_fits"] == pytest.approx(0.918, abs=1e-3) and layers["accuracy"] > 0.97
    assert layers["cant_tell"] < 0.06 and layers["strict_false_fits"] <= 0.005
    peaks = [recorded["recorded peak"], recorded["peaks at batch 16 and 64"]]
    for scores in (layers, *peaks):
        assert min(scores["recall"], scores["strict_recall"]) >= 0.8 and scores["false_fits"] <= 0.02
    assert max(scores["false_does_not_fit"] for scores in peaks) <= 0.005
    assert max(scores["strict_false_fits"] for scores in (*served.values(), *recorded.values())) <= 0.02
    profile, peak = served["profile and its meta"], recorded["recorded peak"]
    assert profile["decided_accuracy"] > 0.98 and served["that it ran"]["decided_accuracy"] == 1
    assert profile["cant_tell"] < served["meta without times"]["cant_tell"] < 0.3
    assert (peak["cells"], peak["did_not_run"]) == (profile["cells"], profile["did_not_run"]) == (5520, 352)
    report, model = shipped("estimate_validation.json"), load_rates(SHIPPED)
    assert report["estimate_checksum"] == model.checksum
    assert str(report["steps"]) == model.fitted_on["steps"]
    rows = {row["held_out"]: row for row in report["judged"]}
    most = {
        "families, RTX 3090 AMP, NCHW": 18,
        "families, RTX 3090 AMP, NCHW: depthwise": 20,
        "families, RTX 3090 AMP, channels-last": 25,
        "PROFET's cells: workloads": 7,
        "PROFET's cells: networks": 16,
        "PROFET's cells: GPUs": 16,
    }
    assert {name: rows[name]["mape"] <= limit for name, limit in most.items()} == dict.fromkeys(most, True)
    for case in ("ordinary", "depthwise"):
        assert 85 <= report["inside"][case]["coverage_90"] <= 97
    assert shipped("validation.json")["models_checksum"] == models.manifest["checksum"]
