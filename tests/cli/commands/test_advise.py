"""`profet advise`: its JSON, its numbers against the library's, its text, and one line for everything that is wrong."""

from __future__ import annotations

import json
from html import escape

import pytest

from profet_core import predict
from profet_core.advice.advise import advise
from profet_core.advice.plans import Limits, Workload
from profet_core.advice.words import answer_sentences
from profet_core.catalog.collection import offers_in_market
from profet_core.latency import Basis

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
    assert {one["reason"] for one in answer["left_out"]} == {"no price in this market"}
    assert answer["comparison"] is None
    assert answer["workload"] == {"images": IMAGES, "batch_size": 64, "epochs": EPOCHS, "validation_images": 0}


def test_the_text_answers_first(run, asked, expected):
    status, out, _ = run(*asked, "--deadline-hours", 6, "--include-retired", "--compare", "p3.2xlarge,g4dn.xlarge")
    advice = expected(Limits(6), include_retired=True)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == answer_sentences(advice)[0]
    assert "in time" in lines[len(answer_sentences(advice)) + 1]
    for title in ("Basis:", "Recommendations:", "Faster for more money:"):
        assert title in lines
    assert f"  measured: {Basis.MEASURED.words}" in lines
    assert "p3.2xlarge vs. g4dn.xlarge:" in lines


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--deadline-hours", "-1"], "deadline in hours"),
        (["--budget-usd", "0"], "budget in US dollars"),
        (["--certainty", "90"], "not 90"),
        (["--spot-discount", "60"], "not 60"),
        (["--region", "mars"], "No offer has region mars"),
        (["--compare", "g4dn.xlarge"], "--compare takes two of"),
        (["--compare", "g4dn.xlarge,p2.xlarge"], "not 'p2.xlarge'"),
        (["--market", "black"], "--market: invalid choice"),
        (["--network", "no net"], "Unknown network 'no net'"),
        (["--parameters", "many"], '"many" is not a number'),
        (["--parameters", "9e13"], "parameters must be from 1 to"),
        (["--network", "VGG16", "--parameters", "1M"], "not both"),
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
    assert "g3s.xlarge: no latency given" in line and "g4dn.xlarge: no price in this market" in line


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


def test_advice_is_of_the_offers_asked_for(document, asked):
    answer = document(*asked, "--provider", "gcp,verda", "--market", "any", "--gpu", "V100,T4", "--confidence", "good")
    assert {plan["provider"] for plan in answer["plans"]} == {"gcp", "verda"}
    assert {plan["market"] for plan in answer["plans"]} == {"on-demand", "spot"}
    assert {plan["basis"] for plan in answer["plans"]} <= {"measured", "given"}
    assert answer["answer"]["plan"] == "verda/1V100.6V"


def test_whole_nodes_of_a_profile_that_says_no_parameters(refused, asked, sample, tmp_path):
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"operations": dict(sample.profile.operations), "meta": {"batch_size": 64}}))
    line = refused("advise", bare, *asked[2:], "--whole-nodes")
    assert "--network" in line and "--parameters" in line
