"""Third-party profiles are compared with what was measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace

from profet_core import InputError, predict, read_profile
from profet_lab.real_profiles import (
    DOUBTED,
    NO_ANCHOR,
    NO_LATENCY,
    NO_TRUTH,
    Measured,
    figures,
    measured_latencies,
    read_index,
    real_report,
)
from profet_lab.reports import CARD_NAME, PARTS, REAL_REPORT_NAME

P100 = "Tesla P100-PCIE-16GB"
ENTRY = {"file": "a.json", "gpu": "Tesla T4", "framework": "TensorFlow 2.4", "kind": "some CNN", "steps": 1}


@pytest.fixture(scope="module")
def sample(samples):
    """A measured step on a T4 that no file of two steps stands in the way of."""
    return next(sample for sample in samples.values() if sample.anchor == "g4dn.xlarge")


@pytest.fixture
def operations(sample) -> dict[str, float]:
    """Its totals, microseconds of one step."""
    return dict(sample.profile.operations)


@pytest.fixture
def write(tmp_path, operations):
    """`write(entry, ...)` writes a.json with that step, and an index of the entries; returns the folder."""

    def write_folder(*entries: dict, **meta: object) -> Path:
        (tmp_path / "a.json").write_text(json.dumps({"operations": operations, "meta": {"steps": 1, **meta}}))
        (tmp_path / "index.json").write_text(json.dumps({"profiles": [{**ENTRY, **entry} for entry in entries]}))
        return tmp_path

    return write_folder


def known(latency_ms: float) -> dict:
    return {"latency_ms": latency_ms, "source": "me"}


def predicted(models, catalog, folder: Path, latency_ms: float | None, target: str = "p3.2xlarge"):
    """What is predicted from a.json."""
    profile = read_profile((folder / "a.json").read_bytes(), "a.json")
    prediction = predict(models, catalog, profile, "g4dn.xlarge", latency_ms=latency_ms)
    return next(row for row in prediction.predictions if row.instance == target)


def test_error_and_coverage_by_hand(models, catalog, sample, write):
    given = predicted(models, catalog, write({}), sample.latency_ms)
    without = predicted(models, catalog, write({}), None)
    truth_ms = given.latency_ms / 0.8
    folder = write({"step_ms": sample.latency_ms, "elsewhere": {"V100": known(truth_ms)}})
    report = real_report(models, folder)
    (check,) = report["profiles"]
    assert [check[name] for name in ("anchor", "target", "target_gpu", "truth")] == [
        "g4dn.xlarge", "p3.2xlarge", "V100", "me",
    ]  # fmt: skip
    assert check["with_latency"] == {
        "latency_ms": given.latency_ms, "low_ms": given.interval.low_ms, "high_ms": given.interval.high_ms,
    }  # fmt: skip
    assert check["without_latency"]["latency_ms"] == without.latency_ms
    mean = report["mean"]
    assert mean["n"] == 1
    assert mean["mape_with_latency"] == pytest.approx(20)
    assert mean["mape_without_latency"] == pytest.approx(100 * abs(without.latency_ms / truth_ms - 1))
    assert mean["coverage_90"] == (100.0 if truth_ms <= given.interval.high_ms else 0.0)
    # The interval's end decides what is covered.
    for factor, covered in ((0.999, 100.0), (1.001, 0.0)):
        check["truth_ms"] = check["with_latency"]["high_ms"] * factor
        assert figures([check])["coverage_90"] == covered


def test_the_measurements_are_the_truth_and_state_what_the_anchor_took(models, sample, write):
    workload = {"model": "ResNet50", "pixels": 224, "batch_size": 32}
    folder = write({"step_ms": sample.latency_ms, "measured": workload})
    wanted_workloads = []

    def measured(wanted: Measured) -> dict[str, float]:
        wanted_workloads.append(wanted)
        return {"g4dn.xlarge": 280.0, "p3.2xlarge": 104.0, "p2.xlarge": 844.0}

    report = real_report(models, folder, measured)
    assert wanted_workloads == [Measured("ResNet50", 224, 32)]
    assert {check["target"]: check["truth_ms"] for check in report["profiles"]} == {
        "p3.2xlarge": 104.0,
        "p2.xlarge": 844.0,
    }
    assert all(check["trained_on"] for check in report["profiles"])
    assert report["read"][0]["here_ms"] == 280.0


def test_measured_latencies_are_medians_over_the_repeats(small):
    rows = [("slow", 30.0), ("slow", 10.0), ("slow", 11.0), ("fast", 4.0)]
    table = pd.DataFrame(rows, columns=["instance", "batch_latency_ms"]).assign(model="A", pixels=32, batch_size=16)
    table.loc[len(table)] = ("slow", 99.0, "B", 32, 16)
    made = replace(small, all_latencies=table)
    assert measured_latencies(made, Measured("A", 32, 16)) == {"slow": 11.0, "fast": 4.0}
    with pytest.raises(InputError, match="hold no A at 64 pixels, batch 16"):
        measured_latencies(made, Measured("A", 64, 16))


def test_a_gpu_that_nobody_profiled_is_outside_the_mean_as_target_and_as_anchor(models, sample, write):
    folder = write({"step_ms": sample.latency_ms, "elsewhere": {P100: known(99.0), "V100": known(75.0)}})
    report = real_report(models, folder)
    assert {check["target_gpu"]: check["basis"] for check in report["profiles"]} == {
        "P100": "transferred",
        "V100": "measured",
    }
    assert report["mean"]["n"] == 1 and len(report["pairs"]) == 2
    folder = write({"step_ms": sample.latency_ms, "gpu": P100, "elsewhere": {"V100": known(75.0)}})
    (check,) = real_report(models, folder)["profiles"]
    assert tuple(check[name] for name in ("anchor_gpu", "target_gpu", "basis")) == ("P100", "V100", "mapped")
    answer = check["with_latency"]
    assert answer["low_ms"] < answer["latency_ms"] < answer["high_ms"]


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        ({"step_ms": 90.0}, NO_TRUTH),
        ({"elsewhere": {"V100": known(75.0)}}, NO_LATENCY),
        ({"gpu": "AMD Instinct MI355X"}, NO_ANCHOR),
    ],
)
def test_what_can_t_be_compared_is_read_and_left_out_of_the_mean(models, write, entry, note):
    report = real_report(models, write(entry))
    assert report["mean"] is None and report["profiles"] == []
    assert [(row["note"], row["steps_right"], row["refusal"]) for row in report["read"]] == [(note, True, "")]


def test_a_step_count_that_differs_and_time_without_an_operation_are_seen(models, operations, write):
    (row,) = real_report(models, write({"steps": 30}, steps=2))["read"]
    steps = [row[name] for name in ("steps", "steps_found", "steps_basis", "steps_right")]
    assert steps == [30, 2, "stated", False]

    busy_us = sum(us for name, us in operations.items() if name.startswith("Device_") and name != "Device_IDLE")
    operations["Device_Unknown"] = busy_us / 9
    (row,) = real_report(models, write({}))["read"]
    assert row["left_out"] == pytest.approx(10)


def test_a_refused_profile_is_not_compared_and_a_latency_that_makes_no_sense_used_and_both_reported(
    models, sample, operations, write
):
    folder = write({"step_ms": 1000 * sample.latency_ms, "elsewhere": {"V100": known(75.0)}})
    report = real_report(models, folder)
    assert len(report["profiles"]) == 1 and report["read"][0]["note"] == DOUBTED
    for name in [name for name in operations if name.startswith("Device_")]:
        del operations[name]
    folder = write({"step_ms": sample.latency_ms, "elsewhere": {"V100": known(75.0)}})
    report = real_report(models, folder)
    assert report["profiles"] == [] and "no GPU time" in report["read"][0]["refusal"]
    (folder / "a.json").write_text("hello")
    (row,) = real_report(models, folder)["read"]
    reading = [row[name] for name in ("format", "steps_found", "left_out", "steps_right")]
    assert reading == ["", None, None, None] and "a.json" in row["refusal"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"file": "b.json"}, "lists b.json"),
        ({"step_ms": "90"}, "Expected `float | null`, got `str` - at `$.profiles[0].step_ms`"),
        ({"steps_ms": 90}, "unknown field `steps_ms`"),
        ({"gpu": "Telsa T44", "elsewhere": {"V100": known(75.0)}}, "Unknown GPU 'Telsa T44'"),
        ({"elsewhere": {"A100": known(75.0)}}, "may be any of A100"),
        ({"measured": {"model": "ResNet50"}}, "missing required field `pixels`"),
    ],
)
def test_a_bad_index_is_one_line(models, write, entry, message):
    with pytest.raises(InputError) as caught:
        real_report(models, write(entry))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_report_and_card_are_written_beside_the_models(repository, tmp_path):
    folder = Path(shutil.copytree(repository / "models", tmp_path / "models"))
    report = {**json.loads((folder / REAL_REPORT_NAME).read_text()), "made": "2020-02-02"}
    report["mean"]["mape_with_latency"] = 98.7
    # A report on other models is none.
    validation = json.loads((folder / "validation.json").read_text())
    (folder / "validation.json").write_text(json.dumps({**validation, "models_checksum": "0"}))
    PARTS["real"].write(report, folder)
    assert json.loads((folder / REAL_REPORT_NAME).read_text()) == report
    card = (folder / CARD_NAME).read_text()
    assert "Of 2020-02-02: " in card and "MAPE 98.7% with" in card
    assert "## Profiled GPUs" not in card and "## Several GPUs" in card


def test_the_published_profiles_are_compared_with_what_was_measured(models, measurements, repository):
    folder = repository / "data" / "real_profiles"
    assert all(entry.source and entry.licence for entry in read_index(folder))
    report = real_report(models, folder, lambda workload: measured_latencies(measurements, workload))
    assert len(report["read"]) == len(list(folder.rglob("*.gz"))) + 1
    checks, mean = report["profiles"], report["mean"]
    truths = {(check["kind"], check["target_gpu"]): round(check["truth_ms"], 1) for check in checks}
    assert {gpu: truths["ResNet-50", gpu] for gpu in ("T4", "M60", "K80")} == {"T4": 287.8, "M60": 482.7, "K80": 844.4}
    assert (mean["coverage_90"], mean["coverage_90_without_latency"]) == (100, 100)
    assert [round(mean[f"mape_{case}_latency"], 2) for case in ("with", "without")] == [6.72, 5.49]
    assert [round(row["here_ms"], 1) for row in report["read"] if row["here_ms"] is not None] == [104.2] * 2
    # Another processor's rounding shows in the seventh digit.
    assert json.loads((repository / "models" / REAL_REPORT_NAME).read_text())["mean"] == pytest.approx(mean, rel=1e-5)
