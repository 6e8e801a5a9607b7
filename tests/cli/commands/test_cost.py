"""`profet cost`: time and money of every instance, at the profiled batch size and at another one."""

from __future__ import annotations

import json

import pytest

from profet_core.messages import Code, Note
from tests.cli.cases import unexpected, written


@pytest.fixture
def command(sample) -> tuple:
    return ("cost", sample.path, "--anchor", sample.anchor)


def by_instance(answer: dict) -> dict[str, dict]:
    return {row["instance"]: row for row in answer["rows"]}


def test_costs_json_has_time_and_money_of_every_instance(document, sample, command):
    answer = document(*command, "--images", 10 * sample.batch_size, "--epochs", 7)
    assert (answer["batch_size"], answer["epochs"], answer["images"]) == (sample.batch_size, 7, 10 * sample.batch_size)
    assert unexpected(answer["warnings"]) == []
    predicted = document("predict", *command[1:])["predictions"]
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


def test_own_prices_and_validation_images_count(document, sample, command):
    command = (*command, "--images", 3 * sample.batch_size)
    plain = by_instance(document(*command))
    own = by_instance(document(*command, "--price", "g4dn.xlarge=0.263", "--price", "p2.xlarge=9"))
    assert own["g4dn.xlarge"]["epoch_usd"] == pytest.approx(plain["g4dn.xlarge"]["epoch_usd"] / 2)
    assert own["p2.xlarge"]["epoch_usd"] == pytest.approx(plain["p2.xlarge"]["epoch_usd"] * 10)
    assert own["g3s.xlarge"] == plain["g3s.xlarge"]
    validated = by_instance(document(*command, "--validation-images", 3 * sample.batch_size))
    assert validated["p2.xlarge"]["epoch_s"] == pytest.approx(plain["p2.xlarge"]["epoch_s"] * 4 / 3)


def test_a_second_profile_is_met_exactly_along_both_axes(document, samples):
    """ResNet-18, batch 64: 32 and 256 pixels were recorded on g4dn.xlarge."""
    small, large = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--second", large.path)
    for size, there in ((256, large), (16, small)):
        rows = by_instance(document(*command, "--at-batch", size))
        assert rows[small.anchor]["latency_ms"] == there.latency_ms
    small, large = samples["resnet18-32px-b64-g4dn"], samples["resnet18-256px-b64-g4dn"]
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--at-pixels", 256)
    answer = document(*command)
    assert answer["batch_size"] == 64
    assert Note(Code.MORE_CLASSES) in answer["warnings"]
    assert small.latency_ms < by_instance(answer)[small.anchor]["latency_ms"] < 64 * small.latency_ms
    exact = by_instance(document(*command, "--second", large.path))
    assert exact[small.anchor]["latency_ms"] == large.latency_ms


@pytest.fixture
def two(samples, tmp_path):
    """`two(peak_memory_mib=(1, 2))`: the command with two profiles of a network, each with its own of that."""
    pair = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]

    def command(**meta: tuple) -> tuple:
        paths = []
        for place, one in enumerate(pair):
            content = json.loads(one.data)
            content["meta"] |= {name: values[place] for name, values in meta.items()}
            paths.append(written(tmp_path, content, f"{place}.json"))
        return "cost", paths[0], "--anchor", pair[0].anchor, "--images", 1000, "--second", paths[1]

    return command


def test_peaks_of_two_profiles_tell_what_fits(document, two):
    command = (*two(peak_memory_mib=(1024, 5824)), "--at-batch", 512)
    alone = document(*command[:6], *command[8:])["memory"]["g3s.xlarge"]
    both = document(*command)["memory"]["g3s.xlarge"]
    assert "from the recorded peak" in alone["why"] and "from the recorded peaks" in both["why"]
    # 20 MiB an image: of the first peak 320 grow and 704 stay, which at batch 512 is 10.7 GiB; as one peak it is more.
    assert both["why"].startswith("needs about 12 of 8 GiB") and both["verdict"] == "does not fit"
    assert both["largest_batch"] is not None and alone["largest_batch"] < both["largest_batch"]


def test_a_second_profile_of_another_network_or_gpu_is_refused(refused, two):
    for differs, says in (
        ({"parameters": (25_000_000, 11_000_000)}, "25000000 and 11000000"),
        ({"gpu": ("Tesla T4", "Tesla K80")}, "Tesla K80"),
    ):
        line = refused(*two(**differs), "--at-batch", 64)
        assert line.startswith("--second: ") and says in line


def test_the_text_marks_retired_instances_and_what_each_rests_on(document, run, sample, command):
    command = (*command, "--images", 50_000, "--epochs", 2)
    rows = by_instance(document(*command))
    assert rows["p4d.24xlarge"]["basis"] == "transferred" and "whole machine with 8" in rows["p4d.24xlarge"]["note"]
    assert rows["g5.xlarge"]["basis"] == "derived"
    status, out, _ = run(*command, "--every-offer")
    lines = {line.split()[0]: line for line in out.splitlines() if not line.split()[0].endswith(",")}
    assert status == 0
    assert lines["p3.2xlarge"].endswith("retired") and lines["g4dn.xlarge"].endswith("available")
    assert "1.00x" in lines[sample.anchor] and "transferred" in lines["p5.4xlarge"]
    assert any(line.startswith("p4d.24xlarge, ") and ", transferred: " in line for line in out.splitlines())
    assert "more offers of the same GPUs are not shown" in run(*command)[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--images", "many"], "--images: invalid int value"),
        (["--images", "1" + "0" * 400], "at most 1e+15"),
        (["--images", "9", "--profiled-batch", "17"], "not 17"),
        (["--images", "9", "--price", "p2.xlarge"], "'p2.xlarge' is not INSTANCE=NUMBER"),
        (["--images", "9", "--price", "p2.xlarge=cheap"], "INSTANCE=NUMBER"),
        (["--images", "9", "--price", "p2.xlarge=nan"], "p2.xlarge must be a number above 0, not nan"),
        (["--images", "9", "--price", "p9=1"], "Unknown instance 'p9'"),
        (["--images", "9", "--at-batch", "1025"], "not 1025"),
        (["--images", "9", "--profiled-pixels", "31"], "not 31: remove --profiled-pixels"),
        ([], "required: --images"),
    ],
)
def test_cost_refuses_in_one_line(refused, command, arguments, says):
    assert says in refused(*command, *arguments)


def test_what_a_profile_does_not_say_of_its_size_is_asked_for(refused, document, sample, tmp_path):
    content = json.loads(sample.data)
    for name in ("batch_size", "pixels"):
        del content["meta"][name]
    path = written(tmp_path, content)
    command = ("cost", path, "--anchor", sample.anchor, "--images", 9)
    assert "batch size it was recorded at" in refused(*command)
    command = (*command, "--profiled-batch", sample.batch_size)
    assert "--profiled-pixels" in refused(*command, "--at-pixels", 64)
    assert document(*command, "--at-pixels", 64, "--profiled-pixels", 128)["rows"]
    content["operations"] = {name: 2 * us for name, us in content["operations"].items()}
    content["meta"]["step_latency_ms"] *= 2
    second = ("--at-batch", 100, "--second", written(tmp_path, content, "second.json"))
    assert "--second-batch" in refused(*command, *second)
    assert document(*command, *second, "--second-batch", 2 * sample.batch_size)["rows"]
