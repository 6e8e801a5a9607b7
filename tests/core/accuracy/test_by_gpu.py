"""A row a GPU: what its numbers rest on, how that was checked, and how far off it was, as the report has it."""

from __future__ import annotations

import math

import pytest

from profet_core.accuracy.by_gpu import Checked, accuracy_by_gpu
from profet_core.accuracy.transfer_report import read_transfer_accuracy
from profet_core.latency import NORMAL_90
from profet_core.transfer.evidence import Evidence, Source
from profet_core.transfer.model import load_transfer
from profet_core.transfer.speed import known_speed
from tests.made.transfer_report import made_transfer_report

REPORT = made_transfer_report("a" * 64, "b" * 64)
CASES = {True: "with_latency", False: "without_latency"}


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
    row, case = rows["Tesla K80"], CASES[known]
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
    source = REPORT["derived"]["gpus"]["Tesla P100-PCIE-16GB"][f"mean_{CASES[known]}"]
    assert [(check.how, check.mape) for check in row.checks] == [
        (Checked.OTHER_SOURCE, source),
        (Checked.HELD_BACK, pytest.approx(table["mape"])),
    ]
    assert row.checks[0].bias is None and row.checks[1].bias == pytest.approx(table["bias"])
    law = model.derived["Tesla P100-PCIE-16GB"]
    assert row.half_width == pytest.approx(100 * (math.exp(NORMAL_90 * math.hypot(law.log_sd, law.bias_log_sd)) - 1))


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
    assert row.half_width == pytest.approx(100 * (math.exp(known_speed(model, row.gpu, True).log_half_width) - 1))
    assert rows["L4"].checks == () and rows["L4"].evidence.source is Source.KERNELS


@pytest.mark.parametrize(
    ("evidence", "words", "note"),
    [
        (Evidence(Source.PUBLISHED, "A40", "A40", 1), "published speed, 1 table", "training speed of A40"),
        (Evidence(Source.PUBLISHED, "L40S", "RTX 6000 Ada", 2), "published speed of RTX 6000 Ada, 2 tables", "Ada"),
        (Evidence(Source.SAME_CHIP, "H100-NVL-94GB", "H100-SXM5-80GB"), "same chip as H100-SXM5-80GB", "same chip"),
        (Evidence(Source.RELATIVE, "GeForce RTX 4090", "RTX 6000 Ada"), "RTX 6000 Ada and data sheets", "carried over"),
        (Evidence(Source.DATA_SHEET, "B200"), "data sheet alone", "data sheet alone"),
        (Evidence(Source.PROFILED, "Tesla T4", "Tesla T4"), "profiled", "profiled"),
    ],
)
def test_evidence_in_words(evidence, words, note):
    assert evidence.words == words
    assert note in evidence.note


def test_a_speed_carries_what_its_note_says(model):
    for gpu in model.gpus.values():
        for tf32 in (True, False):
            speed = known_speed(model, gpu, tf32)
            assert speed.note.startswith(("TF32, ", "FP32, ")) and speed.evidence.note in speed.note
            assert speed.evidence.gpu == gpu.name


def tables_of(gpu: str) -> list[dict]:
    return [row for row in REPORT["published"]["tables"] if row["gpu"] == gpu]
