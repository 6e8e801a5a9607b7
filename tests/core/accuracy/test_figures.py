"""Figures of the reports by hand: the models' own, real profiles', and a row a GPU."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from profet_core.accuracy.by_gpu import Checked, accuracy_by_gpu
from profet_core.accuracy.errors import Errors
from profet_core.accuracy.real_report import REAL_REPORT_NAME, load_real_report
from profet_core.accuracy.transfer_report import read_transfer_accuracy
from profet_core.accuracy.validation import WITH_TWIN
from profet_core.accuracy.validation_report import VALIDATION_NAME, load_validation
from profet_core.artifacts.models import Models
from profet_core.latency import quantile
from profet_core.transfer.evidence import Evidence, Source
from profet_core.transfer.model import load_transfer
from profet_core.transfer.speed import known_speed
from tests.made.real_report import READINGS, made_real_report
from tests.made.transfer_report import made_transfer_report
from tests.made.validation_report import ARCHITECTURES, FAMILIES, INSTANCES, made_report


@pytest.fixture
def folder(models, tmp_path) -> Models:
    """The shipped models in a folder of their own, that a report may be laid into."""
    return Models(tmp_path, models.manifest)


@pytest.fixture
def report(models):
    return made_report(models.manifest["checksum"])


def loaded(folder: Models, report: dict):
    (folder.folder / VALIDATION_NAME).write_text(json.dumps(report))
    return load_validation(folder)


def both(row: dict, name: str = "mape_{}") -> Errors:
    return Errors(row[name.format("with_latency")], row[name.format("without_latency")])


def test_the_figures_are_those_of_the_report(folder, report):
    found = loaded(folder, report)
    default, original = report["default"], report["original"]
    assert found.mean.error == both(default["mean"])
    assert found.mean.covered.with_latency == default["mean"]["coverage_90"]
    assert found.mean.half_width.without_latency == default["mean"]["median_interval_pct_without_latency"]
    assert found.with_sizes == both(default["mean"], "mape_{}_and_sizes")
    assert found.family_unlike == both(default["family"], "mape_without_twin_{}")
    assert found.original_worst_pair == Errors(
        *(max(row[f"mape_{case}"] for row in original["pairs"]) for case in ("with_latency", "without_latency"))
    )
    assert tuple(found.architectures) == ARCHITECTURES and tuple(found.families) == FAMILIES
    assert tuple(found.fastest_by_anchor) == tuple(found.noise) == INSTANCES
    pair, row = found.pairs[3], default["pairs"][3]
    assert (pair.anchor, pair.target, pair.n, pair.left_out.error) == (row["anchor"], row["target"], 9, both(row))
    assert pair.documented == both(report["profet"]["pairs"][3]) and pair.original == both(original["pairs"][3])
    assert [row.original is None for row in found.scalers] == [False, True] * 2
    assert found.points[0].low_ms == report["scatter"][0]["low_ms"]
    del report["default"]["measured"]
    assert loaded(folder, report).measured is None


def test_networks_without_a_relative_count_by_their_workloads(folder, report):
    """AlexNet has half of the others' workloads here."""
    report["scatter"] = [row for row in report["scatter"] if (row["model"], row["batch_size"]) != ("AlexNet", 64)]
    rows = report["original"]["by_model"]
    unlike = [name for name in ARCHITECTURES if name not in WITH_TWIN]
    weights = {name: 1 if name == "AlexNet" else 2 for name in unlike}
    expected = sum(weights[name] * rows[name]["mape_with_latency"] for name in unlike) / sum(weights.values())
    assert loaded(folder, report).unlike_original.with_latency == pytest.approx(expected)


def test_the_shipped_report_belongs_to_the_shipped_models(models):
    assert load_validation(models).models_checksum == models.manifest["checksum"]


# --- real ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def real_report(models):
    return made_real_report(models.manifest["checksum"])


def test_the_mean_is_over_predictions_on_profiled_gpus(real_report):
    assert real_report.mean.n == 3
    assert real_report.mean.error.with_latency == pytest.approx((10 + 20 + 15) / 3)
    assert real_report.mean.error.without_latency == pytest.approx((25 + 5 + 30) / 3)
    assert real_report.mean.covered.with_latency == pytest.approx(200 / 3)
    assert real_report.mean.covered.without_latency == pytest.approx(100 / 3)


def test_pairs_have_derived_gpus_too_frameworks_and_kinds_have_not(real_report):
    assert {pair: row.n for pair, row in real_report.pairs.items()} == {
        ("g4dn.xlarge", "p3.2xlarge"): 2,
        ("g4dn.xlarge", "Tesla P100-PCIE-16GB"): 1,
        ("p3.2xlarge", "g4dn.xlarge"): 1,
    }
    derived = real_report.pairs["g4dn.xlarge", "Tesla P100-PCIE-16GB"]
    assert derived.error == Errors(pytest.approx(50), pytest.approx(50)) and derived.covered == Errors(0, 100)
    assert {name: (row.n, row.error.with_latency) for name, row in real_report.libraries.items()} == {
        "TensorFlow": (2, pytest.approx(15)),
        "PyTorch": (1, pytest.approx(15)),
    }
    assert list(real_report.kinds) == ["LeNet, Adam", "ResNet-50"]
    assert real_report.compared == ("a.json, 0", "a.json, 1", "b.json.gz")
    assert real_report.steps_here_ms(real_report.translated) == {104.5: (121.5,)}
    assert [len(group) for group in real_report.alike] == [2, 1, 1]


def test_a_report_without_comparisons_has_no_mean(real_report):
    empty = replace(real_report, checks=())
    assert empty.mean is None and empty.document()["mean"] is None and empty.document()["pairs"] == []


def test_the_document_follows_the_contract(real_report):
    document = real_report.document()
    assert document["pairs"][0] == {
        "anchor": "g4dn.xlarge",
        "anchor_gpu": "T4",
        "target": "p3.2xlarge",
        "target_gpu": "V100",
        "basis": "measured",
        "n": 2,
        "mape_with_latency": pytest.approx(15),
        "mape_without_latency": pytest.approx(15),
        "coverage_90": 50.0,
        "coverage_90_without_latency": 50.0,
    }
    assert document["profiles"][0]["with_latency"] == {"latency_ms": 72.0, "low_ms": 60.0, "high_ms": 90.0}
    assert [row["steps_right"] for row in document["read"]] == [True, True, True, False]
    assert replace(READINGS[0], steps=None).steps_right is None


def test_what_is_written_is_read_again(real_report, models, tmp_path):
    (tmp_path / REAL_REPORT_NAME).write_text(json.dumps(real_report.document()))
    assert load_real_report(Models(tmp_path, models.manifest)) == real_report


# --- by gpu ----------------------------------------------------------------------------------------------------------


REPORT = made_transfer_report("a" * 64, "b" * 64)
CASE_OF = {True: "with_latency", False: "without_latency"}


@pytest.fixture(scope="module")
def model(repository):
    return load_transfer(repository / "models")


@pytest.fixture(params=[True, False])
def known(request):
    return request.param


@pytest.fixture
def rows(model, known):
    found = accuracy_by_gpu(read_transfer_accuracy(REPORT), model, latency_known=known)
    return {row.gpu.name: row for row in found}


def test_every_gpu_has_one_row_the_surest_first(rows, model):
    assert set(rows) == set(model.gpus)
    places = [list(Source).index(row.evidence.source) for row in rows.values()]
    assert places == sorted(places)


def test_a_profiled_gpu_is_checked_both_ways(rows, known):
    row, case = rows["Tesla K80"], CASE_OF[known]
    as_target = REPORT["left_out_gpus"]["by_gpu"]["p2.xlarge"]
    as_anchor = REPORT["left_out_anchors"]["by_anchor"]["p2.xlarge"]
    assert row.evidence.source is Source.PROFILED and row.measured
    assert [(check.how, check.mape, check.bias) for check in row.checks] == [
        (Checked.LEFT_OUT, as_target[f"mape_{case}"], as_target[f"bias_{case}"]),
        (Checked.AS_ANCHOR, as_anchor[f"mape_{case}"], as_anchor[f"bias_{case}"]),
    ]
    assert row.half_width == as_target[f"median_interval_pct_{case}"]


def test_a_derived_gpu_is_checked_by_its_source_and_by_tables(rows, model, known):
    row, (table,) = rows["Tesla P100-PCIE-16GB"], tables_of("Tesla P100-PCIE-16GB")
    source = REPORT["derived"]["gpus"]["Tesla P100-PCIE-16GB"][f"mean_{CASE_OF[known]}"]
    assert [(check.how, check.mape) for check in row.checks] == [
        (Checked.OTHER_SOURCE, source),
        (Checked.HELD_BACK, pytest.approx(table["mape"])),
    ]
    assert row.checks[0].bias is None and row.checks[1].bias == pytest.approx(table["bias"])
    law = model.derived["Tesla P100-PCIE-16GB"]
    assert row.half_width == pytest.approx(100 * (math.exp(quantile() * math.hypot(law.log_sd, law.bias_log_sd)) - 1))


def test_several_tables_count_by_their_rows(rows):
    one, other = tables_of("A100-PCIE-40GB")
    (check,) = rows["A100-PCIE-40GB"].checks
    total = one["n"] + other["n"]
    assert check.how is Checked.HELD_BACK
    assert check.mape == pytest.approx((one["n"] * one["mape"] + other["n"] * other["mape"]) / total)
    logs = [row["n"] * math.log(1 + row["bias"] / 100) for row in (one, other)]
    assert check.bias == pytest.approx(100 * (math.exp(sum(logs) / total) - 1))


def test_what_was_not_held_back_is_named_otherwise_and_an_own_point_measures_nothing(rows, model):
    assert [check.how for check in rows["GeForce RTX 2080 Ti"].checks] == [Checked.OTHER_NETWORKS]
    row = rows["H200-SXM-141GB"]
    (own,) = (one for one in REPORT["published"]["self_checks"] if one["gpu"] == row.gpu.name)
    (check,) = row.checks
    assert check.how is Checked.OWN_POINT and not row.measured
    # Half as fast again is a third less latency.
    assert check.bias == pytest.approx(100 * (1 / (1 + own["own_point"] / 100) - 1)) and check.mape == -check.bias
    assert row.half_width == pytest.approx(
        100 * (math.exp(quantile() * known_speed(model, row.gpu, True).step_log_sd) - 1)
    )
    assert rows["L4"].checks == () and rows["L4"].evidence.source is Source.KERNELS


@pytest.mark.parametrize(
    ("evidence", "words", "note"),
    [
        (Evidence(Source.PUBLISHED, "A40", "A40", 1), "published speed, 1 table", "training speed of A40"),
        (Evidence(Source.PUBLISHED, "L40S", "RTX 6000 Ada", 2), "published speed of RTX 6000 Ada, 2 tables", "Ada"),
        (Evidence(Source.SAME_CHIP, "H100-NVL-94GB", "H100-SXM5-80GB"), "same chip as H100-SXM5-80GB", "same chip"),
        (Evidence(Source.RELATIVE, "GeForce RTX 4090", "RTX 6000 Ada"), "RTX 6000 Ada and specs", "scaled by specs"),
        (Evidence(Source.DATA_SHEET, "B200"), "specs only", "specs only"),
    ],
)
def test_evidence_in_words(evidence, words, note):
    assert evidence.words == words
    assert note in str(evidence.note)


def tables_of(gpu: str) -> list[dict]:
    return [row for row in REPORT["published"]["tables"] if row["gpu"] == gpu]
