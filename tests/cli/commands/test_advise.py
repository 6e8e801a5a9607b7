"""`profet advise`: its JSON, its numbers against the library's, its text, and one line for everything that is wrong."""

from __future__ import annotations

import json
from html import escape

import pytest

from profet_core import predict
from profet_core.advice.advise import advise
from profet_core.advice.comparison import compare
from profet_core.advice.headline import headline
from profet_core.advice.request import Limits, Workload
from profet_core.advice.words import answer_sentences
from profet_core.catalog.offers import offers_in_market
from profet_core.latency import Basis
from profet_core.layers.networks import counts_of
from profet_core.scaleout.offers import node_plan
from profet_core.scaleout.work import GpuStep

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

    def ask(limits: Limits | None = None, *, offers=None, **choices: object):
        prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
        workload = Workload(IMAGES, sample.batch_size, EPOCHS)
        return advise(prediction.predictions, offers or offers_in_market(catalog), workload, limits, **choices)

    return ask


def test_the_json_says_what_the_library_says(document, asked, expected):
    answer = document(*asked, "--deadline-hours", 3, "--budget-usd", 20, "--include-retired")
    advice = expected(Limits(3, 20), include_retired=True)
    assert list(answer) == [
        "anchor",
        "workload",
        "deadline_h",
        "budget_usd",
        "answer",
        "plans",
        "fastest",
        "cheapest",
        "within",
        "frontier",
        "upgrades",
        "beaten",
        "left_out",
        "comparison",
        "warnings",
    ]
    assert answer["answer"] == {"plan": advice.answer.label, "sentences": list(answer_sentences(advice))}
    assert [row["plan"] for row in answer["plans"]] == [plan.label for plan in advice.plans]
    for row, plan in zip(answer["plans"], advice.plans, strict=True):
        for name in ("total_s", "total_usd", "in_time", "in_budget", "basis"):
            assert row[name] == getattr(plan, name)
        for name in ("low_s", "high_s", "low_usd", "high_usd"):
            assert row[name] == (plan.interval and getattr(plan.interval, name))
        assert (row["usd_per_hour"], row["gpu_count"]) == (plan.offer.usd_per_hour, plan.offer.gpu_count)
    assert answer["cheapest"]["certainty"] == advice.cheapest.rival.certainty
    assert answer["within"]["sure"] == advice.within.sure.label
    assert answer["frontier"] == [plan.label for plan in advice.frontier]
    assert [one["hours_per_usd"] for one in answer["upgrades"]] == [one.hours_per_usd for one in advice.upgrades]
    assert (answer["left_out"], answer["comparison"]) == ([], None)
    assert answer["workload"] == {"images": IMAGES, "batch_size": 64, "epochs": EPOCHS, "validation_images": 0}


def test_retired_instances_are_left_out_with_their_reason(document, asked, catalog):
    answer = document(*asked)
    assert all(row["status"] == "available" for row in answer["plans"])
    retired = {name for name, row in catalog.items() if row.status == "retired"}
    assert {row["instance"] for row in answer["left_out"]} >= retired
    assert answer["within"] is None


def test_own_prices_and_a_guess_of_spot_prices(document, asked, expected, catalog):
    own = document(*asked, "--include-retired", "--price", "p3.2xlarge=0.01")
    assert own["answer"]["plan"] == "p3.2xlarge own price"
    guessed = document(*asked, "--market", "spot", "--spot-discount", 0.75)
    row = next(row for row in guessed["plans"] if row["instance"] == "g4dn.xlarge")
    if not any(offer.market == "spot" for offer in catalog.offers("g4dn.xlarge")):
        assert row["usd_per_hour"] == pytest.approx(0.25 * catalog["g4dn.xlarge"].usd_per_hour)
    assert row["market"] == "spot"
    assert any("can be taken back at any time" in line for line in guessed["answer"]["sentences"])


def test_two_instances_are_compared(document, asked, expected):
    answer = document(*asked, "--include-retired", "--compare", "p3.2xlarge, g4dn.xlarge")
    plans = {plan.label: plan for plan in expected(include_retired=True).plans}
    found = compare(plans["p3.2xlarge"], plans["g4dn.xlarge"])
    shown = answer["comparison"]
    assert (shown["a"], shown["b"]) == ("p3.2xlarge", "g4dn.xlarge")
    for name in ("faster", "cheaper", "latency_ratio", "break_even_ratio", "break_even_usd_per_hour"):
        assert shown[name] == getattr(found, name)
    assert shown["break_even_ratio"] == pytest.approx(0.526 / 3.06)


def test_the_text_answers_first(run, asked, expected):
    status, out, _ = run(*asked, "--deadline-hours", 6, "--include-retired", "--compare", "p3.2xlarge,g4dn.xlarge")
    advice = expected(Limits(6), include_retired=True)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == answer_sentences(advice)[0]
    assert "in time" in lines[len(answer_sentences(advice)) + 1]
    for title in ("Basis:", "Picks:", "What more money buys:"):
        assert title in lines
    assert f"  measured: {Basis.MEASURED.words}" in lines
    assert "p3.2xlarge against g4dn.xlarge:" in lines


def test_another_batch_size_is_less_sure(document, samples):
    asked = ("advise", samples["resnet50-128px-b16-g4dn"].path, "--anchor", "g4dn.xlarge", "--images", IMAGES)
    answers = {
        at: document(*asked, "--include-retired", "--at-batch", at, "--deadline-hours", 5) for at in (16, 32, 256)
    }
    assert [answer["workload"]["batch_size"] for answer in answers.values()] == [16, 32, 256]
    known = {row["instance"]: row["basis"] for row in answers[256]["plans"]}
    assert {known[name] for name in ("g4dn.xlarge", "g3s.xlarge", "p2.xlarge", "p3.2xlarge")} == {"carried"}
    assert all(basis != "measured" for basis in known.values())
    widths = []
    for at in (32, 256):
        rows = {row["instance"]: row for row in answers[at]["plans"]}
        assert all("carried from batch 16" in row["rests_on"] for row in rows.values())
        assert None not in {row["in_time"] for row in rows.values()}
        widths.append({name: row["high_s"] / row["low_s"] for name, row in rows.items()})
    assert all(widths[1][name] > width for name, width in widths[0].items())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--deadline-hours", "-1"], "The deadline in hours must be a number above 0, not -1.0."),
        (["--budget-usd", "0"], "The budget in US dollars must be a number above 0, not 0.0."),
        (["--certainty", "90"], "The certainty must be a share from 0.5 to less than 1, such as 0.9, not 90."),
        (["--spot-discount", "60"], "The spot discount must be a share between 0 and 1, such as 0.6, not 60."),
        (["--region", "mars"], "No offer has region mars: choose one of "),
        (["--price", "g9.huge=1"], "Unknown instance 'g9.huge'"),
        (["--compare", "g4dn.xlarge"], "--compare takes two of "),
        (["--compare", "g4dn.xlarge,p2.xlarge"], "not 'p2.xlarge'."),
        (["--epochs", "0"], "The number of epochs must be a whole number of at least 1, not 0."),
        (["--market", "black"], "argument --market: invalid choice: 'black'"),
    ],
)
def test_bad_arguments_get_one_line(refused, asked, arguments, line):
    assert line in refused(*asked, *arguments)


def test_nothing_to_choose_from_says_why(refused, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    line = refused(
        *("advise", sample.path, "--anchor", sample.anchor, "--images", 100, "--without-latency"),
        *("--price", "g3s.xlarge=1", "--market", "reserved"),
    )
    assert line.startswith("There is nothing to choose from (g3s.xlarge: its latency is not given; ")
    assert "g4dn.xlarge: no price in this market" in line


def test_the_document_is_plain_json(run, asked):
    _, out, _ = run(*asked, "--format", "json")
    assert json.loads(out)["plans"]


def test_what_does_not_fit_in_memory_is_left_out(document, sample, tmp_path):
    content = json.loads(sample.path.read_text())
    content["meta"]["peak_memory_mib"] = 14_000
    path = tmp_path / "large.json"
    path.write_text(json.dumps(content))
    answer = document(
        "advise", path, "--anchor", sample.anchor, "--images", IMAGES, "--include-retired", "--deadline-hours", 5
    )
    left_out = {row["instance"]: row["reason"] for row in answer["left_out"]}
    assert left_out["g3s.xlarge"].startswith("does not fit in memory: "), "14 GB in 8"
    assert "g3s.xlarge" not in {row["instance"] for row in answer["plans"]}
    assert "g4dn.xlarge" in {row["instance"] for row in answer["plans"]}, "where it ran it fits"


def test_the_report_is_written_beside_what_is_printed(run, asked, expected, tmp_path):
    path = tmp_path / "answer.html"
    status, out, _ = run(*asked, "--report", path)
    page = path.read_text()
    assert status == 0 and answer_sentences(expected())[0] in out
    assert escape(headline(expected())) in page and "resnet50-128px-b64-g4dn" in page


def test_a_report_that_can_t_be_written_is_one_line(refused, asked, tmp_path):
    assert "can't be written" in refused(*asked, "--report", tmp_path / "missing" / "answer.html")
    assert "can't be written" in refused(*asked, "--report", tmp_path)


def test_a_report_never_takes_the_place_of_the_trace(refused, sample, asked, tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_bytes(sample.path.read_bytes())
    asked[1] = trace
    assert "is a trace that was read" in refused(*asked, "--report", trace)
    assert trace.read_bytes() == sample.path.read_bytes()


def test_the_text_shows_the_cheapest_offer_of_each_gpu_and_what_is_picked(run, document, asked):
    answer, out = document(*asked), run(*asked)[1].splitlines()
    hidden = next(line for line in out if "not shown" in line)
    shown = {line.split()[0] for line in out if line} & {plan["plan"] for plan in answer["plans"]}
    assert hidden.startswith(f"{len(answer['plans']) - len(shown)} more offers of the same GPUs are not shown")
    assert {answer["answer"]["plan"], answer["fastest"]["plan"], *answer["frontier"]} <= shown
    lowest = {plan["gpu"]: plan["usd_per_hour"] for plan in sorted(answer["plans"], key=lambda p: -p["usd_per_hour"])}
    prices = {(plan["gpu"], plan["usd_per_hour"]) for plan in answer["plans"] if plan["plan"] in shown}
    assert set(lowest.items()) <= prices
    every = run(*asked, "--every-offer")[1].splitlines()
    assert {plan["plan"] for plan in answer["plans"]} <= {line.split()[0] for line in every if line}


def test_advice_is_of_the_offers_asked_for(document, asked):
    answer = document(*asked, "--cloud", "gcp,verda", "--market", "any", "--gpu", "V100,T4", "--sureness", "good")
    assert {plan["provider"] for plan in answer["plans"]} == {"gcp", "verda"}
    assert {plan["market"] for plan in answer["plans"]} == {"on-demand", "spot"}
    assert {plan["basis"] for plan in answer["plans"]} <= {"measured", "given"}
    assert answer["answer"]["plan"] == "verda/1V100.6V"


def test_whole_nodes_are_answered_with_all_their_gpus(document, asked, sample, models, catalog):
    asked = [*asked, "--gpu-count", 8, "--provider", "aws"]
    one = {row["instance"]: row for row in document(*asked)["plans"]}
    found = {row["instance"]: row for row in document(*asked, "--whole-nodes")["plans"]}
    assert (one["p4d.24xlarge"]["gpus"], one["p4d.24xlarge"]["batch_size"]) == (1, 64)
    predicted = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for name in ("p4d.24xlarge", "p5.48xlarge", "g6.48xlarge"):
        row = next(row for row in predicted.predictions if row.instance == name)
        step = GpuStep(row.latency_ms, 64, sample.profile.meta.parameters, pixels=sample.pixels, interval=row.interval)
        plan = node_plan(models.scaleout, step, catalog[name], images=IMAGES)
        told = found[name]
        assert (told["gpus"], told["batch_size"], told["latency_ms"]) == (8, 512, plan.step.latency_ms)
        assert told["total_s"] == pytest.approx(EPOCHS * plan.epoch_s, rel=1e-12)
        assert told["total_usd"] == pytest.approx(EPOCHS * plan.epoch_usd, rel=1e-12)
        assert told["low_s"] < told["total_s"] < told["high_s"] and told["total_s"] < one[name]["total_s"] / 4
        assert told["note"].startswith("all 8 GPUs train: 512 images a step")
        assert "speed of one" not in told["note"] and "latency of one GPU" not in told["rests_on"]


def test_more_parameters_are_never_faster_and_a_network_is_its_parameters(document, asked):
    asked = [*asked, "--gpu-count", 8, "--provider", "gcp"]
    times = []
    for given in (("--parameters", "1M"), ("--parameters", "25.6M"), ("--parameters", "138M")):
        times.append({row["instance"]: row["total_s"] for row in document(*asked, *given)["plans"]})
    for name, total_s in times[0].items():
        assert total_s <= times[1][name] <= times[2][name]
    named = document(*asked, "--network", "vgg16")["plans"]
    counted = document(*asked, "--parameters", counts_of("VGG16", 128).parameters)["plans"]
    assert [row["total_s"] for row in named] == [row["total_s"] for row in counted]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["--network", "no net"], "'no net' is no network that is known by name"),
        (["--parameters", "many"], '"many" is no number'),
        (["--parameters", "9e13"], "The number of parameters must be from 1 to"),
        (["--network", "VGG16", "--parameters", "1M"], "not both"),
    ],
)
def test_what_is_no_network_is_one_line(refused, asked, given, line):
    assert line in refused(*asked, *given)


def test_whole_nodes_of_a_profile_that_says_no_parameters(refused, asked, sample, tmp_path):
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"operations": dict(sample.profile.operations), "meta": {"batch_size": 64}}))
    line = refused("advise", bare, *asked[2:], "--whole-nodes")
    assert "--network" in line and "--parameters" in line
