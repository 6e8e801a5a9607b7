"""Cards: what the reports say is what they show, and templates name nothing that is missing."""

from __future__ import annotations

import copy
import json
import math
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import jinja2
import numpy as np
import pytest

from profet_core.errors import ArtifactError
from profet_core.files import shipped_folder
from profet_core.latency import quantile
from profet_core.layers.rates import load_rates
from profet_core.training.memory import load_memory
from profet_core.transfer.model import known_speed, load_transfer
from profet_core.transfer.targets import Source
from profet_lab.reports import (
    CARD_NAME,
    PARTS,
    accuracy_by_gpu,
    fixed,
    gpu_card,
    listed,
    load_real_report,
    load_validation,
    model_card,
    read_report,
    real_section,
    render,
    table,
)

pytestmark = pytest.mark.training

Keys = tuple[str | int, ...]


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


#: Tables of pairs, networks and families are short: these details are in the report alone.
LEFT_TO_THE_REPORT = {
    "r2",
    "rmse_ms",
    "coverage_90_without_latency",
    "median_interval_pct_without_latency",
    "mape_with_latency_and_sizes",
    "mape_without_latency_and_sizes",
    "regret_percent",
}
SHORT = {"pairs", "by_model", "by_family", "by_anchor"}


@pytest.fixture(scope="module")
def report(models) -> dict:
    return {name: part for name, part in load_validation(models).items() if name != "scatter"}


def is_shown(path) -> bool:
    if path[0] == "scaler" or "scaler_mape" in path:
        return path[-1] in ("mean_mape", "mean")
    if path[0] != "default" and path[1] != "growth":
        # Of other methods errors of means, pairs and, of the original, networks.
        known = "by_model" not in path if path[0] == "profet" else True
        return known and "pooled" not in path and path[-1] in ("mape_with_latency", "mape_without_latency")
    if path[-1] in ("r2", "rmse_ms") or "by_model" in path[3:]:
        return False
    return not SHORT & set(path) or path[-1] not in LEFT_TO_THE_REPORT


def test_another_number_is_another_card(report, models, files):
    card = model_card(report, models.manifest)
    shown = [path for path in number_paths(report, float) if is_shown(path)]
    assert len(shown) > 150
    assert [path for path in shown if model_card(one_more(report, path), models.manifest) == card] == []
    card = card_of(REPORT, files)
    shown = [path for path in number_paths(REPORT, (int, float)) if gpu_card_shows(path)]
    assert len(shown) > 220
    changed = random.Random(0).sample(shown, CHANGED)
    assert [path for path in changed if card_of(one_more(REPORT, path), files) == card] == []


def test_the_shipped_card_is_that_of_the_shipped_reports(repository, models):
    card = model_card(load_validation(models), models.manifest, real_section(load_real_report(models)))
    assert (repository / "models" / CARD_NAME).read_text() == card
    default = load_validation(models)["default"]
    row = next(row for row in default["pairs"] if (row["anchor"], row["target"]) == ("g4dn.xlarge", "p3.2xlarge"))
    figures = f"{row['mape_with_latency']:.2f} | {row['mape_without_latency']:.2f}"
    assert f"| g4dn.xlarge | p3.2xlarge | {figures} |" in card
    assert f"python {models.manifest['versions']['python']}" in card


def test_a_missing_value_is_an_error_and_tables_are_filled_from_rows_or_values_by_name():
    for name in ("models", "gpus"):
        with pytest.raises(jinja2.UndefinedError):
            render(name, report={})
    with pytest.raises(KeyError, match="mape"):
        table("what | error", "{what} | {mape}", [{"what": "all"}])
    rows = [{"what": "all", "mape": 31.25, "share": 0.5, "none": None}, {"what": 2, "mape": 3, "share": 1, "none": 1.0}]
    lines = ["| a | b | c | d |", "|---|---|---|---|", "| all | 31.2 | 50.0 |  |", "| 2 | 3 | 100.0 | 1.00 |"]
    assert table("a | b | c | d", "{what} | {mape} | {share:%} | {none}", rows).splitlines() == lines
    assert listed("{name} {value:exp}", {"x": 0.0, "y": 1}, "; ") == "x 1.00; y 2.72"
    # Two decimals below 20, and one above.
    assert [fixed(value) for value in (3.14159, 19.994, 20.04, -25.55, 0)] == ["3.14", "19.99", "20.0", "-25.6", "0.00"]


SECTION_NAMES = ("left_out_gpus", "left_out_anchors", "rates", "served", "memory")
REPORT = json.loads((shipped_folder("models") / "gpus_validation.json").read_text())
#: Of the numbers that a card shows so many are changed, each time another one.
CHANGED = 60


@pytest.fixture(scope="module")
def files(repository):
    """What the card is written for."""
    return load_transfer(repository / "models"), load_memory(repository / "models")


def card_of(report: dict, files) -> str:
    return gpu_card(report, *files)


def test_the_card_names_its_files_and_each_gpu_with_what_it_is_based_on(files):
    card, (transfer, memory) = card_of(REPORT, files), files
    for text in (REPORT["made"], f"`{transfer.checksum[:16]}`", f"`{memory.checksum[:16]}`", "ddps-lab/profet (MIT)"):
        assert text in card
    for name, value in transfer.fitted_on.items():
        assert f"- `{name}`: sha256 `{value}`" in card
    assert f"{memory.fitted_on['cells']} workloads x GPUs" in card
    # Every GPU with specs once, best evidence first; rented ones that no table has are named.
    lines, (transfer, _) = card_of(REPORT, files).splitlines(), files
    start = lines.index("## By GPU")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start:] if line.startswith("| ")]
    found = {row[0]: row for row in rows[1 : 1 + len(transfer.gpus)]}
    assert set(found) == set(transfer.gpus)
    assert [row[1] for row in rows[1:5]] == ["profiled"] * 4
    h100 = transfer.rates.gpus["H100-SXM5-80GB"]
    assert found["H100-SXM5-80GB"][1] == f"published speed, {h100.tables} tables"
    rates = [h100.fp32_compute, h100.compute, h100.compute + h100.amp_compute, h100.bandwidth]
    assert found["H100-SXM5-80GB"][2:6] == [f"{math.exp(value):.2f}" for value in rates]
    assert found["Tesla P100-PCIE-16GB"][3:5] == ["", ""], "neither TF32 nor tensor cores"
    (unchecked,) = (line for line in lines if line.startswith("- **No public table has these rented GPUs"))
    assert "H100-NVL-94GB" in unchecked and "L40S" not in unchecked and "Laptop" not in unchecked
    assert REPORT["served"]["wrong_orders"] == [] and REPORT["served"]["siblings"] > 150
    assert "It is slower in none of" in card_of(REPORT, files)


@pytest.fixture
def folder(repository, tmp_path):
    """The shipped models, whose report may be written over."""
    return Path(shutil.copytree(repository / "models", tmp_path / "models"))


def test_report_and_card_are_written_together(files, folder):
    transfer, memory = files
    part = PARTS["gpus"]
    path, card = folder / part.report_name, folder / part.card_name
    whole = part.write(part.dated({name: REPORT[name] for name in (*SECTION_NAMES, "seed")}, folder), folder)
    read = read_report(path, "", transfer=transfer.checksum, memory=memory.checksum)
    assert read == json.loads(json.dumps(whole)) and read["left_out_gpus"] == REPORT["left_out_gpus"]
    assert card.read_text() == card_of(read, files)


def test_the_verdict_on_memory_follows_from_the_figures(files):
    report = copy.deepcopy(REPORT)
    for part in ({"layers": report["memory"]["arithmetic"]}, report["memory"]["served"], report["memory"]["recorded"]):
        for row in part.values():
            row |= {"recall": 0.9, "false_fits": 0.03, "strict_recall": 0.7, "strict_false_fits": 0.01}
    assert "met with nothing; as answered, with nothing" in card_of(report, files)
    report["memory"]["arithmetic"] |= {"false_fits": 0.01}
    report["memory"]["served"]["that it ran"] |= {"strict_recall": 0.8, "strict_false_fits": 0.02}
    assert "met with layers known; as answered, with that it ran." in card_of(report, files)


#: These are in the report alone.
GPU_LEFT_TO_THE_REPORT = (
    "sheet_only_bias",
    "sheet_only_mape_without_resnet50",
    "sheet_only_missed_90",
    "sheet_only_median_interval_pct",
)


def gpu_card_shows(path) -> bool:
    name = str(path[-1])
    if "worst" in path or name in ("seed", "allowed", "rounds") or "half_width" in path:
        return False
    if "rates" in path and ("others" in path or "amp" in path):
        return name == "mape"
    if "left_out_anchors" in path and name.endswith("without_latency"):
        return name == "mape_without_latency"
    if name.startswith(GPU_LEFT_TO_THE_REPORT):
        return False
    if "left_out_gpus" in path and name.endswith("without_latency"):
        return name in ("mape_without_latency", "sheet_only_mape_without_latency")
    if "sheet_only" in name and "by_gpu" in path:
        return "mape" in name
    # The number of workloads is the same in every direction among profiled GPUs.
    return not ("directions" in path and name == "n")


@pytest.mark.parametrize("name", ["cells", "estimate", "gpus", "scaleout"])
def test_the_shipped_card_is_that_of_the_shipped_report(repository, name):
    part, models = PARTS[name], repository / "models"
    report = read_report(models / part.report_name, "", **part.checksums(models))
    assert (models / part.card_name).read_text() == part.text(report, models)


@pytest.fixture(scope="module")
def rows(files):
    return {row["gpu"].name: row for row in accuracy_by_gpu(REPORT, files[0])}


def test_a_gpu_is_checked_by_rates_that_saw_none_of_its_speeds(rows, files):
    row, (judged,) = rows["H200-SXM-141GB"], [row for row in REPORT["rates"]["gpus"] if row["gpu"] == "H200-SXM-141GB"]
    assert row["held_out"] == judged["mape"] and row["has_tables"]
    width = quantile() * known_speed(files[0], row["gpu"], True).step_log_sd
    assert row["half_width"] == pytest.approx(100 * (math.exp(width) - 1))
    assert row["amp_half_width"] > row["half_width"]
    amd = rows["AMD Instinct MI300X"]
    assert amd["held_out"] is None and not amd["has_tables"] and amd["evidence"].source is Source.SPECS


SHIPPED = shipped_folder("models")


def shipped(name: str) -> dict:
    return json.loads((SHIPPED / name).read_text())


def test_a_missing_torn_or_changed_report_or_one_of_other_models_is_refused(tmp_path):
    path = tmp_path / "cells_validation.json"
    for text in (None, "", "[]", "{", "{}", "[" * 100_000, json.dumps({**shipped(path.name), "checksum": "0"})):
        if text is not None:
            path.write_text(text)
        with pytest.raises(ArtifactError, match="profet validate --cells --card") as error:
            read_report(path, "profet validate --cells --card")
        assert "\n" not in str(error.value)
    path, judged = (
        SHIPPED / "gpus_validation.json",
        {"transfer": load_transfer(SHIPPED), "memory": load_memory(SHIPPED)},
    )
    checksums = {name: model.checksum for name, model in judged.items()}
    assert read_report(path, "", **checksums)["seed"] == 0
    for name in judged:
        with pytest.raises(ArtifactError, match=rf"another {name}\.json"):
            read_report(path, "", **{**checksums, name: "0" * 64})
    with pytest.raises(ArtifactError, match="other models"):
        read_report(SHIPPED / "validation.json", "", models="0" * 64)


# --- what was aimed at


def test_the_figures_aimed_at_are_reached(models):
    found = shipped("gpus_validation.json")
    targets, anchors, served = found["left_out_gpus"], found["left_out_anchors"], found["served"]
    assert len(targets["directions"]) == 12
    assert targets["mean"]["mape_with_latency"] <= 10 and anchors["mean"]["mape_with_latency"] <= 10.5
    assert max(row["mape_with_latency"] for row in targets["directions"]) <= 15
    off = {(row["gpu"], row["other"]): abs(row["off"]) for row in served["mlperf"]}
    assert off["A10G", "A100-PCIE-80GB"] <= 20 and off["H100-SXM5-80GB", "A100-SXM4-80GB"] <= 12
    assert np.mean([abs(row["slower"]) for row in served["points"]]) <= 4
    assert 0.9 <= served["b200_amp_over_tf32"] <= 1.15
    memory = shipped("gpus_validation.json")["memory"]
    scores, layers, recorded = memory["served"]["profile and its meta"], memory["arithmetic"], memory["recorded"]
    assert scores["strict_false_fits"] <= 0.02 and scores["decided_accuracy"] > 0.98
    assert layers["recall"] >= 0.8 and layers["false_fits"] <= 0.02
    for known in ("recorded peak", "peaks at batch 16 and 64"):
        assert recorded[known]["strict_recall"] >= 0.8 and recorded[known]["strict_false_fits"] <= 0.02
        assert recorded[known]["recall"] >= 0.8 and recorded[known]["false_fits"] <= 0.02
    peak = recorded["recorded peak"]
    assert (peak["cells"], peak["did_not_run"]) == (scores["cells"], scores["did_not_run"]), "the same questions"
    found, model = shipped("estimate_validation.json"), load_rates(SHIPPED)
    assert found["estimate_checksum"] == model.checksum
    assert str(found["steps"]) == model.fitted_on["steps"]
    rows = {row["held_out"]: row for row in found["judged"]}
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
        assert 85 <= found["inside"][case]["coverage_90"] <= 95
    assert shipped("validation.json")["models_checksum"] == models.manifest["checksum"]
