"""`profet cost`: time and money of every instance, at the profiled batch size and at another one."""

from __future__ import annotations

import json

import pytest

from profet_core.cost import CostRow
from tests.cli.cases import sample_at, unexpected, written


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
    energy = ("energy_kwh_at_most", "co2e_kg_at_most")
    rented = ("provider", "gpu", "gpu_count", "usd_per_gpu_hour", "price_note")
    _, latency, *numbers = CostRow.__slots__
    known = ("instance", latency, "usd_per_hour", "status", *numbers, *energy, "basis", "note", *rented)
    assert {tuple(row) for row in answer["rows"]} == {known}, "all that is known"
    for row in answer["rows"]:
        assert row["epoch_s"] == pytest.approx(10 * latencies_ms[row["instance"]] / 1000)
        assert row["epoch_usd"] == pytest.approx(row["epoch_s"] / 3600 * row["usd_per_hour"])
        assert row["total_s"] == pytest.approx(7 * row["epoch_s"])
        assert row["total_usd"] == pytest.approx(7 * row["epoch_usd"])


def test_energy_and_emissions_are_of_the_whole_training(document, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--images", 1000, "--epochs", 7)
    row = next(row for row in document(*command)["rows"] if row["instance"] == "g4dn.xlarge")
    # 70 W of board power and 14 W of processors; in Virginia 1.15 times that, at 396.25 g a kilowatt hour.
    assert row["energy_kwh_at_most"] == pytest.approx(0.084 * row["total_s"] / 3600)
    assert row["co2e_kg_at_most"] == pytest.approx(row["energy_kwh_at_most"] * 1.15 * 0.39625)


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


def test_another_batch_size_is_carried_there_from_one_profile(document, samples):
    small = sample_at(samples, "batch_size", 16)
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000)
    rows = {at: document(*command, "--at-batch", at) for at in (8, 16, 64, 256)}
    assert [answer["batch_size"] for answer in rows.values()] == [8, 16, 64, 256]
    assert rows[16]["rows"] == document(*command)["rows"]
    for each in zip(
        *(sorted(answer["rows"], key=lambda row: row["instance"]) for answer in rows.values()), strict=True
    ):
        latencies_ms = [row["latency_ms"] for row in each]
        assert latencies_ms == sorted(latencies_ms)
    assert {row["instance"]: row["basis"] for row in rows[64]["rows"]}[small.anchor] == "carried"


def test_a_second_profile_is_met_exactly(document, samples):
    small, large = sample_at(samples, "batch_size", 16), sample_at(samples, "batch_size", 256)
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--second", large.path)
    at_large = {row["instance"]: row["latency_ms"] for row in document(*command, "--at-batch", 256)["rows"]}
    assert at_large[small.anchor] == large.latency_ms
    at_small = {row["instance"]: row["latency_ms"] for row in document(*command, "--at-batch", 16)["rows"]}
    assert at_small[small.anchor] == small.latency_ms


def test_other_pixels_too(document, samples):
    """ResNet-18, batch 64: 32 and 256 pixels were recorded on g4dn.xlarge."""
    small, large = samples["resnet18-32px-b64-g4dn"], samples["resnet18-256px-b64-g4dn"]
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--at-pixels", 256)
    answer = document(*command)
    assert answer["batch_size"] == 64
    assert any(text.startswith("The measured networks have more classes at more pixels") for text in answer["warnings"])
    alone = {row["instance"]: row["latency_ms"] for row in answer["rows"]}[small.anchor]
    assert small.latency_ms < alone < 64 * small.latency_ms
    exact = document(*command, "--second", large.path)
    assert {row["instance"]: row["latency_ms"] for row in exact["rows"]}[small.anchor] == large.latency_ms


def test_the_second_profiles_warnings_are_told_too(document, samples, tmp_path):
    small, large = sample_at(samples, "batch_size", 16), sample_at(samples, "batch_size", 256)
    content = json.loads(large.data)
    content["meta"]["gpu"] = next(gpu for gpu in ("Tesla T4", "Tesla K80") if gpu != content["meta"].get("gpu"))
    path = written(tmp_path, content)
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 1000, "--second", path, "--at-batch", 64)
    warnings = document(*command)["warnings"]
    assert any(text.startswith("--second: The profile says it was recorded on Tesla") for text in warnings)


def test_peaks_of_two_profiles_tell_what_fits(document, samples, tmp_path):
    small, large = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]
    contents = [json.loads(one.data) for one in (small, large)]
    for peak_mib, content in zip((1024, 5824), contents, strict=True):
        content["meta"]["peak_memory_mib"] = peak_mib
    first, second = (written(tmp_path, content, f"{place}.json") for place, content in enumerate(contents))
    command = ("cost", first, "--anchor", small.anchor, "--images", 1000, "--at-batch", 512)
    alone = document(*command)["memory"]["g3s.xlarge"]
    both = document(*command, "--second", second)["memory"]["g3s.xlarge"]
    assert "from the recorded peak" in alone["why"] and "from the recorded peaks" in both["why"]
    # 20 MiB an image: of the first peak 320 grow and 704 stay, which at batch 512 is 10.7 GiB; as one peak it is more.
    assert both["why"].startswith("needs about 12 of 8 GiB") and both["verdict"] == "does not fit"
    assert both["largest_batch"] is not None and alone["largest_batch"] < both["largest_batch"]


def test_two_profiles_that_are_not_of_one_network_are_warned_of(document, samples, tmp_path):
    small, large = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]
    contents = [json.loads(one.data) for one in (small, large)]
    for parameters, content in zip((25_000_000, 11_000_000), contents, strict=True):
        content["meta"]["parameters"] = parameters
    first, second = (written(tmp_path, content, f"{place}.json") for place, content in enumerate(contents))
    command = ("cost", first, "--anchor", small.anchor, "--images", 1000, "--second", second, "--at-batch", 64)
    line = (
        "--second: The two profiles differ in number of parameters (25000000 and 11000000): are they the same network?"
    )
    assert line in document(*command)["warnings"]


def test_costs_text_marks_retired_instances(run, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--images", 50_000, "--epochs", 2)
    status, out, _ = run(*command, "--every-offer")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert status == 0
    assert lines["p3.2xlarge"].endswith("retired") and lines["g4dn.xlarge"].endswith("available")
    assert "1.00x" in lines[sample.anchor]


def test_costs_say_what_each_rests_on(document, run, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--images", 50_000)
    rows = {row["instance"]: row for row in document(*command)["rows"]}
    assert rows["p4d.24xlarge"]["basis"] == "transferred" and "whole node of 8" in rows["p4d.24xlarge"]["note"]
    assert rows["g5.xlarge"]["basis"] == "derived"
    out = run(*command, "--every-offer")[1].splitlines()
    assert any(line.startswith("p5.4xlarge ") and "transferred" in line for line in out)
    assert any(line.startswith("p4d.24xlarge, ") and ", transferred: " in line for line in out)


def test_costs_are_narrowed_and_few_by_default(document, run, sample):
    command = ("cost", sample.path, "--anchor", sample.anchor, "--images", 50_000)
    rows = document(*command, "--provider", "verda", "--min-memory-gib", 100)["rows"]
    names = ["verda/1B200.30V", "verda/1H200.141S.44V", "verda/2H200.141S.88V"]
    assert sorted(row["instance"] for row in rows if row["instance"] != sample.anchor) == sorted(names)
    assert "more offers of the same GPUs are not shown" in run(*command)[1]


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
        (["--images", "9", "--profiled-batch", "17"], "for another batch size its latencies are carried there"),
        (["--images", "9", "--price", "p2.xlarge"], "'p2.xlarge' is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4"),
        (["--images", "9", "--price", "p2.xlarge=cheap"], "is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4"),
        (["--images", "9", "--price", "p2.xlarge=-1"], "The price of p2.xlarge must be a number above 0, not -1.0."),
        (["--images", "9", "--price", "p2.xlarge=nan"], "The price of p2.xlarge must be a number above 0, not nan."),
        (["--images", "9", "--price", "p9=1"], "Unknown instance 'p9': choose one of"),
        (["--images", "9", "--at-batch", "1025"], "The batch size must be between 1 and 1024, not 1025."),
        (["--images", "9", "--at-pixels", "8"], "The pixel size must be between 16 and 1024, not 8."),
        (["--images", "9", "--profiled-pixels", "31"], "not 31: leave --profiled-pixels out."),
        (
            ["--images", "9", "--second", "x.json"],
            "--second is for another size: name it with --at-batch or --at-pixels.",
        ),
        ([], "the following arguments are required: --images"),
    ],
)
def test_cost_refuses_in_one_line(refused, sample, arguments, says):
    assert says in refused("cost", sample.path, "--anchor", sample.anchor, *arguments)


def test_what_a_profile_does_not_say_of_its_size_is_asked_for(refused, document, sample, tmp_path):
    content = json.loads(sample.data)
    for name in ("batch_size", "pixels"):
        del content["meta"][name]
    path = written(tmp_path, content)
    command = ("cost", path, "--anchor", sample.anchor, "--images", 9, "--profiled-batch", sample.batch_size)
    assert refused(*command, "--at-pixels", 64) == "Say at which pixel size it was recorded: --profiled-pixels."
    assert document(*command, "--at-pixels", 64, "--profiled-pixels", 128)["rows"]
    second = ("--at-batch", 100, "--second", path)
    assert refused(*command, *second) == "--second: say at which batch size it was recorded: --second-batch."
    assert document(*command, *second, "--second-batch", 2 * sample.batch_size)["rows"]


def test_a_profile_that_does_not_say_its_batch_size_is_asked_for_it(refused, tmp_path):
    path = written(tmp_path, {"Device_Conv2D": 50_000.0})
    assert "give the batch size it was recorded at" in refused("cost", path, "--anchor", "p2.xlarge", "--images", "9")
