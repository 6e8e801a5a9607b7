"""`profet scaleout`: 1 to 64 GPUs from a profile or a measured step, and one line for what does not go."""

from __future__ import annotations

import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from profet_core import load_catalog
from tests.cli.cases import unexpected
from tests.docs.recipes import blocks, section

ROOT = Path(__file__).parents[3]

MEASURED = ("--step-ms", 203, "--gpu", "V100", "--batch", 64, "--network", "ResNet50")


@pytest.fixture
def profiled(samples):
    """A ResNet50 of 128 pixels, batch 16, on a T4."""
    sample = samples["resnet50-128px-b16-g4dn"]
    return sample.path, "--anchor", "g4dn.xlarge", "--latency-ms", sample.latency_ms, "--network", "ResNet50"


def test_a_measured_step_on_more_and_more_gpus(document):
    found = document("scaleout", *MEASURED, "--images", 1_000_000)
    curve = found["curve"]
    assert [row["gpus"] for row in curve] == [1, 2, 4, 8, 16, 32, 64]
    one, eight, sixteen = curve[0], curve[3], curve[4]
    assert (one["latency_ms"], one["low_ms"], one["speed_up"], one["nodes"]) == (203, None, 1, 1)
    assert (eight["batch_size"], sixteen["nodes"], found["one_gpu"]["basis"]) == (512, 2, "given")
    for fewer, more in pairwise(curve):
        assert more["efficiency"] < fewer["efficiency"] and more["speed_up"] <= more["gpus"]
        assert 203 <= more["low_ms"] <= more["latency_ms"] <= more["high_ms"]
    assert eight["latency_ms"] < 1.15 * 203, "NVLink hides most of ResNet50's gradients"
    assert eight["epoch_s"] == pytest.approx(-(-1_000_000 // 512) * eight["latency_ms"] / 1000)
    assert set(eight["by_strategy_ms"]) == {"ring", "tree", "ps-cpu", "ps-gpu"}
    assert eight["by_strategy_ms"]["ring"] == eight["latency_ms"]
    assert (found["parameters"], found["network"], found["gpu"]) == (25_621_352, "ResNet50", "Tesla V100-SXM2-16GB")


def test_nodes_are_paid_for_whole_and_several_times(document):
    found = document("scaleout", *MEASURED, "--instance", "p3.16xlarge", "--gpus", "4,8,16")
    four, eight, sixteen = found["curve"]
    price = load_catalog()["p3.16xlarge"].usd_per_hour
    for row, nodes in ((four, 1), (eight, 1), (sixteen, 2)):
        assert row["epoch_usd"] == pytest.approx(row["epoch_s"] / 3600 * nodes * price)
    node = next(row for row in found["offers"] if row["instance"] == "p3.16xlarge")
    assert (node["gpus"], node["usd_per_hour"]) == (8, price)
    assert {key: node[key] for key in ("latency_ms", "epoch_s", "epoch_usd")} == {
        key: eight[key] for key in ("latency_ms", "epoch_s", "epoch_usd")
    }
    # Every offer of the GPU that was measured on, with several, and no other: on PCIe it is another one.
    gpus = {row["gpu"] for row in found["offers"]}
    assert gpus == {"Tesla V100-SXM2-16GB"} and min(row["gpus"] for row in found["offers"]) > 1
    assert found["interconnect"]["link"] == "nvlink" and found["interconnect"]["network_gbit_per_s"] == 25


def test_half_precision_shares_half_and_mixed_all(document):
    whole, mixed, half = (
        document("scaleout", *MEASURED, "--gpus", 8, "--precision", precision)["curve"][0]["latency_ms"]
        for precision in ("fp32", "amp", "fp16")
    )
    assert 203 < half < whole == mixed


def test_from_a_profile_every_offer_has_its_own_step(document, profiled):
    found = document("scaleout", *profiled, "--gpus", "1,8")
    predicted = document("predict", *profiled[:-2])["predictions"]
    by_instance = {row["instance"]: row["latency_ms"] for row in predicted}
    assert found["curve"][0]["latency_ms"] == by_instance["g4dn.xlarge"]
    assert len(found["offers"]) > 80
    for row in found["offers"]:
        assert row["one_gpu_ms"] == pytest.approx(by_instance[row["instance"]])
        assert row["latency_ms"] >= row["one_gpu_ms"]
    assert [row["epoch_usd"] for row in found["offers"]] == sorted(row["epoch_usd"] for row in found["offers"])
    assert unexpected(found["warnings"]) == []


def test_a_batch_of_all_is_shared(document, profiled):
    sizes = ("--profiled-batch", 16, "--profiled-pixels", 128, "--global-batch", 256)
    found = document("scaleout", *profiled, *sizes, "--instance", "p3.16xlarge")
    curve = {row["gpus"]: row for row in found["curve"]}
    assert {row["batch_size"] for row in curve.values()} == {256} and curve[8]["batch_per_gpu"] == 32
    carried = document(*("cost", *profiled[:-2], *sizes[:4], "--at-batch", 32, "--images", 1000, "--every-offer"))[
        "rows"
    ]
    assert curve[8]["one_gpu_ms"] == pytest.approx(
        next(row["latency_ms"] for row in carried if row["instance"] == "p3.16xlarge")
    )
    assert curve[8]["over_one"] == pytest.approx(curve[1]["latency_ms"] / curve[8]["latency_ms"])
    assert curve[8]["over_one"] < curve[8]["speed_up"], "small batches keep a GPU less busy"
    # Beyond some number the network takes longer than it saves: that is said.
    assert found["last_paying"] == 8


def test_what_does_not_fit_in_memory_is_said_and_comes_last(document, run, samples):
    """As `advise` judges the same step."""
    path = samples["vgg16-224px-b16-g3s"].path
    asked = (path, "--anchor", "g3s.xlarge", "--batch", 512, "--network", "VGG16", "--gpu", "T4,H100")
    found = document("scaleout", *asked)
    left = [row["fits_in_memory"] == "does not fit" for row in found["offers"]]
    assert {row["fits_in_memory"] for row in found["offers"] if "T4" in row["gpu"]} == {"does not fit"}
    assert {row["fits_in_memory"] for row in found["offers"] if "H100" in row["gpu"]} == {"fits"}
    assert left == sorted(left), "does not fit: last"
    out_of = document(*("advise", *asked[:3], "--at-batch", 512, "--images", 1000, "--whole-nodes"), "--gpu", "T4,H100")
    named = {row["instance"]: row["reason"] for row in out_of["left_out"]}
    for row in found["offers"]:
        assert ("does not fit" in named.get(row["instance"], "")) == (row["fits_in_memory"] == "does not fit")
    # The curve is on the anchor's own GPU, 8 GiB; a smaller part of a batch is a smaller step.
    sizes = ("--profiled-batch", 16, "--profiled-pixels", 224, "--global-batch", 512, "--gpus", "1,32")
    curve = document("scaleout", *asked[:3], *asked[5:7], *sizes)["curve"]
    assert [(row["batch_per_gpu"], row["fits_in_memory"]) for row in curve] == [(512, "does not fit"), (16, "fits")]
    assert curve[0]["largest_batch"] == curve[1]["largest_batch"] < 512
    _, out, _ = run("scaleout", *asked)
    assert "  memory" in out and "does not fit, to" in out


def test_a_measured_step_ran_and_is_not_judged(document):
    found = document("scaleout", *MEASURED, "--gpus", 8)
    assert {row["fits_in_memory"] for row in (*found["curve"], *found["offers"])} == {None}


def test_a_profile_of_a_gpu_has_a_verdict_too(document, profiled):
    curve = document("scaleout", profiled[0], "--anchor", "T4", *profiled[3:], "--instance", "p3.16xlarge")["curve"]
    assert {row["fits_in_memory"] for row in curve} == {"fits"}


def test_numbers_that_cannot_share_the_batch_are_left_out(document, profiled):
    sizes = ("--profiled-batch", 16, "--profiled-pixels", 128, "--global-batch", 96)
    found = document("scaleout", *profiled, *sizes)
    assert [row["gpus"] for row in found["curve"]] == [1, 2, 4, 8, 16, 32]


def test_tables(run, document):
    status, out, err = run("scaleout", *MEASURED, "--instance", "p3.16xlarge", "--gpus", "1,8")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "ResNet50, 25.6M parameters, on p3.16xlarge: NVLink mesh 150 GB/s, network 25 Gb/s"
    assert lines[3].split()[:4] == ["1", "1", "64", "203"] and lines[4].split()[:3] == ["8", "1", "512"]
    assert "step by strategy" in lines and "whole nodes, all GPUs training" in lines


def test_what_nobody_measured_of_late_says_so_beside_a_shorter_step(document, run):
    """The formulas may find a shorter step than the usual one's: that is no advice."""
    asked = ("scaleout", "--step-ms", 20, "--gpu", "A100-SXM4-40GB", "--batch", 64, "--network", "MobileNetV2")
    usual, ring, best = (
        document(*asked, "--gpus", 8, *more) for more in ((), ("--strategy", "ring"), ("--strategy", "best"))
    )
    assert usual == ring and usual["strategy"] == "ring" and usual["curve"] == best["curve"]
    by_strategy = usual["curve"][0]["by_strategy_ms"]
    assert by_strategy["tree"] < by_strategy["ring"] == usual["curve"][0]["latency_ms"]
    out = run(*asked)[1]
    for title in ("tree (not measured)", "ps-cpu (measured in 2017 only)", "ps-gpu (measured in 2017 only)", " ring "):
        assert title in out
    assert "(measured" not in out.partition("step by strategy")[0]


def test_one_process_needs_the_weight_tensors(document, refused):
    assert "weight tensors" in refused("scaleout", *MEASURED, "--strategy", "one-process", "--gpus", 8)
    found = document("scaleout", *MEASURED, "--strategy", "one-process", "--tensors", 161, "--gpus", 8)["curve"][0]
    assert found["strategy"] == "one-process" and found["latency_ms"] > found["by_strategy_ms"]["ring"]


def test_one_process_is_looked_at_within_a_node(document):
    found = document("scaleout", *MEASURED, "--strategy", "one-process", "--tensors", 161)
    assert [row["gpus"] for row in found["curve"]] == [1, 2, 4, 8]
    four = document(
        *("scaleout", *MEASURED, "--strategy", "one-process", "--tensors", 161),
        *("--instance", "p3.8xlarge"),
    )
    assert [row["gpus"] for row in four["curve"]] == [1, 2, 4]


def documented_examples() -> list[str]:
    """Lines of the command's section, but for the program's name."""
    told = section((ROOT / "docs" / "COMMANDS.md").read_text(encoding="utf-8"), "profet scaleout")
    return [line for block in blocks(told) if block.language == "sh" for line in block.text.splitlines()]


@pytest.mark.parametrize("line", documented_examples())
def test_every_documented_example_runs(run, monkeypatch, line):
    monkeypatch.chdir(ROOT)
    program, *words = shlex.split(line)
    sample = "sample_traces/vgg16-224px-b16-g3s.json"
    status, out, err = run(*(sample if word == "TRACE" else word for word in words))
    warned = [line for line in unexpected(err.splitlines()) if not line.startswith("warning: Between machines only ")]
    assert (program, status, warned) == ("profet", 0, []) and "whole nodes" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--gpus", "0"), "The number of GPUs must be a whole number of at least 1, not 0."),
        (("--gpus", "128"), "The number of GPUs must be at most 64, not 128: more were not measured."),
        (("--gpus", "12"), "12 GPUs are more than a node of 8 GPUs, and no whole nodes of it."),
        (
            ("--gpus", "12", "--instance", "p3.16xlarge"),
            "12 GPUs are more than a node of p3.16xlarge, which has 8 GPUs, and no whole nodes of it.",
        ),
        (("--gpus", "some"), "argument --gpus: 'some' is no list of numbers such as 1,2,4,8"),
        (("--strategy", "gossip"), "argument --strategy: invalid choice: 'gossip'"),
        (("--global-batch", "100", "--gpus", "8"), "A global batch of 100 can't be shared evenly by 8 GPUs"),
        (
            ("--global-batch", "128", "--gpus", "8"),
            "A measured step tells batch 64 a GPU, not 16: that",
        ),
        (("--instance", "p4d.24xlarge"), "p4d.24xlarge has another GPU than Tesla V100-SXM2-16GB"),
        (("--step-ms", "0"), "The step latency must be a number above 0, not 0"),
        (("--images", "0"), "The number of images must be a whole number of at least 1, not 0."),
        (("--parameters", "25.6e6"), "Give the network or its parameters, not both."),
    ],
)
def test_what_does_not_go_is_one_line(refused, arguments, line):
    assert refused("scaleout", *MEASURED, *arguments).startswith(line)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "Give TRACE or --step-ms, one of them."),
        (("--step-ms", "203", "--gpu", "V100", "--batch", "64"), "Say which network it is, --network ResNet50"),
        (("--step-ms", "203", "--batch", "64", "--network", "ResNet50"), "Say on which one GPU the step was measured"),
        (
            ("--step-ms", "203", "--gpu", "V100", "--network", "ResNet50"),
            "Say at which batch size the step was",
        ),
        (("--step-ms", "203", "--anchor", "p3.2xlarge"), "Without TRACE there is nothing to say with --anchor."),
    ],
)
def test_what_is_missing_is_asked_for(refused, arguments, line):
    assert refused("scaleout", *arguments).startswith(line)


def test_which_gpu_was_measured_on_is_asked_as_an_anchor_s(refused):
    line = refused("scaleout", "--step-ms", 20, "--gpu", "A100", "--batch", 64, "--network", "ResNet50")
    assert line == "'A100' may be any of A100-SXM4-40GB, A100-SXM4-80GB: give the full name."


def test_a_batch_is_each_gpu_s_or_of_all(refused, profiled):
    line = refused("scaleout", *profiled, "--batch", 64, "--global-batch", 512)
    assert line == "--batch is of each GPU and --global-batch of all of them: give one."


def test_where_more_stop_paying_is_said_where_there_are_more(run):
    on_nodes = (*MEASURED, "--instance", "p3.16xlarge")
    assert "pay" not in run("scaleout", *MEASURED, "--gpus", 1)[1]
    assert "more GPUs pay up to the last row" in run("scaleout", *on_nodes, "--gpus", "1,2")[1]
    small = ("--step-ms", 20, "--gpu", "V100", "--batch", 8, "--network", "VGG16", "--instance", "p3.2xlarge")
    assert "pays up to 1 GPU: the next" in run("scaleout", *small, "--gpus", "1,2,64")[1]


def test_a_part_of_a_node_need_not_be_even(document):
    curve = document("scaleout", *MEASURED, "--instance", "p3.16xlarge", "--gpus", "3,6")["curve"]
    assert [(row["gpus"], row["nodes"], row["batch_size"]) for row in curve] == [(3, 1, 192), (6, 1, 384)]
    assert curve[0]["speed_up"] < 3 and curve[0]["efficiency"] > curve[1]["efficiency"]


def test_the_list_of_commands_names_what_is_served(run, capsys):
    with pytest.raises(SystemExit):
        run("--help")
    assert "predict, cost, advise, scaleout and instances" in " ".join(capsys.readouterr().out.split())


def test_validate_alone(refused):
    assert "leave --transfer out" in refused("validate", "--scaleout", "--transfer")
    assert "leave --anchor out" in refused("validate", "--scaleout", "--anchor", "g3s.xlarge")
