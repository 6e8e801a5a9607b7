"""`profet predict` and `cost`: every instance's latency, time and money; wrong ones are refused in one line."""

from __future__ import annotations

import gzip
import json
from itertools import groupby

import pytest

from profet_core import load_catalog, predict
from profet_core.catalog.instance import old_price_note
from profet_core.errors import Code, Note
from tests.cli.cases import unexpected, written

NO_LATENCY = "--latency-ms must be a number above 0"


@pytest.fixture
def command(sample) -> tuple:
    return ("predict", sample.path, "--anchor", sample.anchor)


def test_the_json_says_what_the_library_says(document, sample, command, models, catalog, tmp_path):
    answer = document(*command, "--latency-ms", sample.latency_ms)
    rows = answer["predictions"]
    assert set(answer["memory"]) == {row["instance"] for row in rows}
    assert len(rows) == len(load_catalog())
    assert (answer["anchor"], answer["anchor_latency_ms"]) == (sample.anchor, sample.latency_ms)
    assert unexpected(answer["warnings"]) == []
    assert answer["unknown_operations"] == {"names": [], "share": 0.0, "mapped": {}, "unused": []}
    bases = [basis for basis, _ in groupby(row["basis"] for row in rows)]
    assert bases == ["given", "measured", "transferred"]
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for row, wanted in zip(rows, expected.predictions, strict=True):
        assert (row["instance"], row["latency_ms"]) == (wanted.instance, wanted.latency_ms)
        assert row["members"] == dict(wanted.members)
        assert row["cost_per_1000_steps_usd"] == pytest.approx(row["latency_ms"] / 3600 * row["usd_per_hour"])
        ends = (wanted.interval.low_ms, wanted.interval.high_ms) if wanted.interval else (None, None)
        assert (row["low_ms"], row["high_ms"]) == ends
    # Compressed, whatever its name.
    path = written(tmp_path, gzip.compress(sample.data), "trace.csv")
    assert document("predict", path, *command[2:], "--latency-ms", sample.latency_ms) == answer


def test_the_meta_s_latency_is_used_and_the_documented_method_has_no_bounds(document, run, sample, command):
    from_meta = document(*command)
    assert from_meta == document(*command, "--latency-ms", sample.latency_ms)
    without = document(*command, "--without-latency")
    assert without["anchor_latency_ms"] is None
    anchor = without["predictions"][0]
    assert (anchor["latency_ms"], anchor["cost_per_1000_steps_usd"]) == (None, None)
    assert {"counts" in row["members"] for row in without["predictions"] if row["members"]} == {True}
    assert "not given" in run(*command, "--without-latency")[1].splitlines()[1]
    targets = list(sample.measured_ms)[:2]
    asked = (*command, "--targets", ",".join(targets))
    answer = document(*asked, "--method", "profet")
    assert (answer["method"], answer["similarity"], answer["interval_level"]) == ("profet", None, None)
    assert [row["instance"] for row in answer["predictions"]] == [sample.anchor, *targets]
    assert {(row["low_ms"], row["high_ms"]) for row in answer["predictions"]} == {(None, None)}
    out = run(*asked, "--method", "profet")[1]
    assert "low" not in out and "This network" not in out
    out = run(*asked)[1]
    assert "low (90%)" in out and "high (90%)" in out and out.splitlines()[-1].startswith("This network is ")


def test_warnings_are_in_the_json_and_on_stderr_in_text(run, document, tmp_path):
    path = written(
        tmp_path, {"operations": {"Device_Conv2DBackpropInput": 9e4}, "meta": {"precision": "amp", "steps": 1}}
    )
    (first, *_) = document("predict", path, "--anchor", "g4dn.xlarge")["warnings"]
    assert "AMP" in first
    status, out, err = run("predict", path, "--anchor", "g4dn.xlarge")
    assert status == 0
    assert f"warning: {first}\n" in err
    assert "warning" not in out


def test_predicts_text_is_a_table_with_a_line_an_instance(run, document, command, catalog):
    status, out, err = run(*command, "--every-offer")
    header, *rest = out.splitlines()
    lines, notes, legend = rest[: len(catalog)], rest[len(catalog) : -2], rest[-2]
    assert legend.startswith("Basis: Measured; ") and "; Estimated from specs" in legend
    assert status == 0
    assert unexpected([line.removeprefix("warning: ") for line in err.splitlines()]) == []
    assert header.split()[0] == "instance" and "$ per 1,000 steps" in header
    assert {line.split()[0] for line in lines} == set(catalog)
    # What nobody profiled says what it rests on.
    stated = {name for note in notes for name in note.partition(": ")[0].split(", ")[:-1]}
    assert stated >= {line.split()[0] for line in lines if "Scaled" in line or "Estimated" in line}
    assert len(notes) == len(set(notes)) < len(lines) * 0.6, "what several offers share is said once"
    assert " ms " in lines[0] and "$" in lines[0] and "Measured" in lines[0]
    # An old price says how old it is.
    prices = {row["instance"]: row["price_note"] for row in document(*command)["predictions"]}
    assert prices["p2.xlarge"].startswith("price from Dec 2021, over ")
    assert prices == {name: old_price_note(entry) for name, entry in catalog.items()}
    dates = {line.split()[0]: line for line in lines}
    assert "2021, old" in dates["p2.xlarge"] and ", old" not in dates["g4dn.xlarge"]


def test_the_text_shows_the_cheapest_offer_of_each_gpu_or_all_that_are_filtered(
    run, sample, command, catalog, document
):
    out = run(*command)[1].splitlines()
    hidden = next(place for place, line in enumerate(out) if "not shown" in line)
    shown = [catalog[line.split()[0]] for line in out[1:hidden]]
    assert out[hidden].startswith(
        f"{len(catalog) - len(shown)} more offers of the same GPUs are not shown: use --every-"
    )
    for gpu in {entry.gpu for entry in catalog.values()}:
        several = [entry for entry in catalog.values() if entry.gpu == gpu]
        cheapest = min(
            several, key=lambda entry: (entry.status == "retired", entry.market != "on-demand", entry.usd_per_hour)
        )
        assert {entry.name for entry in shown if entry.gpu == gpu} - {sample.anchor} <= {cheapest.name}
    assert {entry.gpu for entry in shown} == {entry.gpu for entry in catalog.values()}
    good = {row["basis"] for row in document(*command, "--confidence", "good")["predictions"]}
    assert good == {"given", "measured"}
    command = (*command, "--provider", "gcp,verda", "--gpu", "V100")
    rows = document(*command)["predictions"]
    assert [row["instance"] for row in rows if row["instance"] != sample.anchor] == [
        name for name, entry in catalog.items() if entry.provider in ("gcp", "verda") and entry.gpu_model == "V100"
    ]
    assert {row["basis"] for row in rows[1:]} == {"measured"}
    assert "not shown" not in run(*command)[1]
    spot = document(*command, "--market", "spot", "--gpu-count", 2, "--min-memory-gib", 16)["predictions"][1:]
    assert [(row["instance"], row["usd_per_hour"], row["usd_per_gpu_hour"]) for row in spot] == [
        ("gcp/n1-standard-8+2xV100", 2.28146, 1.14073)
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--anchor", "g9.xlarge"], "Unknown anchor 'g9.xlarge'"),
        (["--anchor", "a\nb"], "--anchor must be"),
        (["--targets", "p9"], "Unknown target 'p9'"),
        (["--targets", ","], "at least one target"),
        (["--method", "best"], "Unknown method 'best'"),
        (["--latency-ms=nan"], NO_LATENCY),
        (["--latency-ms", "-1"], NO_LATENCY),
        (["--latency-ms", "1e308", "--trust-latency"], NO_LATENCY),
        (["--latency-ms", "fast"], NO_LATENCY),
        (["--latency-ms", "9e9"], "--trust-latency"),
        (["--models", "/nowhere"], "no models in nowhere"),
        (["--format", "xml"], "--format: invalid choice"),
        (["--bogus\nx"], "unrecognized arguments: --bogus x"),
        (["--provider", "azure", "--gpu", "H200"], "cloud azure, GPU H200: relax"),
        (["--targets", "g5.xlarge,gcp/a2-highgpu-1g", "--provider", "aws"], "selected offers: gcp/a2-highgpu-1g."),
        (["--gpu", "B200", "--confidence", "good"], "No prediction has confidence good"),
    ],
)
def test_predict_refuses_in_one_line(refused, sample, arguments, says):
    assert says in refused("predict", sample.path, "--anchor", "p2.xlarge", *arguments)


def recorded(sample, tmp_path, gpu: str | None):
    """The sample's file, as recorded on another GPU; None: it doesn't say on which."""
    content = json.loads(sample.data)
    content["meta"] = {name: value for name, value in content["meta"].items() if name != "gpu"}
    return written(tmp_path, content if gpu is None else {**content, "meta": {**content["meta"], "gpu": gpu}})


def test_without_an_anchor_it_is_the_gpu_that_the_profile_names(document, refused, sample, command, tmp_path):
    assert document("predict", sample.path) == document(*command)
    path = recorded(sample, tmp_path, "NVIDIA A100-SXM4-80GB")
    answer = document("predict", path)
    assert answer["anchor"] == "A100-SXM4-80GB" and answer == document("predict", path, "--anchor", "A100-SXM4-80GB")
    rows = {row["instance"]: row for row in answer["predictions"]}
    assert {rows[name]["basis"] for name in ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")} == {"mapped"}
    assert set(answer["memory"]) == set(rows) and "A100-SXM4-80GB" not in rows
    assert "give it with --anchor" in refused("predict", recorded(sample, tmp_path, None))


@pytest.fixture
def costing(sample) -> tuple:
    return ("cost", sample.path, "--anchor", sample.anchor)


def by_instance(answer: dict) -> dict[str, dict]:
    return {row["instance"]: row for row in answer["rows"]}


def test_costs_json_has_time_and_money_of_every_instance(document, sample, costing):
    answer = document(*costing, "--images", 10 * sample.batch_size, "--epochs", 7)
    assert (answer["batch_size"], answer["epochs"], answer["images"]) == (sample.batch_size, 7, 10 * sample.batch_size)
    assert unexpected(answer["warnings"]) == []
    predicted = document("predict", *costing[1:])["predictions"]
    latencies_ms = {row["instance"]: row["latency_ms"] for row in predicted}
    assert {row["instance"] for row in answer["rows"]} == set(latencies_ms)
    for row in answer["rows"]:
        assert row["epoch_s"] == pytest.approx(10 * latencies_ms[row["instance"]] / 1000)
        assert row["epoch_usd"] == pytest.approx(row["epoch_s"] / 3600 * row["usd_per_hour"])
        assert row["total_s"] == pytest.approx(7 * row["epoch_s"])
        assert row["total_usd"] == pytest.approx(7 * row["epoch_usd"])
    row = by_instance(answer)["g4dn.xlarge"]
    # 70 W of board power and 14 W of processors; in Virginia 1.15 times that, at 396.25 g a kilowatt hour.
    assert row["energy_kwh_at_most"] == pytest.approx(0.084 * row["total_s"] / 3600)
    assert row["co2e_kg_at_most"] == pytest.approx(row["energy_kwh_at_most"] * 1.15 * 0.39625)


def test_a_second_profile_is_met_exactly_along_both_axes(document, samples):
    """ResNet-18, batch 64: 32 and 256 pixels were recorded on g4dn.xlarge."""
    small, large = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]
    costing = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--second", large.path)
    for size, there in ((256, large), (16, small)):
        rows = by_instance(document(*costing, "--at-batch", size))
        assert rows[small.anchor]["latency_ms"] == there.latency_ms
    small, large = samples["resnet18-32px-b64-g4dn"], samples["resnet18-256px-b64-g4dn"]
    costing = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--at-pixels", 256)
    answer = document(*costing)
    assert answer["batch_size"] == 64
    assert Note(Code.MORE_CLASSES) in answer["warnings"]
    assert small.latency_ms < by_instance(answer)[small.anchor]["latency_ms"] < 64 * small.latency_ms
    exact = by_instance(document(*costing, "--second", large.path))
    assert exact[small.anchor]["latency_ms"] == large.latency_ms


@pytest.fixture
def two(samples, tmp_path):
    """`two(peak_memory_mib=(1, 2))`: the costing with two profiles of a network, each with its own of that."""
    pair = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]

    def costing(**meta: tuple) -> tuple:
        paths = []
        for place, one in enumerate(pair):
            content = json.loads(one.data)
            content["meta"] |= {name: values[place] for name, values in meta.items()}
            paths.append(written(tmp_path, content, f"{place}.json"))
        return "cost", paths[0], "--anchor", pair[0].anchor, "--images", 1000, "--second", paths[1]

    return costing


def test_peaks_of_two_profiles_tell_what_fits_unless_they_are_of_others(document, two, refused):
    costing = (*two(peak_memory_mib=(1024, 5824)), "--at-batch", 512)
    alone = document(*costing[:6], *costing[8:])["memory"]["g3s.xlarge"]
    both = document(*costing)["memory"]["g3s.xlarge"]
    assert "from the recorded peak" in alone["why"] and "from the recorded peaks" in both["why"]
    # 20 MiB an image: of the first peak 320 grow and 704 stay, which at batch 512 is 10.7 GiB; as one peak it is more.
    assert both["why"].startswith("needs about 12 of 8 GiB") and both["verdict"] == "does not fit"
    assert both["largest_batch"] is not None and alone["largest_batch"] < both["largest_batch"]
    for differs, says in (
        ({"parameters": (25_000_000, 11_000_000)}, "25000000 and 11000000"),
        ({"gpu": ("Tesla T4", "Tesla K80")}, "Tesla K80"),
    ):
        line = refused(*two(**differs), "--at-batch", 64)
        assert line.startswith("--second: ") and says in line


def test_the_text_marks_retired_instances_and_what_each_rests_on(document, run, sample, costing):
    costing = (*costing, "--images", 50_000, "--epochs", 2)
    rows = by_instance(document(*costing))
    assert rows["p4d.24xlarge"]["basis"] == "transferred" and "whole machine with 8" in rows["p4d.24xlarge"]["note"]
    assert rows["g5.xlarge"]["basis"] == "transferred"
    status, out, _ = run(*costing, "--every-offer")
    lines = {line.split()[0]: line for line in out.splitlines() if not line.split()[0].endswith(",")}
    assert status == 0
    assert lines["p3.2xlarge"].endswith("retired") and lines["g4dn.xlarge"].endswith("available")
    assert "1.00x" in lines[sample.anchor] and "Estimated" in lines["p5.4xlarge"]
    assert any(line.startswith("p4d.24xlarge, ") and ", Estimated: " in line for line in out.splitlines())
    assert "more offers of the same GPUs are not shown" in run(*costing)[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--images", "many"], "--images must be"),
        (["--images", "1" + "0" * 400], "--images must be"),
        (["--images", "9", "--profiled-batch", "17"], "not 17"),
        (["--images", "9", "--price", "p2.xlarge"], "--price must be"),
        (["--images", "9", "--price", "p2.xlarge=cheap"], "--price must be"),
        (["--images", "9", "--price", "p2.xlarge=nan"], "--price must be"),
        (["--images", "9", "--price", "p9=1"], "Unknown instance 'p9'"),
        (["--images", "9", "--at-batch", "1025"], "not 1025"),
        (["--images", "9", "--profiled-pixels", "31"], "not 31: remove --profiled-pixels"),
        ([], "required: --images"),
    ],
)
def test_cost_refuses_in_one_line(refused, costing, arguments, says):
    assert says in refused(*costing, *arguments)


def test_what_a_profile_does_not_say_of_its_size_is_asked_for(refused, document, sample, tmp_path):
    content = json.loads(sample.data)
    for name in ("batch_size", "pixels"):
        del content["meta"][name]
    path = written(tmp_path, content)
    costing = ("cost", path, "--anchor", sample.anchor, "--images", 9)
    assert "batch size it was recorded at" in refused(*costing)
    costing = (*costing, "--profiled-batch", sample.batch_size)
    assert "--profiled-pixels" in refused(*costing, "--at-pixels", 64)
    assert document(*costing, "--at-pixels", 64, "--profiled-pixels", 128)["rows"]
    content["operations"] = {name: 2 * us for name, us in content["operations"].items()}
    content["meta"]["step_latency_ms"] *= 2
    second = ("--at-batch", 100, "--second", written(tmp_path, content, "second.json"))
    assert "--second-batch" in refused(*costing, *second)
    assert document(*costing, *second, "--second-batch", 2 * sample.batch_size)["rows"]
