"""`profet advise` and `scaleout`: what to rent, and what 1 to 64 GPUs take and cost."""

from __future__ import annotations

import json
from html import escape
from itertools import pairwise

import pytest

from profet_core import predict
from profet_core.catalog.collection import offers_in_market
from profet_core.latency import Basis
from profet_core.training.advise import advise
from profet_core.training.cost import Workload
from profet_core.training.plans import NO_LIMITS, Limits
from profet_core.training.words import answer_sentences
from tests.cli.cases import unexpected

IMAGES, EPOCHS = 50_000, 10


@pytest.fixture
def sample(samples):
    return samples["resnet50-128px-b64-g4dn"]


@pytest.fixture
def asked(sample):
    """The arguments that every case shares."""
    given = ["--anchor", sample.anchor, "--latency-ms", sample.latency_ms, "--images", IMAGES, "--epochs", EPOCHS]
    return ["advise", sample.path, *given]


@pytest.fixture
def expected(sample, models, catalog):
    """`expected(limits, **choices)` -> the library's advice on the same question."""

    def ask(limits: Limits = NO_LIMITS, *, offers=None, **choices: object):
        prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
        workload = Workload(IMAGES, sample.batch_size, EPOCHS)
        return advise(prediction.predictions, offers or offers_in_market(catalog), workload, limits, **choices)

    return ask


def test_json_and_text_say_what_the_library_says(document, asked, expected, run):
    answer = document(*asked, "--deadline-hours", 3, "--budget-usd", 20, "--include-retired")
    advice = expected(Limits(3, 20), include_retired=True)
    assert answer["answer"] == {"plan": advice.answer.label, "sentences": list(answer_sentences(advice))}
    assert [row["plan"] for row in answer["plans"]] == [plan.label for plan in advice.plans]
    for row, plan in zip(answer["plans"], advice.plans, strict=True):
        for name in ("total_s", "total_usd", "in_time", "in_budget", "basis"):
            assert row[name] == getattr(plan, name)
        for name in ("low_s", "high_s", "low_usd", "high_usd"):
            assert row[name] == (plan.interval and getattr(plan.interval, name))
        assert (row["usd_per_hour"], row["gpu_count"]) == (plan.offer.usd_per_hour, plan.offer.gpu_count)
    assert answer["cheapest"]["certainty"] == advice.cheapest.certainty
    assert answer["within"]["sure"] == advice.within.sure.label
    assert answer["frontier"] == [plan.label for plan in advice.frontier]
    assert [one["hours_per_usd"] for one in answer["upgrades"]] == [one.hours_per_usd for one in advice.upgrades]
    assert {one["reason"] for one in answer["excluded"]} == {"no price in this market"}
    assert answer["comparison"] is None
    workload = {"images": IMAGES, "batch_size": 64, "epochs": EPOCHS, "validation_images": 0, "runs": 1, "machines": 1}
    assert answer["workload"] == {**workload, "images_per_s_per_vcpu": None}
    status, out, _ = run(*asked, "--deadline-hours", 6, "--include-retired", "--compare", "p3.2xlarge,g4dn.xlarge")
    advice = expected(Limits(6), include_retired=True)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == answer_sentences(advice)[0]
    assert "in time" in lines[len(answer_sentences(advice)) + 1]
    for title in ("Basis:", "Recommendations:", "Faster for more money:"):
        assert title in lines
    assert f"  {Basis.MEASURED.words}" in lines
    assert "V100 SXM · AWS (p3.2xlarge, retired) vs. T4 · AWS (g4dn.xlarge):" in lines


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--deadline-hours", "-1"], "--deadline-hours must be"),
        (["--budget-usd", "0"], "--budget-usd must be"),
        (["--certainty", "90"], "--certainty must be"),
        (["--spot-discount", "60", "--market", "spot"], "--spot-discount must be"),
        (["--region", "mars"], "No offer has region mars"),
        (["--compare", "g4dn.xlarge"], "--compare takes two of"),
        (["--compare", "g4dn.xlarge,p2.xlarge"], "--compare names p2.xlarge, which is retired: add --include-retired."),
        (["--market", "spot", "--compare", "p3.2xlarge spot,g4dn.xlarge spot"], "names p3.2xlarge, which is retired"),
        (["--price", "p2.xlarge=0.2"], "--price names p2.xlarge, which is retired: add --include-retired."),
        (["--gpu", "V100", "--provider", "aws"], "p3.2xlarge: retired; "),
        (["--gpu", "V100", "--provider", "aws"], "; --include-retired includes retired instances."),
        (["--compare", "g4dn.xlarge,p4.xlarge"], "not 'p4.xlarge'"),
        (["--market", "black"], "Unknown market"),
        (["--network", "no net"], "Unknown network 'no net'"),
        (["--parameters", "many"], "--parameters must be"),
        (["--parameters", "9e13"], "parameters must be from 1 to"),
        (["--network", "VGG16", "--parameters", "1M"], "not both"),
        # Of the slowest machine alone, which text would not show.
        (
            ["--market", "spot", "--interruptions", "99", "--checkpoint-minutes", "1e6", "--images", "300000"],
            "--checkpoint-minutes",
        ),
    ],
)
def test_bad_arguments_get_one_line(refused, asked, arguments, line):
    assert line in refused(*asked, *arguments)


def test_the_cheapest_batch_size_costs_there_what_is_said(document, run, asked):
    assert document(*asked)["best_batch"] is None
    answer = document(*asked, "--any-batch")
    best, cheapest = answer["best_batch"], answer["cheapest"]["plan"]
    before = next(row["total_usd"] for row in answer["plans"] if row["plan"] == cheapest)
    assert best["batch_size"] != answer["workload"]["batch_size"]
    assert best["saves_percent"] == pytest.approx(100 * (1 - best["total_usd"] / before)) and best["saves_percent"] > 2
    there = document(*asked, "--at-batch", best["batch_size"])
    costs = {row["plan"]: row["total_usd"] for row in there["plans"]}
    assert costs[best["plan"]] == pytest.approx(best["total_usd"]) == min(costs.values())
    assert best["sentence"] in run(*asked, "--any-batch")[1]
    # In time, and beside what is recommended then.
    hours = next(row["total_s"] for row in answer["plans"] if row["plan"] == answer["fastest"]["plan"]) * 1.2 / 3600
    within = document(*asked, "--any-batch", "--deadline-hours", hours)
    best = within["best_batch"]
    times = {row["plan"]: row["total_s"] for row in document(*asked, "--at-batch", best["batch_size"])["plans"]}
    answered = next(row["total_usd"] for row in within["plans"] if row["plan"] == within["answer"]["plan"])
    assert times[best["plan"]] <= 3600 * hours and best["total_usd"] < answered


def test_the_launch_task_is_printed_alone_and_runs_the_command(run, document, asked):
    given = (*asked, "--market", "spot", "--launch-command", "python train.py --epochs 9")
    status, out, _ = run(*given, "--launch")
    launch = document(*given)["launch"]
    comments, tasks = (
        [line for line in out.splitlines() if line.startswith("# ") == is_comment] for is_comment in (True, False)
    )
    assert (status, "\n".join(tasks) + "\n") == (0, launch["skypilot"])
    assert tasks[-1] == "  python train.py --epochs 9" and "  use_spot: true" in tasks
    assert [line[2:] for line in comments[1:]] == [launch[key] for key in ("availability", "page", "checklist")]


def test_the_report_is_written_beside_what_is_printed(run, refused, sample, asked, expected, tmp_path):
    path = tmp_path / "answer.html"
    status, out, _ = run(*asked, "--report", path)
    page = path.read_text()
    assert status == 0 and answer_sentences(expected())[0] in out
    assert escape(answer_sentences(expected())[0]) in page and "resnet50-128px-b64-g4dn" in page
    for place in (tmp_path / "missing" / "answer.html", tmp_path):
        assert "can't be written" in refused(*asked, "--report", place)
    trace = tmp_path / "trace.json"
    trace.write_bytes(sample.path.read_bytes())
    asked[1] = trace
    assert "is an input trace" in refused(*asked, "--report", trace)
    assert trace.read_bytes() == sample.path.read_bytes()


def test_the_text_shows_the_cheapest_offers_and_what_is_picked_or_every_offer(run, document, asked):
    answer, out = document(*asked), run(*asked)[1].splitlines()
    plans = {plan["plan"] for plan in answer["plans"]}
    shown = {line.split()[0] for line in out if line} & plans
    assert any(line.startswith(f"{len(plans) - len(shown)} more offers of the same GPUs are not") for line in out)
    assert {answer["answer"]["plan"], answer["fastest"]["plan"], *answer["frontier"]} <= shown < plans
    assert plans <= {line.split()[0] for line in run(*asked, "--every-offer")[1].splitlines() if line}


def test_advice_is_of_the_offers_asked_for_and_whole_nodes_need_parameters(document, asked, refused, sample, tmp_path):
    answer = document(*asked, "--provider", "gcp,verda", "--market", "any", "--gpu", "V100,T4", "--confidence", "good")
    assert {plan["provider"] for plan in answer["plans"]} == {"gcp", "verda"}
    assert {plan["market"] for plan in answer["plans"]} == {"on-demand", "spot"}
    assert {plan["basis"] for plan in answer["plans"]} <= {"measured", "given"}
    assert answer["answer"]["plan"] == "verda/1V100.6V"
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"operations": dict(sample.profile.operations), "meta": {"batch_size": 64}}))
    line = refused("advise", bare, *asked[2:], "--whole-nodes")
    assert "--network" in line and "--parameters" in line


STEP = ("--step-ms", 203, "--gpu", "V100", "--batch", 64)
MEASURED = (*STEP, "--network", "ResNet50")


@pytest.fixture
def profiled(samples):
    """A ResNet50 of 128 pixels, batch 16, on a T4."""
    sample = samples["resnet50-128px-b16-g4dn"]
    return sample.path, "--anchor", "g4dn.xlarge", "--latency-ms", sample.latency_ms, "--network", "ResNet50"


def test_a_measured_step_on_more_and_more_gpus(document):
    answer = document("scaleout", *MEASURED, "--images", 1_000_000)
    curve = answer["curve"]
    assert [row["gpus"] for row in curve] == [1, 2, 4, 8, 16, 32, 64]
    one, eight, sixteen = curve[0], curve[3], curve[4]
    assert (one["latency_ms"], one["low_ms"], one["speed_up"], one["nodes"]) == (203, None, 1, 1)
    assert (eight["batch_size"], sixteen["nodes"], answer["one_gpu"]["basis"]) == (512, 2, "given")
    for fewer, more in pairwise(curve):
        assert more["efficiency"] < fewer["efficiency"] and more["speed_up"] <= more["gpus"]
        assert 203 <= more["low_ms"] <= more["latency_ms"] <= more["high_ms"]
    assert eight["latency_ms"] < 1.15 * 203, "NVLink hides most of ResNet50's gradients"
    assert eight["epoch_s"] == pytest.approx(-(-1_000_000 // 512) * eight["latency_ms"] / 1000)
    assert set(eight["by_strategy_ms"]) == {"ring", "tree", "ps-cpu", "ps-gpu"}
    assert eight["by_strategy_ms"]["ring"] == eight["latency_ms"]
    assert (answer["parameters"], answer["network"], answer["gpu"]) == (25_557_032, "resnet50", "Tesla V100-SXM2-16GB")
    # It ran: nobody asks whether it fits.
    assert {row["fits_in_memory"] for row in (*curve, *answer["offers"])} == {None}


def test_from_a_profile_every_offer_has_its_own_step(document, profiled):
    answer = document("scaleout", *profiled, "--gpus", "1,8")
    predicted = document("predict", *profiled[:-2])["predictions"]
    by_instance = {row["instance"]: row["latency_ms"] for row in predicted}
    assert answer["curve"][0]["latency_ms"] == by_instance["g4dn.xlarge"]
    assert len(answer["offers"]) > 80
    for row in answer["offers"]:
        assert row["one_gpu_ms"] == pytest.approx(by_instance[row["instance"]])
        assert row["latency_ms"] >= row["one_gpu_ms"]
    assert [row["epoch_usd"] for row in answer["offers"]] == sorted(row["epoch_usd"] for row in answer["offers"])
    assert unexpected(answer["warnings"]) == []
    amp = document("scaleout", *profiled, "--gpus", "1,8", "--precision", "amp", "--gradients", "fp16")
    step_ms = {row["instance"]: row["one_gpu_ms"] for row in amp["offers"]}
    assert step_ms.keys() <= by_instance.keys() and step_ms["p3.16xlarge"] != by_instance["p3.16xlarge"]


def test_a_batch_of_all_is_shared(document, run, refused, profiled):
    assert "give one" in refused("scaleout", *profiled, "--batch", 64, "--global-batch", 512)
    sizes = ("--profiled-batch", 16, "--profiled-pixels", 128, "--global-batch", 256)
    answer = document("scaleout", *profiled, *sizes, "--instance", "p3.16xlarge")
    curve = {row["gpus"]: row for row in answer["curve"]}
    assert {row["batch_size"] for row in curve.values()} == {256} and curve[8]["batch_per_gpu"] == 32
    carried = document("cost", *profiled[:-2], *sizes[:4], "--at-batch", 32, "--images", 1000, "--every-offer")["rows"]
    own = next(row["latency_ms"] for row in carried if row["instance"] == "p3.16xlarge")
    assert curve[8]["one_gpu_ms"] == pytest.approx(own)
    assert curve[8]["over_one"] == pytest.approx(curve[1]["latency_ms"] / curve[8]["latency_ms"])
    assert curve[8]["over_one"] < curve[8]["speed_up"], "small batches keep a GPU less busy"
    assert "vs. 1 GPU: relative to" in run("scaleout", *profiled, *sizes)[1]
    # Beyond some number the network takes longer than it saves: that is said.
    assert answer["last_paying"] == 8
    # Numbers that can't share the batch are left out.
    answer = document("scaleout", *profiled, *sizes[:4], "--global-batch", 96)
    assert [row["gpus"] for row in answer["curve"]] == [1, 2, 4, 8, 16, 32]


def test_what_does_not_fit_in_memory_is_said_and_comes_last(document, run, samples):
    """As `advise` judges the same step."""
    path = samples["vgg16-224px-b16-g3s"].path
    asked = (path, "--anchor", "g3s.xlarge", "--batch", 512, "--network", "VGG16", "--gpu", "T4,H100")
    answer = document("scaleout", *asked)
    left = [row["fits_in_memory"] == "does not fit" for row in answer["offers"]]
    assert {row["fits_in_memory"] for row in answer["offers"] if "T4" in row["gpu"]} == {"does not fit"}
    assert {row["fits_in_memory"] for row in answer["offers"] if "H100" in row["gpu"]} == {"fits"}
    assert left == sorted(left), "does not fit: last"
    out_of = document(*("advise", *asked[:3], "--at-batch", 512, "--images", 1000, "--whole-nodes"), "--gpu", "T4,H100")
    named = {row["instance"]: row["reason"] for row in out_of["excluded"]}
    for row in answer["offers"]:
        assert ("does not fit" in named.get(row["instance"], "")) == (row["fits_in_memory"] == "does not fit")
    # The curve is on the anchor's own GPU, 8 GiB; a smaller part of a batch is a smaller step.
    sizes = ("--profiled-batch", 16, "--profiled-pixels", 224, "--global-batch", 512, "--gpus", "1,32")
    curve = document("scaleout", *asked[:3], *asked[5:7], *sizes)["curve"]
    assert [(row["batch_per_gpu"], row["fits_in_memory"]) for row in curve] == [(512, "does not fit"), (16, "fits")]
    assert curve[0]["largest_batch"] == curve[1]["largest_batch"] < 512
    _, out, _ = run("scaleout", *asked)
    assert "  memory" in out and "does not fit, max" in out


def test_tables_and_where_more_stop_paying(run):
    on_nodes = (*MEASURED, "--instance", "p3.16xlarge")
    status, out, err = run("scaleout", *on_nodes, "--gpus", "1,8")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    # How many comes first.
    first = lines.index("")
    assert " × V100 SXM at " in lines[0] and "arXiv:1706.02677" in lines[first - 1]
    lines = lines[first + 1 :]
    assert lines[0].startswith("resnet50, 25.6M parameters, on p3.16xlarge: NVLink mesh 150 GB/s")
    assert lines[3].split()[:4] == ["1", "1", "64", "203"] and lines[4].split()[:3] == ["8", "1", "512"]
    assert "step latency by strategy" in lines and "whole machines, all GPUs training" in lines
    assert "adding GPUs pays off up to the last row" in out
    assert "pay" not in run("scaleout", *MEASURED, "--gpus", 1)[1]
    small = ("--step-ms", 20, "--gpu", "V100", "--batch", 8, "--network", "VGG16", "--instance", "p3.2xlarge")
    assert "pays off up to 1 GPU: beyond that" in run("scaleout", *small, "--gpus", "1,2,64")[1]


def test_how_many_gpus_for_a_deadline_a_budget_or_neither(document):
    asked = ("scaleout", *MEASURED, "--provider", "aws,lambda", "--market", "on-demand")
    free = document(*asked)["how_many"]
    curve = {row["instance"]: row for row in document(*asked)["offers"]}
    chosen = curve[free["instance"]]
    assert all(
        free["epoch_s"] * free["epoch_usd"] <= row["epoch_s"] * row["epoch_usd"] * (1 + 1e-9) for row in curve.values()
    )
    assert (free["gpus"], free["batch_size"]) == (chosen["gpus"], chosen["batch_size"]) and free["within"]
    assert free["sentence"].endswith("more GPUs cost more than they save.")
    # Over a fast network two machines cost little more: that is said.
    on_h100 = (
        "scaleout",
        *STEP[:2],
        "--gpu",
        "H100-SXM5-80GB",
        *STEP[4:],
        "--network",
        "ResNet50",
        "--provider",
        "nebius",
    )
    assert "; 16 on 2 machines: " in document(*on_h100)["how_many"]["sentence"]
    # Ninety epochs in less time than one machine needs, and than any number needs.
    fewer = document(*asked, "--epochs", 90, "--deadline-hours", 90 * free["epoch_s"] / 3600 * 2)["how_many"]
    assert fewer["within"] and fewer["epoch_usd"] <= free["epoch_usd"]
    assert fewer["total_s"] == pytest.approx(90 * fewer["epoch_s"]) and fewer["total_s"] <= 180 * free["epoch_s"]
    none = document(*asked, "--epochs", 90, "--deadline-hours", 0.001)["how_many"]
    assert not none["within"] and none["epoch_s"] <= free["epoch_s"]
    cheap = document(*asked, "--budget-usd", 1.5 * free["epoch_usd"])["how_many"]
    assert cheap["within"] and cheap["epoch_usd"] <= 1.5 * free["epoch_usd"] and cheap["epoch_s"] <= free["epoch_s"]
    sixteen = document(*asked, "--total-gpus", 16)
    assert (
        sixteen["how_many"]["epoch_usd"] == sixteen["offers"][0]["epoch_usd"]
        and "more" not in sixteen["how_many"]["sentence"]
    )
    assert document("scaleout", *STEP[:2], "--gpu", "MI250X", *STEP[4:], "--network", "ResNet50")["how_many"] is None


def test_the_network_between_machines_is_given_the_offer_s_own_or_unknown(document, refused):
    asked = ("scaleout", *MEASURED, "--gpus", "8,16")
    answers = {gbit: document(*asked, "--network-gbit-per-s", gbit) for gbit in (10, 100, 200, 3200)}
    ms = {gbit: answer["curve"][1]["latency_ms"] for gbit, answer in answers.items()}
    assert ms[10] > ms[100] > ms[200] > ms[3200] > 203
    assert {answer["curve"][0]["latency_ms"] for answer in answers.values()} == {
        document(*asked)["curve"][0]["latency_ms"]
    }
    unknown = document(*asked)
    assert unknown["interconnect"]["network_gbit_per_s"] is None and "unknown" in unknown["warnings"][0]
    sixteen = unknown["curve"][1]
    assert sixteen["low_ms"] < ms[100] < sixteen["latency_ms"] < ms[10] < sixteen["high_ms"]
    assert document(*asked, "--instance", "p3.16xlarge")["interconnect"]["network_gbit_per_s"] == 25
    own = document(*asked, "--gpus", 4, "--gpus-per-node", 4, "--link", "pcie-3")["interconnect"]
    assert (own["gpus"], own["link"], own["link_gb_per_s"]) == (4, "pcie", 15.75)
    assert "--instance" in refused(*asked, "--instance", "p3.16xlarge", "--link", "pcie-3")
    assert "--network-gbit-per-s must be" in refused(*asked, "--network-gbit-per-s", 0)
    assert "--gpus-per-node must be" in refused(*asked, "--gpus-per-node", 0)


def test_what_nobody_measured_of_late_says_so_beside_a_shorter_step(document, run):
    """The formulas may find a shorter step than the usual one's: that is no advice."""
    asked = ("scaleout", "--step-ms", 200, "--gpu", "A100-SXM4-40GB", "--batch", 64, "--network", "MobileNetV2")
    usual, ring = (document(*asked, "--gpus", 8, *more) for more in ((), ("--strategy", "ring")))
    assert usual == ring and usual["strategy"] == "ring"
    by_strategy = usual["curve"][0]["by_strategy_ms"]
    assert by_strategy["ps-cpu"] < by_strategy["ring"] == usual["curve"][0]["latency_ms"]
    out = run(*asked)[1]
    for title in ("tree (not measured)", "ps-cpu (measured in 2017 only)", "ps-gpu (measured in 2017 only)", " ring "):
        assert title in out
    assert "(measured" not in out.partition("step latency by strategy")[0]


def test_one_process_needs_the_weight_tensors_and_stays_within_a_node(document, refused):
    assert "weight tensors" in refused("scaleout", *MEASURED, "--strategy", "one-process", "--gpus", 8)
    asked = ("scaleout", *MEASURED, "--strategy", "one-process", "--tensors", 161)
    curve = document(*asked)["curve"]
    assert [row["gpus"] for row in curve] == [1, 2, 4, 8]
    assert curve[3]["strategy"] == "one-process" and curve[3]["latency_ms"] > curve[3]["by_strategy_ms"]["ring"]
    assert [row["gpus"] for row in document(*asked, "--instance", "p3.8xlarge")["curve"]] == [1, 2, 4]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*MEASURED, "--gpus", "128"), "at most 64, not 128"),
        ((*MEASURED, "--gpus", "12", "--instance", "p3.16xlarge"), "don't fill whole machines"),
        ((*MEASURED, "--gpus", "some"), "--gpus must be"),
        ((*MEASURED, "--strategy", "gossip"), "--strategy must be one of"),
        ((*MEASURED, "--global-batch", "128", "--gpus", "8"), "batch 64 per GPU, not 16"),
        ((*MEASURED, "--instance", "p4d.24xlarge"), "measured on Tesla V100-SXM2-16GB"),
        ((*MEASURED, "--parameters", "25.6e6"), "not both"),
        ((*MEASURED, "--gpu", "A100"), "A100-SXM4-40GB, A100-SXM4-80GB"),
        ((), "TRACE or --step-ms"),
        (STEP, "--network"),
        ((*STEP[:2], *STEP[4:], "--network", "ResNet50"), "Give the GPU"),
        ((*STEP[:4], "--network", "ResNet50"), "Give the batch size"),
        (("--step-ms", "203", "--anchor", "p3.2xlarge"), "--anchor"),
    ],
)
def test_what_does_not_go_or_is_missing_is_one_line(refused, arguments, says):
    assert says in refused("scaleout", *arguments)
