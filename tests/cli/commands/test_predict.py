"""`profet predict`: its JSON as the contract has it, its numbers, its text, and what it refuses."""

from __future__ import annotations

import gzip
import json
from itertools import groupby

import pytest

from profet_core import load_catalog, predict
from profet_lab.measurements.tables import DataError, data_folder
from tests.cli.cases import unexpected, written

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
    "provider",
    "gpu",
    "gpu_count",
    "usd_per_gpu_hour",
    "price_note",
]


NO_LATENCY = "The anchor's latency must be a number above 0"


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
    assert [basis for basis, _ in groupby(row["basis"] for row in rows)] == [
        *("given", "measured", "derived", "transferred")
    ]
    assert len(rows) == len(load_catalog())
    assert (rows[0]["instance"], rows[0]["latency_ms"]) == (sample.anchor, sample.latency_ms)


def test_the_latency_in_the_profiles_meta_is_used_unless_told_otherwise(document, sample):
    command = ("predict", sample.path, "--anchor", sample.anchor)
    from_meta = document(*command)
    assert from_meta == document(*command, "--latency-ms", sample.latency_ms)
    without = document(*command, "--without-latency")
    assert without["anchor_latency_ms"] is None
    anchor = without["predictions"][0]
    assert (anchor["latency_ms"], anchor["cost_per_1000_steps_usd"]) == (None, None)
    assert {len(row["members"]) for row in without["predictions"] if row["members"]} == {3}


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
    status, out, err = run("predict", sample.path, "--anchor", sample.anchor, "--every-offer")
    header, *rest = out.splitlines()
    lines, notes, legend = rest[: len(catalog)], rest[len(catalog) : -2], rest[-2]
    notes = [note for note in notes if ": price of " not in note]
    assert legend.startswith("Basis: given: ") and "; transferred: " in legend
    assert status == 0
    assert unexpected([line.removeprefix("warning: ") for line in err.splitlines()]) == []
    assert header.split()[0] == "instance" and "$ per 1,000 steps" in header
    assert {line.split()[0] for line in lines} == set(catalog)
    # What nobody profiled says what it rests on.
    told = {name for note in notes for name in note.partition(": ")[0].split(", ")[:-1]}
    assert told >= {line.split()[0] for line in lines if "derived" in line or "transferred" in line}
    assert len(notes) == len(set(notes)) < len(lines) / 2, "what several offers share is said once"
    assert " ms " in lines[0] and "$" in lines[0] and "given" in lines[0]


def test_the_text_shows_the_cheapest_offer_of_each_gpu_and_how_many_it_hides(run, sample, catalog):
    out = run("predict", sample.path, "--anchor", sample.anchor)[1].splitlines()
    hidden = next(place for place, line in enumerate(out) if "not shown" in line)
    shown = [catalog[line.split()[0]] for line in out[1:hidden]]
    assert out[hidden].startswith(f"{len(catalog) - len(shown)} more offers of the same GPUs are not shown: --every-")
    for gpu in {entry.gpu for entry in catalog.values()}:
        several = [entry for entry in catalog.values() if entry.gpu == gpu]
        cheapest = min(several, key=lambda entry: (entry.status == "retired", entry.usd_per_hour))
        assert {entry.name for entry in shown if entry.gpu == gpu} - {sample.anchor} <= {cheapest.name}
    assert {entry.gpu for entry in shown} == {entry.gpu for entry in catalog.values()}


def test_offers_are_narrowed_and_each_of_them_is_shown(run, document, sample, catalog):
    command = ("predict", sample.path, "--anchor", sample.anchor, "--cloud", "gcp,verda", "--gpu", "V100")
    rows = document(*command)["predictions"]
    assert [row["instance"] for row in rows if row["instance"] != sample.anchor] == [
        name for name, entry in catalog.items() if entry.provider in ("gcp", "verda") and entry.gpu_model == "V100"
    ]
    assert {row["basis"] for row in rows[1:]} == {"measured"}
    assert "not shown" not in run(*command)[1]
    spot = document(*command, "--market", "spot", "--gpu-count", 2)["predictions"][1:]
    assert [(row["instance"], row["usd_per_hour"], row["usd_per_gpu_hour"]) for row in spot] == [
        ("gcp/n1-standard-8+2xV100", 2.28146, 1.14073)
    ]


def test_only_numbers_that_are_sure_enough(document, sample):
    command = ("predict", sample.path, "--anchor", sample.anchor)
    every, good = document(*command), document(*command, "--sureness", "good")
    names = {row["instance"] for row in good["predictions"]}
    assert {row["basis"] for row in good["predictions"]} == {"given", "measured"}
    assert names < {row["instance"] for row in every["predictions"]}


def test_an_old_price_says_how_old_it_is(run, document, sample):
    command = ("predict", sample.path, "--anchor", sample.anchor)
    notes = {row["instance"]: row["price_note"] for row in document(*command)["predictions"]}
    assert notes["p2.xlarge"].startswith("price of 2021, over ") and notes["gcp/a2-highgpu-1g"] == ""
    assert any(line.endswith(notes["p2.xlarge"]) for line in run(*command)[1].splitlines())


def test_without_a_latency_the_text_says_so(run, sample):
    _, out, _ = run("predict", sample.path, "--anchor", sample.anchor, "--without-latency")
    assert "not given" in out.splitlines()[1]


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
        (["--anchor", "p2.xlarge", "--models", "/nowhere"], "There are no models in nowhere"),
        (["--anchor", "p2.xlarge", "--format", "xml"], "argument --format: invalid choice: 'xml'"),
        (["--anchor", "p2.xlarge", "--bogus\nx"], "unrecognized arguments: --bogus x"),
        (["--anchor"], "argument --anchor: expected one argument"),
    ],
)
def test_predict_refuses_in_one_line(refused, sample, arguments, says):
    assert says in refused("predict", sample.path, *arguments)


def test_a_latency_in_the_meta_that_makes_no_sense_is_questioned(refused, sample, tmp_path):
    content = json.loads(sample.data)
    content["meta"]["step_latency_ms"] = sample.latency_ms * 1000
    message = refused("predict", written(tmp_path, content), "--anchor", sample.anchor)
    assert "makes no sense beside this profile" in message and " us (" in message


def test_a_damaged_models_folder_is_refused_in_one_line(refused, sample, repository, tmp_path):
    text = (repository / "models" / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace('"near": 6.0', '"near": 7.0'))
    message = refused("predict", sample.path, "--anchor", sample.anchor, "--models", tmp_path)
    assert "is damaged or was changed: get the models again" in message


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--cloud", "azure", "--gpu", "H200"], "No offer has all of cloud azure, GPU H200: widen cloud azure ("),
        (["--cloud", "nimbus"], "No offer has cloud nimbus: choose one of aws; azure; gcp; lambda;"),
        (["--min-memory-gib", "500"], "No offer has 500 GiB a GPU: the largest have 180 GiB."),
        (["--gpu-count", "3"], "No offer has 3 GPUs: there are 1, 2, 4, 8."),
        (
            ["--targets", "g5.xlarge,gcp/a2-highgpu-1g", "--gpu", "H100"],
            "Not among the offers asked for: g5.xlarge, gcp/a2-highgpu-1g. Leave --targets or the narrowing out.",
        ),
        (["--targets", "g5.xlarge,gcp/a2-highgpu-1g", "--cloud", "aws"], "asked for: gcp/a2-highgpu-1g. Leave"),
        (["--gpu", "B200", "--sureness", "good"], "No number is good: the surest is rough."),
    ],
)
def test_no_offer_is_one_line_that_says_what_to_widen(refused, sample, arguments, says):
    assert says in refused("predict", sample.path, "--anchor", sample.anchor, *arguments)


def recorded(sample, tmp_path, gpu: str | None):
    """The sample's file, as recorded on another GPU; None: it doesn't say on which."""
    content = json.loads(sample.data)
    content["meta"] = {name: value for name, value in content["meta"].items() if name != "gpu"}
    return written(tmp_path, content if gpu is None else {**content, "meta": {**content["meta"], "gpu": gpu}})


def test_without_an_anchor_it_is_the_gpu_that_the_profile_names(document, run, refused, sample, tmp_path):
    named = document("predict", sample.path, "--anchor", sample.anchor)
    assert document("predict", sample.path) == named
    path = recorded(sample, tmp_path, "NVIDIA A100-SXM4-80GB")
    answer = document("predict", path)
    assert answer["anchor"] == "A100-SXM4-80GB" and answer == document("predict", path, "--anchor", "A100-SXM4-80GB")
    rows = {row["instance"]: row for row in answer["predictions"]}
    assert {rows[name]["basis"] for name in ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")} == {
        "carried-back"
    }
    assert set(answer["memory"]) == set(rows) and "A100-SXM4-80GB" not in rows
    assert "say it with --anchor" in refused("predict", recorded(sample, tmp_path, None))


@pytest.mark.parametrize(
    ("gpu", "says"),
    [
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "a laptop's GPU"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "a part of a GPU"),
        ("AMD Instinct MI300X", "of which no data sheet is known here"),
    ],
)
def test_a_gpu_that_nothing_can_start_from_is_one_line(refused, sample, tmp_path, gpu, says):
    path = recorded(sample, tmp_path, gpu)
    for command in (("predict",), ("cost", "--images", 1000), ("advise", "--images", 1000)):
        message = refused(command[0], path, *command[1:])
        assert says in message and gpu in message


def test_an_anchor_may_be_an_offer_or_a_gpu_that_nobody_rents_out(document, run, sample, tmp_path):
    path = recorded(sample, tmp_path, None)
    offer = document("predict", path, "--anchor", "g5.xlarge", "--latency-ms", 100)
    (given,) = [row for row in offer["predictions"] if row["basis"] == "given"]
    assert (offer["anchor"], given["instance"], given["latency_ms"]) == ("g5.xlarge", "g5.xlarge", 100)
    gpu = document("predict", path, "--anchor", "rtx 2080 ti", "--latency-ms", 100)
    assert (gpu["anchor"], gpu["anchor_latency_ms"]) == ("GeForce RTX 2080 Ti", 100)
    assert not [row for row in gpu["predictions"] if row["basis"] in ("given", "measured")]
    status, out, err = run("predict", path, "--anchor", "rtx 2080 ti", "--targets", "g4dn.xlarge")
    assert status == 0 and "carried-back: predicted from a profile of a GPU that nobody profiled" in out
    assert "Nobody profiled GeForce RTX 2080 Ti for the models" in err
    for command, more in (("cost", ("--at-batch", 64)), ("advise", ())):
        answer = document(command, path, "--anchor", "rtx 2080 ti", "--images", 1000, *more)
        assert answer["anchor"] == "GeForce RTX 2080 Ti"


@pytest.mark.data
def test_a_real_trace_of_a_gpu_that_nobody_rents_out(document):
    try:
        path = data_folder() / "real_profiles" / "pytorch" / "resnet18-30steps-rtx2080ti.json.gz"
    except DataError:
        pytest.skip("no measurements")
    if not path.exists():
        pytest.skip(f"no {path.name} among the measurements")
    answer = document("predict", path)
    assert (answer["anchor"], answer["steps"]) == ("GeForce RTX 2080 Ti", 30)
    assert {row["basis"] for row in answer["predictions"]} == {"carried-back", "derived", "transferred"}
    assert all(row["low_ms"] < row["latency_ms"] < row["high_ms"] for row in answer["predictions"])
