"""Scale out: more GPUs on real machines, by the numbers of the core; and nodes with all their GPUs on Answer."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO

import pytest

from pages.about.accuracy.percents import format_percent
from pages.scale_out.rows import counts_of as curve_counts
from profet_cli.main import main
from profet_core import load_models
from profet_core.accuracy.scaleout_report import SCALEOUT_REPORT_NAME, load_scaleout_accuracy
from profet_core.answers.advise import NO_SCALEOUT
from profet_core.catalog.interconnects import load_interconnects
from profet_core.layers.networks import counts_of
from profet_core.scaleout.curve import usual_counts
from profet_core.scaleout.law import Strategy
from profet_core.scaleout.model import SCALEOUT_NAME
from profet_core.scaleout.offers import node_plan, stops_paying
from profet_core.scaleout.step import scaled_step
from profet_core.scaleout.work import GpuStep
from profet_core.units import format_duration, format_ms, format_significant, format_usd
from tests.pages.conftest import (
    as_version_1,
    clean,
    everything,
    go,
    has_results,
    lines,
    link,
    result_rows,
    rows,
    sentences,
    type_in,
    upload,
)
from tests.pages.expected import FIRST

MODEL = load_models().scaleout
#: A step of 100 ms at batch 64 on one V100, of a network with 25.6 million parameters.
TYPED = {"one_gpu": "typed", "one_gpu_ms": "100", "one_gpu_on": "V100", "network": "25.6M"}
STEP = GpuStep(100.0, 64, 25.6e6)


def printed(*arguments: object) -> dict:
    """The document that a command prints."""
    with redirect_stdout(StringIO()) as out:
        assert main([str(argument) for argument in (*arguments, "--format", "json")]) == 0
    return json.loads(out.getvalue())


def open_page(open_app, **query: str):
    """With every offer, retired ones too, and every column."""
    return everything(open_app("scale_out", **{"retired": "True", "rows": "all", **query}), "scale_out")


def by_instance(app) -> dict[str, dict[str, str]]:
    """Machine's name as it is shown -> its row."""
    return {f"{row['Instance']} ({row['GPU']})": row for row in result_rows(app)}


def figures(plan) -> dict[str, str]:
    """A core's plan as the page writes it."""
    return {
        "Step": format_ms(plan.step.latency_ms),
        "Speed-up": format_significant(plan.step.speed_up),
        "Epoch": format_duration(plan.epoch_s),
        "Cost": format_usd(plan.epoch_usd),
    }


def shown(row) -> dict[str, str]:
    return {name: row[name] for name in ("Step", "Speed-up", "Epoch", "Cost")}


def drawn(app) -> dict[str, dict]:
    """Name in the legend -> trace."""
    traces = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    return {one["name"]: one for one in traces if "name" in one}


# --- one number everywhere ------------------------------------------------------------------------------------------


def test_a_predicted_step_on_every_machine_is_the_core_s(open_app, core, samples, catalog):
    sample = samples[FIRST]
    app = open_page(open_app)
    assert not app.error and not app.exception
    predicted = {row.instance: row for row in core.predict(sample).predictions}
    shown_rows = by_instance(app)
    for name, words in (
        ("p4d.24xlarge", "p4d.24xlarge (8 × A100, AWS)"),
        ("g4dn.12xlarge", "g4dn.12xlarge (4 × T4, AWS)"),
        ("lambda/gpu_8x_h100_sxm5", "gpu_8x_h100_sxm5 (8 × H100, Lambda)"),
        ("gcp/g2-standard-96", "g2-standard-96 (8 × L4, GCP)"),
    ):
        one = predicted[name]
        step = GpuStep(one.latency_ms, 64, sample.profile.meta.parameters, "fp32", 128, interval=one.interval)
        assert shown(shown_rows[words]) == figures(node_plan(MODEL, step, catalog[name], images=50_000))
        assert shown_rows[words]["$ an hour"] == format_usd(catalog[name].usd_per_hour)
    several = {offer.name for offer in catalog.values() if offer.gpu_count > 1 and offer.name in predicted}
    assert len(shown_rows) == len([name for name in several if catalog[name].market == "on-demand"])


def test_the_command_says_the_same(open_app, samples):
    told = printed("scaleout", samples[FIRST].path, "--instance", "p4d.24xlarge", "--images", 50_000)
    app = open_page(open_app, out_shows="step", scale_out_open="p4d.24xlarge")
    ring = drawn(app)["ring"]
    assert ring["x"] == [row["gpus"] for row in told["curve"]]
    assert ring["y"] == [row["latency_ms"] for row in told["curve"]]
    said = [line for line in lines(app.caption) if "stop paying" in line]
    assert [line.startswith(f"× Beyond {told['last_paying']} more") for line in said] == [True] * len(said)
    assert bool(said) == (told["last_paying"] is not None)
    page = {row["Instance"]: row for row in result_rows(app)}
    offers = {row["instance"]: row for row in told["offers"]}
    for name, words in (
        ("p4d.24xlarge", "p4d.24xlarge"),
        ("lambda/gpu_8x_h100_sxm5", "gpu_8x_h100_sxm5"),
        ("gcp/n1-standard-16+4xT4", "n1-standard-16+4xT4"),
        ("azure/Standard_NC12s_v3", "NC12s_v3"),
    ):
        assert shown(page[words]) == {
            "Step": format_ms(offers[name]["latency_ms"]),
            "Speed-up": format_significant(offers[name]["speed_up"]),
            "Epoch": format_duration(offers[name]["epoch_s"]),
            "Cost": format_usd(offers[name]["epoch_usd"]),
        }
    typed = ("--step-ms", 100, "--gpu", "V100", "--batch", 64, "--parameters", "25.6M", "--images", 50_000)
    (found,) = [row for row in printed("scaleout", *typed)["offers"] if row["instance"] == "lambda/gpu_8x_v100_n"]
    row = by_instance(open_page(open_app, **TYPED))["gpu_8x_v100_n (8 × V100, Lambda)"]
    assert (row["Step"], row["Cost"]) == (format_ms(found["latency_ms"]), format_usd(found["epoch_usd"]))


def test_a_measured_step_works_without_a_profile(open_app, catalog):
    app = open_page(open_app, **TYPED)
    assert not app.error and not app.exception
    shown_rows = by_instance(app)
    assert {row["GPU"].split(" × ")[1].split(",")[0] for row in shown_rows.values()} == {"V100"}
    row = shown_rows["gpu_8x_v100_n (8 × V100, Lambda)"]
    plan = node_plan(MODEL, STEP, catalog["lambda/gpu_8x_v100_n"], images=50_000)
    assert shown(row) == figures(plan)
    assert row["One GPU's step rests on"] == "your own measurement"
    assert row["How sure"] in ("fair", "rough")


def test_machines_together_are_paid_together(open_app, catalog):
    app = open_page(open_app, **TYPED, gpus="16")
    row = by_instance(app)["2 × gpu_8x_v100_n (16 × V100, Lambda)"]
    offer = catalog["lambda/gpu_8x_v100_n"]
    assert shown(row) == figures(node_plan(MODEL, STEP, offer, images=50_000, nodes=2))
    assert row["$ an hour"] == format_usd(2 * offer.usd_per_hour)


def test_the_batch_of_all_kept_asks_for_smaller_steps(open_app, core, samples, catalog):
    sample = samples[FIRST]
    app = open_page(open_app, batch_kept="all", batch_of_all="256", gpus="8")
    step = {row.instance: row for row in core.steps_at(sample, batch_size=32, pixels=128)}["p4d.24xlarge"]
    one = GpuStep(step.latency_ms, 32, sample.profile.meta.parameters, "fp32", 128, interval=step.interval)
    plan = node_plan(MODEL, one, catalog["p4d.24xlarge"], images=50_000)
    assert plan.step.batch_size == 256
    assert shown(by_instance(app)["p4d.24xlarge (8 × A100, AWS)"]) == figures(plan)


def test_the_curve_has_the_number_that_the_table_is_of(open_app):
    app = open_page(open_app, batch_kept="all", batch_of_all="323", gpus="19")
    assert not app.error and not app.exception
    assert drawn(app)["ring"]["x"] == [1, 19] and all("19 × " in row["GPU"] for row in result_rows(app))


@pytest.mark.parametrize("gpus", [1, 3, 6, 8, 72])
def test_the_curve_has_the_command_s_numbers(catalog, gpus):
    offer = replace(catalog["p3.16xlarge"], gpu_count=gpus)
    assert tuple(curve_counts(offer, 2)) == tuple(sorted({2, *usual_counts(gpus)}))


def test_only_numbers_as_sure_as_is_asked(open_app):
    assert {row["How sure"] for row in result_rows(open_page(open_app))} == {"fair", "rough"}
    assert {row["How sure"] for row in result_rows(open_page(open_app, sureness="fair"))} == {"fair"}


def test_half_gradients_and_a_strategy_are_asked_of_the_core(open_app, catalog):
    app = open_page(open_app, **TYPED, gradients="fp16", strategy="ps-cpu")
    offer = catalog["azure/Standard_NC24s_v3"]
    half = GpuStep(100.0, 64, 25.6e6, "fp16")
    plan = node_plan(MODEL, half, offer, images=50_000, strategy="ps-cpu")
    row = by_instance(app)["NC24s_v3 (4 × V100, Azure)"]
    assert shown(row) == figures(plan)
    assert row["Gradients by"] == "parameter server on the CPU"


def test_what_was_not_measured_of_late_is_marked(open_app):
    """Of what the choices and the legend call measured, the shipped report has steps."""
    app = open_app("scale_out")
    options = app.selectbox(key="strategy").options
    assert options[0] == "ring all-reduce" and options[1] == "tree all-reduce (not measured)"
    assert [option.endswith("(measured in 2017 only)") for option in options[2:]] == [True, True]
    assert {"ring", "tree, not measured", "server on CPU, 2017", "server on GPUs, 2017"} <= set(drawn(app))
    report = json.loads((load_models().folder / SCALEOUT_REPORT_NAME).read_text())["data_sets"]
    measured = {name: set(data["networks"]["by_strategy"]) for name, data in report.items()}
    assert measured == {"tensorflow 2017": {"ring", "ps-cpu", "ps-gpu"}, "throughputs": {"ring", "one-process"}}


def test_a_network_by_name_is_counted_at_the_profile_s_size(open_app):
    app = open_page(open_app, network="vgg16")
    parameters = counts_of("VGG16", 128).parameters
    assert f"= VGG16, {parameters / 1e6:.1f}M parameters" in lines(app.caption)


def test_a_machine_that_a_step_does_not_fit_on_comes_last_and_stands_for_no_other(open_app):
    app = open_page(open_app, batch="256", pixels="256", sample="vgg16-224px-b16-g3s")
    fits = ["does not fit" in row["Memory"] for row in result_rows(app)]
    assert True in fits and False in fits and fits == sorted(fits)
    few = everything(open_app("scale_out", batch="256", pixels="256", sample="vgg16-224px-b16-g3s"), "scale_out")
    assert not [row for row in result_rows(few) if "does not fit" in row["Memory"]]


# --- the chart ------------------------------------------------------------------------------------------------------


def test_the_curves_start_at_one_gpu_s_step_and_mark_where_more_stop_paying(open_app, catalog):
    app = open_page(open_app, **TYPED, out_shows="step", scale_out_open="lambda/gpu_8x_v100_n")
    assert any("8 × Tesla V100-SXM2-16GB" in line for line in lines(app.markdown))
    traces, offer = drawn(app), catalog["lambda/gpu_8x_v100_n"]
    ring = traces["ring"]
    assert ring["x"] == [1, 2, 4, 8, 16, 32, 64] and ring["y"][0] == 100.0
    links = load_interconnects().of(offer)
    expected = [scaled_step(MODEL, STEP, links, gpus, Strategy.RING).latency_ms for gpus in ring["x"]]
    assert ring["y"] == pytest.approx(expected)
    steps = [-(-50_000 // (64 * gpus)) for gpus in ring["x"]]
    times = [count * ms for count, ms in zip(steps, ring["y"], strict=True)]
    nodes = [1, 1, 1, 1, 2, 4, 8]
    last = stops_paying(times, [time * count for time, count in zip(times, nodes, strict=True)])
    assert traces["more stop paying"]["x"] == [ring["x"][last]]


@pytest.mark.parametrize("shows", ["speed_up", "step", "time", "cost"])
def test_the_band_holds_the_line_and_no_speed_up_is_more_than_perfect(open_app, shows):
    app = open_page(open_app, out_shows=shows)
    traces = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    (band,) = [one for one in traces if one.get("fill") == "toself"]
    line = drawn(app)["ring"]
    count = len(line["x"])
    lows, highs = band["y"][:count], band["y"][count:][::-1]
    for low, value, high in zip(lows, line["y"], highs, strict=True):
        assert low <= value * (1 + 1e-9) and value <= high * (1 + 1e-9)
    assert ("perfect" in drawn(app)) == (shows == "speed_up")
    if shows == "speed_up":
        for gpus, value, high in zip(line["x"], line["y"], highs, strict=True):
            assert value <= gpus and high <= gpus


# --- what is missing or wrong is one line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ({"network": "my secret net"}, "'my secret net' is no network that is known by name: give its parameters"),
        ({"network": "5e13"}, "The number of parameters must be from 1 to"),
        ({"network": "0"}, "Give a whole number above 0"),
        ({"provider": "lambda", "gpu": "V100", "gpus": "12"}, "No offer makes 12 GPUs of whole machines"),
        ({"batch_kept": "all", "batch_of_all": "7"}, "A batch of 7 can't be shared that way"),
        ({"sureness": "good"}, "No number is good: the surest is fair."),
        ({"gpu_count": "1"}, "None of these offers has several GPUs"),
        ({**TYPED, "batch_kept": "all"}, "A batch of 64 can't be shared that way"),
        ({**TYPED, "one_gpu_on": "M60", "retired": "False"}, "Nothing is known of a step on these offers"),
    ],
)
def test_what_is_wrong_is_one_line(open_app, query, line):
    app = open_app("scale_out", **query)
    (said,) = lines(app.error)
    assert said.startswith(line) and "\n" not in said
    assert not app.exception and not has_results(app)


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ({"one_gpu": "typed"}, "Give a step's time on one GPU"),
        ({"one_gpu": "typed", "one_gpu_ms": "100"}, "Give a step's time on one GPU"),
        ({**TYPED, "network": ""}, "Say in the sidebar"),
    ],
)
def test_what_is_missing_is_asked_for(open_app, query, line):
    app = open_app("scale_out", **query)
    assert [said.startswith(line) for said in lines(app.info)] == [True]
    assert not app.error and not has_results(app)


@pytest.mark.parametrize(
    "query",
    [
        {"gpus": "65"},
        {"gpus": "1"},
        {"strategy": "carrier pigeon"},
        {"gradients": "fp8"},
        {"one_gpu_ms": "-3"},
        {"network": "x" * 61},
        {"scale_out_open": "no such machine"},
        {"scale_out_sort": "total; drop"},
    ],
)
def test_a_link_that_makes_no_sense_is_as_good_as_none(open_app, query):
    app = open_app("scale_out", **query)
    assert not app.error and not app.exception
    assert result_rows(app) == result_rows(open_app("scale_out"))


def test_a_link_brings_the_same_view_back(open_app):
    query = {
        **TYPED,
        "one_gpu_batch": "32",
        "gradients": "fp16",
        "strategy": "tree",
        "gpus": "8",
        "out_shows": "cost",
        "images": "1000",
        "provider": "gcp",
    }
    app = open_app("scale_out", **query)
    assert not app.error and link(app) == query
    assert result_rows(open_app("scale_out", **link(app))) == result_rows(app)
    state = app.session_state
    assert (state["one_gpu_ms"], state["gpus"], state["strategy"], state["network"]) == (100.0, 8, "tree", "25.6M")


# --- on Answer ------------------------------------------------------------------------------------------------------


def test_on_answer_a_node_is_one_gpu_until_all_of_them_are_asked_for(open_app, core, samples, catalog):
    sample = samples[FIRST]
    as_before = {row["GPU"]: row for row in result_rows(everything(open_app(gpu_count="8", epochs="1")))}
    assert any("(1 of 8)" in gpu for gpu in as_before)
    app = everything(open_app(gpu_count="8", epochs="1", whole_nodes="True"))
    assert not app.error and not app.exception
    row = next(one for one in result_rows(app) if one["Instance"] == "p4d.24xlarge")
    one = {step.instance: step for step in core.predict(sample).predictions}["p4d.24xlarge"]
    step = GpuStep(one.latency_ms, 64, sample.profile.meta.parameters, "fp32", 128, interval=one.interval)
    plan = node_plan(MODEL, step, catalog["p4d.24xlarge"], images=50_000)
    assert row["GPU"].startswith("8 × A100, AWS")
    assert (row["Step"], row["Time"], row["Cost"]) == (
        format_ms(plan.step.latency_ms),
        format_duration(plan.epoch_s),
        format_usd(plan.epoch_usd),
    )
    assert row["Images a second"] == format_significant(plan.step.images_per_s)
    assert row["How sure"] != "good"


def test_what_scale_out_was_told_of_the_network_counts_on_answer_too(open_app):
    app = open_app("scale_out", gpu_count="8", provider="aws", rows="all")
    app.selectbox(key="network").set_value("VGG16").run()
    told = {row["Instance"]: row for row in result_rows(everything(app, "scale_out"))}
    answered = everything(type_in(go(app, "answer"), "epochs", 1))
    assert answered.session_state["whole_nodes"] and answered.query_params["network"] == "VGG16"
    answers = {row["Instance"]: row for row in result_rows(answered)}
    for name in ("p4d.24xlarge", "p5.48xlarge", "g6.48xlarge"):
        assert (answers[name]["Time"], answers[name]["Cost"]) == (told[name]["Epoch"], told[name]["Cost"])


def test_gradients_sent_in_half_are_scale_out_s_alone(open_app):
    """Answer doesn't ask for them, and `profet advise` neither."""
    query = {"gpu_count": "8", "provider": "aws", "whole_nodes": "True", "network": "VGG16"}
    whole = result_rows(everything(open_app(**query)))
    halved = everything(open_app(**query, gradients="fp16"))
    assert result_rows(halved) == whole and "gradients" not in link(halved)
    app = open_app("scale_out", gpu_count="8", provider="aws", network="VGG16", gradients="fp16")
    fp32 = open_app("scale_out", gpu_count="8", provider="aws", network="VGG16")
    assert result_rows(app) != result_rows(fp32) and link(app)["gradients"] == "fp16"
    app.session_state["whole_nodes"] = True
    assert result_rows(everything(go(app, "answer"))) == whole


def test_where_nobody_knows_the_parameters_a_node_stays_one_gpu(open_app, samples):
    app = open_app(gpu_count="8", whole_nodes="True", profiled_batch="64")
    upload(app, ("mine.json", as_version_1(samples[FIRST].profile.operations)))
    assert not app.exception
    assert all("(1 of 8)" in row["GPU"] for row in result_rows(app))
    wrong = open_app(gpu_count="8", whole_nodes="True", network="no net")
    assert lines(wrong.error) == ["'no net' is no network that is known by name: give its parameters, as 25.6M."]
    assert all("(1 of 8)" in row["GPU"] for row in result_rows(wrong))


def test_a_step_of_a_node_has_all_its_images(open_app):
    app = everything(open_app(gpu_count="8", whole_nodes="True", per="step"))
    row = next(one for one in result_rows(app) if one["Instance"] == "p4d.24xlarge")
    assert row["Time"] == row["Step"]


# --- how far off it was ---------------------------------------------------------------------------------------------


def test_the_page_and_about_say_the_report_s_figures(open_app, models):
    accuracy = load_scaleout_accuracy(models.scaleout, models.folder)
    for strategy in ("ring", "ps-cpu"):
        data_sets = [data.networks.by_strategy for data in accuracy.data_sets.values()]
        found = [errors[strategy] for errors in data_sets if strategy in errors]
        said = " ".join(clean(line) for line in lines(open_app("scale_out", strategy=strategy).caption))
        errors = " and ".join(f"{each.mape:.1f} %" for each in found)
        perfect = " and ".join(f"{each.perfect_mape:.1f} %" for each in found)
        assert f"by {Strategy(strategy).words}, on networks left out" in said
        assert f"their mean error was {errors} ({perfect} if scaling were perfect)." in said
    tree = " ".join(clean(line) for line in lines(open_app("scale_out", strategy="tree").caption))
    assert "no measurement checks tree all-reduce." in tree and "mean error" not in tree
    about = open_app("about", open="accuracy", part="scaleout")
    assert not about.error and not about.exception
    told = [(row["Left out"], row["Mean error"], row["Perfect"], row["Steps"]) for row in rows(about, 0)]
    assert told == [
        (what, format_percent(each.every.mape), format_percent(each.every.perfect_mape), f"{each.every.n:,}")
        for data in accuracy.data_sets.values()
        for what, each in (("network", data.networks), ("GPU model", data.gpus))
    ]
    assert {row["Gradients by"] for row in rows(about, 1)} >= {Strategy.RING.words, Strategy.PS_CPU.words}
    captions = " ".join(clean(line) for line in lines(about.caption))
    for data in accuracy.data_sets.values():
        also = data.with_excluded
        assert f"{also.n:,} steps: {also.mape:.1f} % off, a network left out" in captions
    assert any(f"{accuracy.on_64.mape:.1f} %" in clean(line) for line in sentences(about))


def test_a_damaged_report_takes_the_sentence_away_and_about_says_so(open_app, serve_report):
    serve_report(SCALEOUT_REPORT_NAME, "{}")
    app = open_app("scale_out")
    assert not app.error and has_results(app)
    assert "mean error" not in " ".join(lines(app.caption))
    (said,) = lines(open_app("about", open="accuracy", part="scaleout").error)
    assert "profet validate --scaleout --card" in said


def test_models_that_say_nothing_of_several_gpus_are_one_line_and_answer_goes_on(open_app, serve_report):
    serve_report(SCALEOUT_NAME, None)
    assert lines(open_app("scale_out").error) == [NO_SCALEOUT]
    app = open_app(gpu_count="8", whole_nodes="True")
    assert not app.error and all("(1 of 8)" in row["GPU"] for row in result_rows(app))
