"""The `profet` command: its JSON as the contract has it, its numbers, and one line for everything that is wrong."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from profet_core import load_catalog, predict
from profet_core.artifacts.samples import Sample
from profet_core.profiles.pytorch.trace import TRANSLATED_WARNING
from profet_core.profiles.record import NO_DEVICE

CPU_ONLY = {"Host_Dataset": 1000.0, "Host_IDLE": 50_000.0}


@pytest.fixture
def sample(samples) -> Sample:
    return next(iter(samples.values()))


def sample_at(samples, axis: str, size: int) -> Sample:
    """The sample at one end of the pair of `axis`."""
    other = "pixels" if axis == "batch_size" else "batch_size"
    ends = {"batch_size": (16, 256), "pixels": (32, 256)}[axis]
    for one in samples.values():
        pair = [
            each
            for each in samples.values()
            if (each.model, each.anchor, getattr(each, other)) == (one.model, one.anchor, getattr(one, other))
        ]
        sizes = {getattr(each, axis): each for each in pair}
        if set(ends) <= set(sizes):
            return sizes[size]
    raise AssertionError(f"no pair of samples along {axis}")


def written(tmp_path: Path, content: object, name: str = "profile.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


# --- predict --------------------------------------------------------------------------------------------------------

ROW_KEYS = [
    "instance",
    "latency_ms",
    "low_ms",
    "high_ms",
    "members",
    "basis",
    "cost_per_1000_steps_usd",
    "usd_per_hour",
    "status",
    "note",
]


def unexpected(warnings: list[str]) -> list[str]:
    """Warnings beside those that even a recorded sample may earn: TensorFlow cut its profile short."""
    return [text for text in warnings if not text.startswith("Operations that every training step has are missing")]


def test_predicts_json_is_as_the_contract_has_it(document, sample):
    answer = document("predict", sample.path, "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    contract = ["anchor", "anchor_latency_ms", "steps", "steps_basis", "predictions", "interval_level"]
    contract += ["unknown_operations", "likeness", "warnings", "memory"]
    assert set(answer["memory"]) == {row["instance"] for row in answer["predictions"]}
    assert all(set(fit) == {"verdict", "probability", "largest_batch", "why"} for fit in answer["memory"].values())
    assert [key for key in answer if key != "method"] == contract
    assert [list(row) for row in answer["predictions"]] == [ROW_KEYS] * len(load_catalog())
    assert set(answer["unknown_operations"]) == {"names", "share", "mapped", "left_out"}
    assert (answer["anchor"], answer["anchor_latency_ms"]) == (sample.anchor, sample.latency_ms)
    assert answer["interval_level"] == 0.9
    assert set(answer["likeness"]) == {"distance", "words", "error_percent"}
    assert unexpected(answer["warnings"]) == []
    assert answer["unknown_operations"] == {"names": [], "share": 0.0, "mapped": {}, "left_out": []}


def test_predict_says_what_the_library_says(document, sample, models, catalog):
    answer = document("predict", sample.path, "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for row, wanted in zip(answer["predictions"], expected.predictions, strict=True):
        assert row["instance"] == wanted.instance
        assert row["latency_ms"] == wanted.latency_ms
        assert row["members"] == dict(wanted.members)
        assert row["cost_per_1000_steps_usd"] == pytest.approx(row["latency_ms"] / 3600 * row["usd_per_hour"])
        ends = (wanted.interval.low_ms, wanted.interval.high_ms) if wanted.interval else (None, None)
        assert (row["low_ms"], row["high_ms"]) == ends
        assert (row["basis"] == "given") == (row["low_ms"] is None)
    assert answer["likeness"]["words"] == expected.likeness.words


def test_the_anchor_is_the_row_of_basis_given(document, sample):
    rows = document("predict", sample.path, "--anchor", sample.anchor)["predictions"]
    assert [row["basis"] for row in rows] == ["given", *["measured"] * 3, "derived", *["transferred"] * 5]
    assert (rows[0]["instance"], rows[0]["latency_ms"]) == (sample.anchor, sample.latency_ms)


def test_the_latency_in_the_profiles_meta_is_used_unless_told_otherwise(document, sample):
    command = ("predict", sample.path, "--anchor", sample.anchor)
    from_meta = document(*command)
    assert from_meta == document(*command, "--latency-ms", sample.latency_ms)
    without = document(*command, "--without-latency")
    assert without["anchor_latency_ms"] is None
    anchor = without["predictions"][0]
    assert (anchor["latency_ms"], anchor["cost_per_1000_steps_usd"]) == (None, None)
    assert {len(row["members"]) for row in without["predictions"] if row["basis"] == "measured"} == {3}


def test_only_the_targets_asked_for(document, sample):
    targets = list(sample.measured_ms)[:2]
    rows = document("predict", sample.path, "--anchor", sample.anchor, "--targets", ",".join(targets))["predictions"]
    assert [row["instance"] for row in rows] == [sample.anchor, *targets]


def test_the_documented_method_can_be_asked_for_by_name(document, sample):
    answer = document("predict", sample.path, "--anchor", sample.anchor, "--method", "profet")
    assert (answer["method"], answer["likeness"], answer["interval_level"]) == ("profet", None, None)
    assert {(row["low_ms"], row["high_ms"]) for row in answer["predictions"]} == {(None, None)}


def test_text_has_bounds_and_likeness_only_where_the_method_gives_them(run, sample):
    command = ("predict", sample.path, "--anchor", sample.anchor)
    _, out, _ = run(*command)
    assert "low (90%)" in out and "high (90%)" in out and out.splitlines()[-1].startswith("This network is ")
    _, out, _ = run(*command, "--method", "profet")
    assert "low" not in out and "This network" not in out


def test_gzip_is_read_whatever_its_name(document, sample, tmp_path):
    path = written(tmp_path, gzip.compress(sample.data), "trace.csv")
    command = ("--anchor", sample.anchor)
    assert document("predict", path, *command) == document("predict", sample.path, *command)


def test_warnings_are_in_the_json_and_on_stderr_in_text(run, document, tmp_path):
    path = written(tmp_path, {"operations": {"Device_Conv2D": 9e4}, "meta": {"precision": "tf32", "steps": 1}})
    (first, *_) = document("predict", path, "--anchor", "g3s.xlarge")["warnings"]
    assert first.startswith("The profile says tf32")
    status, out, err = run("predict", path, "--anchor", "g3s.xlarge")
    assert status == 0
    assert f"warning: {first}\n" in err
    assert "warning" not in out


def test_predicts_text_is_a_table_with_a_line_an_instance(run, sample, catalog):
    status, out, err = run("predict", sample.path, "--anchor", sample.anchor)
    header, *rest = out.splitlines()
    lines, notes, legend = rest[: len(catalog)], rest[len(catalog) : -2], rest[-2]
    assert legend.startswith("Basis: given: ") and "; transferred: " in legend
    assert status == 0
    assert unexpected([line.removeprefix("warning: ") for line in err.splitlines()]) == []
    assert header.split()[0] == "instance" and "$ per 1,000 steps" in header
    assert {line.split()[0] for line in lines} == set(catalog)
    # What nobody profiled says what it rests on.
    assert [line.split(":")[0] for line in notes] == [
        f"{line.split()[0]}, {basis}" for line in lines for basis in ("derived", "transferred") if basis in line
    ]
    assert " ms " in lines[0] and "$" in lines[0] and "given" in lines[0]


def test_without_a_latency_the_text_says_so(run, sample):
    _, out, _ = run("predict", sample.path, "--anchor", sample.anchor, "--without-latency")
    assert "not given" in out.splitlines()[1]


# --- how many steps, and no number on sand --------------------------------------------------------------------------


@pytest.fixture
def whole(samples) -> Sample:
    """A sample that TensorFlow did not cut."""
    return samples["vgg16-224px-b16-g3s"]


def covering(tmp_path: Path, sample: Sample, steps: int, **meta: object) -> Path:
    """A file with the totals of so many steps of the sample, which doesn't say so."""
    operations = {name: us * steps for name, us in sample.profile.operations.items()}
    return written(tmp_path, {"operations": operations, "meta": meta}, f"{steps}.json")


def test_one_step_recorded_as_one_two_and_five_is_predicted_the_same(document, whole, tmp_path):
    answers = [
        document("predict", covering(tmp_path, whole, steps), "--anchor", whole.anchor, "--steps", steps)
        for steps in (1, 2, 5)
    ]
    assert [(one["steps"], one["steps_basis"]) for one in answers] == [(1, "given"), (2, "given"), (5, "given")]
    assert answers[0]["predictions"] == answers[1]["predictions"] == answers[2]["predictions"]


def test_the_latency_tells_the_steps_where_nobody_says_them(document, sample, tmp_path):
    path = covering(tmp_path, sample, 3)
    answer = document("predict", path, "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    assert (answer["steps"], answer["steps_basis"]) == (3, "inferred")
    assert any("the latency fit 3 steps" in line for line in answer["warnings"])


def test_without_any_of_it_the_preset_is_taken_and_said(document, run, sample, tmp_path):
    operations = dict(sample.profile.operations)
    for content, steps in ((operations, 2), ({"operations": operations}, 1)):
        path = written(tmp_path, content)
        answer = document("predict", path, "--anchor", sample.anchor)
        assert (answer["steps"], answer["steps_basis"]) == (steps, "assumed")
        told = [line for line in answer["warnings"] if line.startswith("The file does not say how many steps")]
        assert len(told) == 1
        assert told[0] in run("inspect", path)[1].splitlines()
        found = document("inspect", path)
        assert (found["steps"], found["steps_basis"]) == (steps, "assumed")


def test_costs_advice_and_inspect_take_the_steps_too(document, whole, tmp_path):
    for command in (
        ["cost", "--anchor", whole.anchor, "--images", 9],
        ["advise", "--anchor", whole.anchor, "--images", 9],
    ):
        name, *more = command
        found = [
            document(name, covering(tmp_path, whole, steps, batch_size=16), *more, "--steps", steps) for steps in (1, 4)
        ]
        assert found[0] == found[1]
    found = document("inspect", covering(tmp_path, whole, 4), "--steps", 4)
    assert (found["steps"], found["steps_basis"]) == (4, "given")
    assert found["operations_us"] == pytest.approx(dict(whole.profile.operations))


def test_a_number_of_steps_that_does_not_fit_the_latency_is_questioned(refused, document, sample, tmp_path):
    command = ("predict", covering(tmp_path, sample, 3), "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    line = refused(*command, "--steps", 12)
    assert "does the file cover 3 steps? Use --steps 3 if so, --trust-latency if it is right." in line
    assert document(*command, "--steps", 12, "--trust-latency")["steps"] == 12


@pytest.mark.parametrize("command", ["predict", "cost", "advise", "inspect", "convert"])
@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("0", "The number of steps must be a whole number of at least 1, not 0."),
        ("-3", "The number of steps must be a whole number of at least 1, not -3."),
        ("10001", "The number of steps must be at most 10,000."),
        ("1.5", "argument --steps: invalid int value: '1.5'"),
    ],
)
def test_steps_are_a_whole_number(refused, sample, command, number, says):
    more = {"inspect": (), "convert": ("-o", "-"), "predict": ("--anchor", "p2.xlarge")}
    arguments = more.get(command, ("--anchor", "p2.xlarge", "--images", 9))
    assert says in refused(command, sample.path, *arguments, f"--steps={number}")


BUSY = {"Device_Conv2D": 90_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CPU_ONLY, NO_DEVICE),
        ({"operations": BUSY, "meta": {"compiled": True}}, "XLA joined this step's operations"),
        ({"operations": {**BUSY, "Device_Unknown": 50_000.0}}, "34% of the GPU's time belongs to no operation"),
        ({"operations": BUSY, "refusal": "Only forward passes: record training."}, "Only forward passes"),
    ],
    ids=["no GPU time", "XLA", "no operations", "the reader's word"],
)
def test_no_number_is_made_of_sand_but_it_can_be_looked_at(refused, document, run, sample, tmp_path, content, says):
    path = written(tmp_path, content)
    assert refused("predict", path, "--anchor", sample.anchor).startswith(says)
    for command in ("cost", "advise"):
        assert refused(command, path, "--anchor", sample.anchor, "--images", 9).startswith(says)
    assert document("inspect", path)["refusal"].startswith(says)
    status, out, err = run("inspect", path)
    assert status == 0 and out and err.splitlines()[0].startswith(f"warning: {says}")
    assert run("convert", path, "-o", tmp_path / "out.json", "--force")[0] == 0
    assert refused("predict", tmp_path / "out.json", "--anchor", sample.anchor).startswith(says)


def test_which_other_trace_has_no_number_is_said(refused, samples, sample, tmp_path):
    path = written(tmp_path, CPU_ONLY)
    measured = ("--measured", f"{next(iter(sample.measured_ms))}=50", "--measured-trace", path)
    line = refused("predict", sample.path, "--anchor", sample.anchor, *measured)
    assert line == f"--measured-trace: {NO_DEVICE}"
    small = sample_at(samples, "batch_size", 16)
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 9, "--at-batch", 64, "--largest", path)
    assert refused(*command) == f"--largest: {NO_DEVICE}"


# --- scale ----------------------------------------------------------------------------------------------------------


def test_scales_json_is_as_the_contract_has_it(document):
    answer = document(
        "scale", "--instance", "p3.2xlarge", "--axis", "batch", "--min-ms", 10, "--max-ms", 100, "--at", 128
    )
    assert list(answer) == ["instance", "axis", "at", "latency_ms"]
    assert (answer["instance"], answer["axis"], answer["at"]) == ("p3.2xlarge", "batch", 128)
    assert 10 < answer["latency_ms"] < 100


@pytest.mark.parametrize(
    ("axis", "at", "latency_ms"), [("batch", 16, 10), ("batch", 256, 100), ("pixels", 32, 10), ("pixels", 256, 100)]
)
def test_scale_is_exact_at_both_ends(document, axis, at, latency_ms):
    ends = ("--min-ms", 10, "--max-ms", 100)
    assert document("scale", "--instance", "p2.xlarge", "--axis", axis, *ends, "--at", at)["latency_ms"] == latency_ms


def test_scales_text_is_one_sentence(run):
    ends = ("--min-ms", 10, "--max-ms", 100)
    assert run("scale", "--instance", "p2.xlarge", "--axis", "batch", *ends, "--at", 16) == (
        0,
        "p2.xlarge at batch 16: 10.0 ms a step\n",
        "",
    )


@pytest.mark.parametrize("axis", ["batch", "pixels"])
def test_scale_takes_a_method_and_what_else_is_known(document, samples, axis):
    largest = next(
        item.path for item in samples.values() if (item.batch_size if axis == "batch" else item.pixels) == 256
    )
    ends = ("scale", "--instance", "p2.xlarge", "--axis", axis, "--min-ms", 10, "--max-ms", 100, "--at", 128)
    documented = document(*ends, "--method", "profet", "--largest", largest, "--other-size", 64)
    assert documented == document(*ends, "--method", "profet")
    for known in ((), ("--other-size", 64), ("--largest", largest), ("--fixed-classes",)):
        assert 10 < document(*ends, *known)["latency_ms"] < 100


# --- cost -----------------------------------------------------------------------------------------------------------


def test_costs_json_has_time_and_money_of_every_instance(document, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--profiled-batch", sample.batch_size)
    answer = document(*command, "--images", 10 * sample.batch_size, "--epochs", 7)
    assert (answer["batch_size"], answer["epochs"], answer["images"]) == (sample.batch_size, 7, 10 * sample.batch_size)
    assert unexpected(answer["warnings"]) == []
    latencies_ms = {
        row["instance"]: row["latency_ms"]
        for row in document("predict", sample.path, "--anchor", sample.anchor)["predictions"]
    }
    assert {row["instance"] for row in answer["rows"]} == set(latencies_ms)
    for row in answer["rows"]:
        assert row["epoch_s"] == pytest.approx(10 * latencies_ms[row["instance"]] / 1000)
        assert row["epoch_usd"] == pytest.approx(row["epoch_s"] / 3600 * row["usd_per_hour"])
        assert row["total_s"] == pytest.approx(7 * row["epoch_s"])
        assert row["total_usd"] == pytest.approx(7 * row["epoch_usd"])


def test_the_batch_size_is_known_from_the_profile(document, sample):
    assert document("cost", sample.path, "--anchor", sample.anchor, "--images", 10)["batch_size"] == sample.batch_size


def test_an_own_price_counts(document, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--images", 1000)
    prices = ("--price", "g4dn.xlarge=0.263", "--price", "p2.xlarge=9")
    plain = {row["instance"]: row for row in document(*command)["rows"]}
    own = {row["instance"]: row for row in document(*command, *prices)["rows"]}
    assert own["g4dn.xlarge"]["epoch_usd"] == pytest.approx(plain["g4dn.xlarge"]["epoch_usd"] / 2)
    assert own["p2.xlarge"]["epoch_usd"] == pytest.approx(plain["p2.xlarge"]["epoch_usd"] * 10)
    assert own["g3s.xlarge"] == plain["g3s.xlarge"]


def test_validation_images_take_time(document, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--images", 3 * sample.batch_size)
    plain = document(*command)["rows"][0]["epoch_s"]
    assert document(*command, "--validation-images", 3 * sample.batch_size)["rows"][0]["epoch_s"] == pytest.approx(
        plain * 4 / 3
    )


def test_another_batch_size_is_carried_there_from_both_ends(document, samples):
    small, large = sample_at(samples, "batch_size", 16), sample_at(samples, "batch_size", 256)
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--largest", large.path)
    rows = {at: document(*command, "--at-batch", at) for at in (16, 64, 256)}
    assert [answer["batch_size"] for answer in rows.values()] == [16, 64, 256]
    for each in zip(*(answer["rows"] for answer in rows.values()), strict=True):
        assert each[0]["latency_ms"] < each[1]["latency_ms"] < each[2]["latency_ms"]
    assert {row["instance"]: row["latency_ms"] for row in rows[256]["rows"]}[small.anchor] == large.latency_ms


def test_the_largest_profiles_warnings_are_told_too(document, samples, tmp_path):
    small, large = sample_at(samples, "batch_size", 16), sample_at(samples, "batch_size", 256)
    content = json.loads(large.data)
    content["meta"]["gpu"] = "Tesla P100"
    path = written(tmp_path, content)
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--largest", path, "--at-batch", 64)
    warnings = document(*command)["warnings"]
    assert any(text.startswith("--largest: The profile says it was recorded on Tesla P100") for text in warnings)


def test_costs_text_marks_retired_instances(run, sample):
    status, out, _ = run("cost", sample.path, "--anchor", sample.anchor, "--images", 50_000, "--epochs", 2)
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert status == 0
    assert lines["p3.2xlarge"].endswith("retired") and lines["g4dn.xlarge"].endswith("available")
    assert "1.00x" in lines[sample.anchor]


def test_costs_say_what_each_rests_on(document, run, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--images", 50_000)
    rows = {row["instance"]: row for row in document(*command)["rows"]}
    assert rows["p4d.24xlarge"]["basis"] == "transferred" and "whole node of 8" in rows["p4d.24xlarge"]["note"]
    assert rows["g5.xlarge"]["basis"] == "derived"
    out = run(*command)[1].splitlines()
    assert any(line.startswith("p5.4xlarge ") and "transferred" in line for line in out)
    assert any(line.startswith("p4d.24xlarge, transferred: ") for line in out)


# --- instances, inspect ---------------------------------------------------------------------------------------------


def test_instances_lists_the_catalogue(document, run, catalog):
    rows = document("instances")
    assert [row["name"] for row in rows] == list(catalog)
    by_name = {row["name"]: row for row in rows}
    assert (by_name["p3.2xlarge"]["usd_per_hour"], by_name["p3.2xlarge"]["basis"]) == (3.06, "measured")
    assert by_name["g5.xlarge"]["basis"] == "derived"
    assert by_name["p5.48xlarge"]["basis"] == "transferred"
    assert len(run("instances")[1].splitlines()) == len(catalog) + 1


def test_inspect_tells_format_totals_and_what_was_ignored_or_unknown(document, run, tmp_path):
    operations = {"Device_Conv2D": 750.0, "Device_Nothing_like_it_at_all": 250.0, "Host_IDLE": 5.0, "note": 1}
    path = written(tmp_path, {"operations": operations, "meta": {"batch_size": 8}})
    found = document("inspect", path)
    assert found == {
        "format": "PROFET JSON, version 2",
        "operations_us": {"Device_Conv2D": 750.0, "Device_Nothing_like_it_at_all": 250.0, "Host_IDLE": 5.0},
        "device_total_us": 1000.0,
        "host_total_us": 5.0,
        "steps": 1,
        "steps_basis": "assumed",
        "framework": None,
        "meta": {"batch_size": 8},
        "refusal": "",
        "warnings": [],
        "ignored": ["1 entries that are no operations: 'note'"],
        "unknown_operations": {
            "names": ["Device_Nothing_like_it_at_all"],
            "share": 0.25,
            "mapped": {},
            "left_out": ["Device_Nothing_like_it_at_all"],
        },
        "kinds": {
            "Device_Conv2D": "convolution",
            "Device_Nothing_like_it_at_all": None,
            "Host_IDLE": "idle",
        },
        "classes": {
            "Device_Conv2D": "convolution",
            "Device_Nothing_like_it_at_all": None,
            "Host_IDLE": None,
        },
        "clusters": found["clusters"],
        "diagnosis": {
            "kind": "busy",
            "gpu_busy_share": 1.0,
            "input_share": 0.0,
            "latency_known": False,
            "sentence": "Nothing holds the GPU up much: the GPU worked for about 100% of the step.",
        },
    }
    assert "Conv2D" in found["clusters"].pop("Device_Conv2D")
    assert found["clusters"] == {"Device_Nothing_like_it_at_all": None, "Host_IDLE": "Host_IDLE"}
    status, out, err = run("inspect", path)
    assert status == 0
    assert "ignored: 1 entries" in err
    assert "device 1.00 ms, host 0.00500 ms" in out and "unknown, left out" in out and "batch_size: 8" in out


def test_inspect_tells_steps_framework_and_warnings_of_a_pytorch_trace(document, run, repository):
    path = repository / "tests" / "core" / "profiles" / "pytorch" / "recorded" / "pytorch-2.13-cpu.pt.trace.json.gz"
    found = document("inspect", path)
    assert (found["format"], found["framework"], found["steps"]) == ("PyTorch trace", "PyTorch", 2)
    assert found["warnings"] == [TRANSLATED_WARNING]
    _, out, err = run("inspect", path)
    assert err.splitlines()[:2] == [f"warning: {NO_DEVICE}", f"warning: {TRANSLATED_WARNING}"]
    assert "operation types, the mean of 2 steps" in out


# --- what is wrong --------------------------------------------------------------------------------------------------

NO_LATENCY = "The anchor's latency must be a number above 0"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--anchor", "g9.xlarge"], "Unknown anchor 'g9.xlarge': choose one of"),
        (["--anchor", "a\nb"], "Unknown anchor 'a\\nb': choose one of"),
        (["--anchor", ""], "Unknown anchor ''"),
        (["--anchor", "p2.xlarge", "--targets", "p9"], "Unknown target 'p9': choose one of"),
        (["--anchor", "p2.xlarge", "--targets", ","], "Name at least one target"),
        (["--anchor", "p2.xlarge", "--method", "best"], "Unknown method 'best': use default or one of"),
        *((["--anchor", "p2.xlarge", f"--latency-ms={bad}"], NO_LATENCY) for bad in ("nan", "inf", "-inf", "0", "-1")),
        (["--anchor", "p2.xlarge", "--latency-ms", "-1"], NO_LATENCY),
        (["--anchor", "p2.xlarge", "--latency-ms", "1e308", "--trust-latency"], "The anchor's latency can't be 1e+308"),
        (["--anchor", "p2.xlarge", "--latency-ms", "1e-320"], "The anchor's latency can't be"),
        (["--anchor", "p2.xlarge", "--latency-ms", "fast"], "argument --latency-ms: invalid float value: 'fast'"),
        (["--anchor", "p2.xlarge", "--latency-ms", "9e9"], "Use --trust-latency if it is right."),
        (["--anchor", "p2.xlarge", "--models", "/nowhere"], "There are no models in /nowhere"),
        (["--anchor", "p2.xlarge", "--format", "xml"], "argument --format: invalid choice: 'xml'"),
        (["--anchor", "p2.xlarge", "--bogus\nx"], "unrecognized arguments: --bogus x"),
        (["--anchor"], "argument --anchor: expected one argument"),
        ([], "the following arguments are required: --anchor (see `profet predict --help`)"),
    ],
)
def test_predict_refuses_in_one_line(refused, sample, arguments, says):
    assert says in refused("predict", sample.path, *arguments)


def test_a_runs_folder_is_read_and_the_file_named(document, repository, tmp_path):
    run_folder = tmp_path / "plugins" / "profile" / "run"
    run_folder.mkdir(parents=True)
    name = "tensorflow-step.xplane.pb"
    shutil.copy(repository / "sample_traces" / "formats" / name, run_folder)
    (run_folder / "readme.txt").write_text("hello")
    found = document("inspect", tmp_path)
    assert found["format"] == "TensorFlow xplane.pb"
    assert f"1 of the 2 files in the folder: plugins/profile/run/{name} was read" in found["ignored"]


@pytest.mark.parametrize("command", ["predict", "cost", "inspect"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "can't be read: No such file or directory."),
        ("folder", "the folder holds no profile among its 0 files"),
        (b"", "The file is empty"),
        (b"{", "not valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"Device_Conv2D": NaN}', "holds NaN"),
        (b"\x1f\x8b\x08", "cut short"),
        (b"PK\x03\x04", "zip archive"),
        (b"%PDF-1.7", "no profile that can be read"),
    ],
)
def test_a_bad_trace_is_refused_in_one_line(refused, tmp_path, command, content, says):
    path = tmp_path / "a trace\nof two lines.json"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    more = {"inspect": [], "predict": ["--anchor", "p2.xlarge"], "cost": ["--anchor", "p2.xlarge", "--images", "5"]}
    assert says in refused(command, path, *more[command])


def test_a_name_too_long_for_the_file_system_is_refused(refused):
    assert "can't be read: File name too long." in refused("inspect", "x" * 5000)


def test_a_latency_in_the_meta_that_makes_no_sense_is_questioned(refused, sample, tmp_path):
    content = json.loads(sample.data)
    content["meta"]["step_latency_ms"] = sample.latency_ms * 1000
    message = refused("predict", written(tmp_path, content), "--anchor", sample.anchor)
    assert "makes no sense beside this profile" in message and " us (" in message


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"--instance": "g9"}, "No scaler for 'g9': choose one of"),
        ({"--axis": "depth"}, "argument --axis: invalid choice: 'depth'"),
        ({"--method": "best"}, "argument --method: invalid choice: 'best'"),
        ({"--other-size": "0"}, "The size on the other axis must be a whole number of at least 1, not 0."),
        ({"--largest": "nowhere.json"}, "nowhere.json can't be read"),
        ({"--min-ms": "100"}, "The latency at batch 256 (100 ms) must be above the latency at batch 16 (100 ms)."),
        ({"--min-ms": "200"}, "must be above the latency at batch 16 (200 ms)."),
        ({"--min-ms": "0"}, "The latency at batch 16 must be a number above 0, not 0.0."),
        ({"--min-ms": "-5"}, "The latency at batch 16 must be a number above 0, not -5.0."),
        ({"--max-ms": "inf"}, "The latency at batch 256 must be a number above 0, not inf."),
        ({"--max-ms": "nan"}, "The latency at batch 256 must be a number above 0, not nan."),
        ({"--at": "15"}, "The batch size must be between 16 and 256, not 15."),
        ({"--at": "257"}, "The batch size must be between 16 and 256, not 257."),
        ({"--at": "64.5"}, "argument --at: invalid int value: '64.5'"),
        ({"--at": "9" * 5000}, "argument --at: invalid int value"),
        ({"--axis": "pixels", "--at": "16"}, "The pixels size must be between 32 and 256, not 16."),
    ],
)
def test_scale_refuses_in_one_line(refused, arguments, says):
    given = {"--instance": "p2.xlarge", "--axis": "batch", "--min-ms": "10", "--max-ms": "100", "--at": "64"}
    assert says in refused("scale", *(text for pair in {**given, **arguments}.items() for text in pair))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--images", "0"], "The number of images must be a whole number of at least 1, not 0."),
        (["--images", "-5"], "The number of images must be a whole number of at least 1, not -5."),
        (["--images", "many"], "argument --images: invalid int value: 'many'"),
        (["--images", "1" + "0" * 400], "The number of images must be at most 1e+15"),
        (["--images", "9", "--epochs", "0"], "The number of epochs must be a whole number of at least 1, not 0."),
        (["--images", "9", "--epochs", "1" + "0" * 305], "The number of epochs must be at most 1e+15"),
        (["--images", "9", "--validation-images", "-1"], "The number of images must be a whole number"),
        (["--images", "9", "--profiled-batch", "0"], "The profiled batch size must be a whole number"),
        (["--images", "9", "--profiled-batch", "17"], "another batch size needs scaled latencies"),
        (["--images", "9", "--price", "p2.xlarge"], "'p2.xlarge' is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4"),
        (["--images", "9", "--price", "p2.xlarge=cheap"], "is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4"),
        (["--images", "9", "--price", "p2.xlarge=-1"], "The price of p2.xlarge must be a number above 0, not -1.0."),
        (["--images", "9", "--price", "p2.xlarge=nan"], "The price of p2.xlarge must be a number above 0, not nan."),
        (["--images", "9", "--price", "p9=1"], "Unknown instance 'p9': choose one of"),
        (["--images", "9", "--at-batch", "64"], "--at-batch needs"),
        (["--images", "9", "--largest", "other.json"], "--largest is for another batch size: name it with --at-batch."),
        ([], "the following arguments are required: --images"),
    ],
)
def test_cost_refuses_in_one_line(refused, sample, arguments, says):
    assert says in refused("cost", sample.path, "--anchor", sample.anchor, *arguments)


def test_another_batch_size_needs_the_profiles_of_both_ends(refused, samples):
    small, large = sample_at(samples, "batch_size", 16), sample_at(samples, "batch_size", 256)
    small_pixels = sample_at(samples, "pixels", 32)
    command = ("--anchor", small.anchor, "--images", 1000, "--at-batch", 64)
    assert refused("cost", small.path, *command) == (
        "--at-batch needs both ends: TRACE at batch 16 and --largest TRACE at batch 256."
    )
    assert "--at-batch needs TRACE recorded at batch 16, not 256." in refused(
        "cost", large.path, *command, "--largest", large.path
    )
    assert f"--largest must be recorded at batch 256, not {small_pixels.batch_size}." in refused(
        "cost", small.path, *command, "--largest", small_pixels.path
    )
    assert "The batch size must be between 16 and 256, not 300." in refused(
        "cost", small.path, *command[:-1], 300, "--largest", large.path
    )


def test_a_profile_that_does_not_say_its_batch_size_is_asked_for_it(refused, tmp_path):
    path = written(tmp_path, {"Device_Conv2D": 50_000.0})
    assert "give the batch size it was recorded at" in refused("cost", path, "--anchor", "p2.xlarge", "--images", "9")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "the following arguments are required: COMMAND (see `profet --help`)"),
        (["guess"], "invalid choice: 'guess'"),
        (["--format", "json"], "argument COMMAND: invalid choice"),
        (["inspect"], "the following arguments are required: TRACE (see `profet inspect --help`)"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(refused, arguments, says):
    assert says in refused(*arguments)


def test_a_damaged_models_folder_is_refused_in_one_line(refused, sample, repository, tmp_path):
    text = (repository / "models" / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace('"near": 6.0', '"near": 7.0'))
    message = refused("predict", sample.path, "--anchor", sample.anchor, "--models", tmp_path)
    assert "is damaged or was changed: get the models again" in message


# --- as a process ---------------------------------------------------------------------------------------------------


def process(repository: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "profet_cli", *map(str, arguments)],
        cwd=repository,
        env={**{key: value for key, value in os.environ.items() if key != "PROFET_HOME"}, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_module_runs_as_a_process(repository, sample):
    done = process(repository, "predict", sample.path, "--anchor", sample.anchor, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["predictions"]) == len(load_catalog())


def test_a_process_exits_with_2_and_one_line(repository):
    done = process(repository, "predict", "nowhere.json", "--anchor", "p2.xlarge")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "profet: nowhere.json can't be read: No such file or directory.\n"


def test_profet_home_is_where_a_process_looks_for_models(repository, sample):
    done = process(repository, "predict", sample.path, "--anchor", sample.anchor, PROFET_HOME="/nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("profet: There are no models in /nowhere: ") and done.stderr.count("\n") == 1


def test_help_is_for_people_and_exits_with_0(repository):
    done = process(repository, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(
        name in done.stdout for name in ("predict", "scale", "cost", "instances", "inspect", "train", "validate")
    )


def test_a_text_the_terminal_can_not_show_is_escaped(repository, tmp_path):
    path = written(tmp_path, {"operations": {"Device_Conv2D": 1.0}, "meta": {"gpu": "T4\u2122"}})
    done = process(repository, "inspect", path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpu: T4\\u2122" in done.stdout


def test_a_reader_that_goes_away_is_no_error(repository, sample):
    with subprocess.Popen(
        [sys.executable, "-m", "profet_cli", "inspect", str(sample.path)],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(timeout=60) == 0
