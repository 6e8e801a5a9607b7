"""`profet gpus`: a GPU of your own in its own file, which every command honours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from profet_core import InputError, predict
from profet_core.catalog import load_gpus
from tests.made.custom_home import GPU, INSTANCE, make_custom_home

ADD = ("RTX 4080", "--like", "L40S", "--fp32-tflops", 48.7, "--tf32-tensor-dense-tflops", 97.5, "--memory-gib", 16)
TOO_FAST = ("--times-reference", 900, "--times-log-sd", 0.1)
POINT = ("--images-per-s", 480, "--network", "ResNet50", "--batch-size", 128, "--precision", "tf32")


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PROFET_INSTANCES", str(tmp_path / "mine" / "instances.csv"))
    return tmp_path / "mine" / "gpus.csv"


def predicted(document, sample) -> dict:
    answer = document("predict", sample.path, "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    return {row["instance"]: row for row in answer["predictions"]}


def test_an_added_gpu_is_predicted_listed_and_priced(document, sample, own):
    before = predicted(document, sample)
    added = document("gpus", "add", *ADD, *POINT, "--usd-per-hour", 0.25, "--as-of", "2026-11", "--source", "mine")
    assert added["file"] == str(own) and added["gpu"]["instance"] == "rtx-4080"
    assert (added["gpu"]["images_per_s"], added["gpu"]["pixels"]) == (480, 224)
    rows = predicted(document, sample)
    row = rows.pop("rtx-4080")
    assert rows == before and row["basis"] == "transferred" and row["usd_per_hour"] == 0.25
    assert "480 images/s of ResNet50 in TF32, 224 pixels, batch 128: mine" in row["note"]
    (listed,) = [one for one in document("instances") if one["name"] == "rtx-4080"]
    assert (listed["gpu"], listed["market"], listed["basis"]) == ("RTX 4080", "own", "transferred")
    assert document("gpus") == [added["gpu"]] == document("gpus", "list")
    document("gpus", "add", *ADD, "--images-per-s", 900, *POINT[2:])
    assert predicted(document, sample)["rtx-4080"]["latency_ms"] < row["latency_ms"]
    document("instances", "add", "desk.x2", "--gpu", "RTX 4080", "--usd-per-hour", 1)
    assert predicted(document, sample)["desk.x2"]["usd_per_hour"] == 1
    document("gpus", "remove", "RTX 4080")
    assert document("gpus") == [] and predicted(document, sample) == before


def test_a_row_whose_gpu_ships_by_now_answers_and_can_be_removed(document, sample, own):
    document("gpus", "add", *ADD, "--usd-per-hour", 0.25)
    own.write_text(own.read_text().replace("RTX 4080", "GeForce RTX 3090"))
    asked = ("predict", sample.path, "--anchor", sample.anchor, "--gpu", "GeForce RTX 3090")
    (row,) = [row for row in document(*asked)["predictions"] if row["instance"] == "geforce-rtx-3090"]
    assert (row["basis"], row["usd_per_hour"]) == ("transferred", 0.25)
    document("gpus", "remove", "GeForce RTX 3090")
    assert document("gpus") == []


def test_every_gpu_says_its_precisions_and_what_amp_does(document, run):
    known = {row["gpu"]: row for row in document("gpus", "known")}
    assert list(known) == list(load_gpus())
    for name, precisions, amp in (
        ("Tesla K80", ["fp32"], "AMP at FP32 speed or slower: no tensor cores; BF16 at FP32 speed: no fast BF16 units"),
        (
            "Tesla P100-PCIE-16GB",
            ["fp32"],
            "AMP at FP32 speed or slower: no tensor cores; BF16 at FP32 speed: no fast BF16 units",
        ),
        ("Tesla T4", ["fp32", "amp"], "faster, on tensor cores; BF16 at FP32 speed: no fast BF16 units"),
        ("A100-SXM4-40GB", ["fp32", "tf32", "amp", "bf16"], "faster, on tensor cores"),
    ):
        assert (known[name]["precisions"], known[name]["amp"]) == (precisions, amp)
    document("gpus", "add", *ADD)
    assert document("gpus", "known")[-1]["gpu"] == "RTX 4080"
    assert "FP32, TF32, AMP, BF16" in run("gpus", "known")[1]


def test_a_change_keeps_what_it_doesn_t_say_and_every_command_knows_it(document, sample):
    document("gpus", "add", *ADD, "--times-reference", 1.2, "--times-log-sd", 0.1, "--usd-per-hour", 0.25)
    changed = document("gpus", "add", "RTX 4080", *POINT)["gpu"]
    assert (changed["like"], changed["fp32_tflops"], changed["memory_gib"]) == ("L40S", 48.7, 16)
    assert (changed["images_per_s"], changed["times_reference"], changed["usd_per_hour"]) == (480, None, 0.25)
    dearer = document("gpus", "add", "RTX 4080", "--like", "l40s", "--usd-per-hour", 0.5)["gpu"]
    assert dearer == {**changed, "usd_per_hour": 0.5}
    anew = document("gpus", "add", "RTX 4080", "--like", "L4")["gpu"]
    assert (anew["like"], anew["memory_gib"], anew["images_per_s"]) == ("L4", 24, None)
    assert len(document("gpus")) == 1
    document("gpus", "add", *ADD)
    ends = ("--axis", "batch", "--min-ms", 10, "--max-ms", 100, "--at", 128)
    shared = document("scale", "--instance", "A10", *ends)["latency_ms"]
    for name in ("RTX 4080", "rtx-4080"):
        assert document("scale", "--instance", name, *ends)["latency_ms"] == shared
    desk = ("instances", "add", "desk", "--gpu", "RTX 4080", "--usd-per-hour")
    document(*desk, 0.3)
    assert document(*desk, 0.2)["replaced_usd_per_hour"] == 0.3
    document("instances", "remove", "desk")
    document("gpus", "add", *ADD, *POINT)
    asked = ("--anchor", sample.anchor, "--latency-ms", sample.latency_ms, "--images", 50000)
    advice = document("advise", sample.path, *asked)
    assert advice["answer"]["plan"] == "rtx-4080 own", "its electricity is cheaper than any rent"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("T4", "--like", "L4"), "Tesla T4"),
        (("RTX 4080",), "name a similar GPU"),
        ((*ADD, "--images-per-s", 99999, *POINT[2:]), "99,999 images/s"),
        (("g5.xlarge", "--like", "L4"), "Instance g5.xlarge exists"),
    ],
)
def test_what_can_t_be_is_one_line(refused, own, arguments, says):
    assert says in refused("gpus", "add", *arguments) and not own.exists()


def test_a_damaged_file_is_one_line(refused, run, own, sample):
    own.parent.mkdir()
    own.write_text("gpu,like\nRTX 4080,L40S\n")
    line = refused("predict", sample.path, "--anchor", sample.anchor)
    assert "no column 'fp32_tflops'" in line and str(own) in line
    own.unlink()
    assert "has no GPU 'x'" in refused("gpus", "remove", "x")
    status, out, _ = run("gpus")
    assert status == 0 and out.split()[:3] == ["GPU", "instance", "like"]


@pytest.fixture
def home(run, tmp_path, monkeypatch) -> Path:
    """A folder of your own; `run` has unset what names another."""
    for name in ("PROFET_INSTANCES", "PROFET_GPUS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PROFET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_folder_of_one_s_own_has_gpus_before_it_has_models(document, refused, home):
    added = document("gpus", "add", *ADD)
    assert added["file"] == str(home / "gpus.csv")
    assert "times Tesla V100" in refused("gpus", "add", "Lab card", "--like", "A40", *TOO_FAST)
    assert document("gpus") == [added["gpu"]]


def test_the_folder_that_models_names_brings_its_lists(document, sample, home, monkeypatch):
    make_custom_home(home)
    monkeypatch.delenv("PROFET_HOME")
    asked = ("predict", sample.path, "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    monkeypatch.setenv("PROFET_INSTANCES", "")
    assert INSTANCE not in {row["instance"] for row in document(*asked)["predictions"]}
    rows = {row["instance"]: row for row in document(*asked, "--models", home)["predictions"]}
    assert (rows[INSTANCE]["gpu"], rows[INSTANCE]["basis"]) == (GPU, "calibrated")
    assert rows["quadro-rtx-4000"]["latency_ms"] == rows[INSTANCE]["latency_ms"]


def test_a_gpu_that_no_offer_has_gets_the_same_answer_everywhere(run, document, refused, samples, models, catalog):
    sample = samples["resnet50-128px-b64-g4dn"]
    asked = (sample.path, "--anchor", sample.anchor)
    line = (
        "No offer of the catalog has AMD Instinct MI325X: add one with `profet instances add`, or choose another GPU."
    )
    for name in ("MI325X", "AMD Instinct MI325X"):
        assert [row["gpu"] for row in document("predict", *asked, "--targets", name)["gpus"]] == ["AMD Instinct MI325X"]
        assert refused("predict", *asked, "--gpu", name) == line
        assert refused("advise", *asked, "--images", 1000, "--gpu", name) == line
        assert refused("estimate", "resnet50", "--batch", 8, "--gpu", name) == line
        with pytest.raises(InputError) as caught:
            predict(models, catalog, sample.profile, sample.anchor, targets=[name])
        assert str(caught.value) == line
    _, out, _ = run("gpus", "known")
    rows = {row[0]: row for row in (re.split(" {2,}", text) for text in out.splitlines())}
    assert rows["GPU"][2] == "offers" and rows["AMD Instinct MI325X"][2] == "0" and int(rows["Tesla T4"][2]) > 3
