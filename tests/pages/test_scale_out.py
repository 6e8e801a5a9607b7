"""Scale out: more GPUs on real machines, with the numbers of the core, of the command and of Predict."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO

import pytest

from profet_cli.main import main
from profet_core import load_models
from profet_core.catalog.interconnects import load_interconnects
from profet_core.offers import cost_usd
from profet_core.training.cost import Workload
from profet_core.training.scaling_model import Strategy
from profet_core.training.several_gpus import OneGpuStep, scaled_step
from profet_profiles.units import MS_PER_S, format_ms, format_significant, format_usd, shared_time_unit
from tests.pages.conftest import ALL_COLUMNS, as_version_1, has_results, lines, result_rows, say_missing, upload
from ui.words import plain

MODEL = load_models().scaleout
SAMPLE = "resnet50-128px-b64-g4dn"
V100 = "Tesla V100-SXM2-16GB"
#: A step of 100 ms at batch 64 on one V100, of a network with 25.6 million parameters.
TYPED = {"one_gpu": "typed", "step_ms": "100", "one_gpu_on": V100, "network": "25.6M", "images": "50000"}


def printed(*arguments: object) -> dict:
    """The document that a command prints."""
    with redirect_stdout(StringIO()) as out:
        assert main([str(argument) for argument in (*arguments, "--format", "json")]) == 0
    return json.loads(out.getvalue())


def open_page(open_app, **query: str):
    """With every offer, retired ones too, and every column."""
    columns = ",".join(ALL_COLUMNS["scale_out"])
    every = {"sample": SAMPLE, "images": "50000", "retired": "True", "preset": "all", "scale_out_columns": columns}
    return open_app("scale_out", **{**every, **query})


def by_instance(app) -> dict[str, dict[str, str]]:
    return {row["Code"].partition(", ")[0]: row for row in result_rows(app)}


def figures(row) -> tuple[str, ...]:
    return tuple(row[name].removesuffix("×") for name in ("Step", "Speed-up", "Epoch time", "Epoch cost"))


def drawn(app) -> dict[str, dict]:
    """Name in the legend -> trace."""
    traces = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    return {one["name"]: one for one in traces if "name" in one}


def test_the_page_says_what_the_command_says(open_app, samples):
    path = samples[SAMPLE].path
    stated = printed("scaleout", path, "--instance", "p4d.24xlarge", "--images", 50_000, "--market", "on-demand")
    app = open_page(open_app, out_shows="step", scale_out_open="p4d.24xlarge")
    assert not app.error and not app.exception
    ring = drawn(app)["Ring all-reduce"]
    # Up to four machines.
    curve = [row for row in stated["curve"] if row["gpus"] <= 32]
    assert (ring["x"], ring["y"]) == ([row["gpus"] for row in curve], [row["latency_ms"] for row in curve])
    keys = {row["instance"]: row for row in stated["offers"]}
    shown = result_rows(app)
    unit = shared_time_unit(offer["epoch_s"] for offer in stated["offers"])
    assert len(shown) == len(stated["offers"])
    for name, machine in (("p4d.24xlarge", "p4d.24xlarge"), ("lambda/gpu_8x_h100_sxm5", "gpu_8x_h100_sxm5")):
        offer = keys[name]
        assert figures(by_instance(app)[machine]) == (
            format_ms(offer["latency_ms"]),
            format_significant(offer["speed_up"]),
            unit.words(offer["epoch_s"]),
            format_usd(offer["epoch_usd"]),
        )


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_measured_step_counts_for_its_gpu_and_machines_are_paid_together(open_app, catalog, nodes):
    offer = catalog["lambda/gpu_8x_v100_n"]
    app = open_page(open_app, **TYPED, **({"total_gpus": "16"} if nodes == 2 else {}))
    assert not app.error and not app.exception
    row = by_instance(app)["gpu_8x_v100_n" if nodes == 1 else "2 × gpu_8x_v100_n"]
    links, gpus = load_interconnects().of(offer), nodes * offer.gpu_count
    step = scaled_step(MODEL, OneGpuStep(100.0, 64, 25.6e6), links, gpus, Strategy.RING)
    epoch_ms = 1000 * Workload(50_000, step.batch_size).duration_s(step.latency_ms)
    assert figures(row) == (
        format_ms(step.latency_ms),
        format_significant(step.speed_up),
        row["Epoch time"],
        format_usd(cost_usd(epoch_ms, nodes * offer.usd_per_hour)),
    )
    # With the month of the price.
    assert row["$/h"].partition(" · ")[0] == format_usd(nodes * offer.usd_per_hour)
    number, unit = row["Epoch time"].split(" ")
    assert number == format_significant(epoch_ms / MS_PER_S / {"s": 1, "min": 60, "h": 3_600}[unit])
    having = [one for one in catalog.values() if one.gpu == V100]
    assert offer in having and len(result_rows(app)) <= len(having)


def test_a_step_typed_for_one_gpu_is_not_used_for_another(open_app):
    app = open_page(open_app, **TYPED)
    app.selectbox(key="one_gpu_on").set_value("Tesla T4").run()
    assert app.number_input(key="step_ms").value is None and "100 ms was for Tesla V100-SXM2-16GB." in lines(
        app.caption
    )
    app.button(key="aside:step_ms").click().run()
    assert app.number_input(key="step_ms").value == 100 and not app.error
    app.number_input(key="step_ms").set_value(300).run()
    app.selectbox(key="one_gpu_on").set_value(V100).run()
    assert app.number_input(key="step_ms").value is None
    app.selectbox(key="one_gpu_on").set_value("Tesla T4").run()
    assert app.number_input(key="step_ms").value == 300


def test_the_name_of_the_file_says_the_network(open_app, samples):
    given = as_version_1(samples["vgg16-224px-b16-g3s"].profile.operations)
    app = upload(open_app("scale_out"), ("vgg16_224ds_16bs.json", given))
    assert has_results(app) and not app.error
    assert app.selectbox(key="network").proto.placeholder == "vgg16, 138M parameters"
    given = as_version_1(samples["alexnet-64px-b128-p2"].profile.operations)
    app = upload(open_app("scale_out"), ("profile.json", given))
    say_missing(app, batch_size=16, pixels=224)
    assert not has_results(app) and not app.error and "number of parameters" in lines(app.info)[-1]
    app.selectbox(key="network").set_value("vgg16").run()
    assert has_results(app)


def test_a_global_batch_is_shared(open_app, samples):
    stated = printed(
        "scaleout", samples[SAMPLE].path, "--global-batch", 256, "--total-gpus", 8, "--images", 50_000,
        "--market", "on-demand",
    )  # fmt: skip
    app = open_page(open_app, batch_kept="all", batch_of_all="256", gpus="8")
    (offer,) = [row for row in stated["offers"] if row["instance"] == "p4d.24xlarge"]
    assert (offer["batch_size"], offer["batch_per_gpu"]) == (256, 32)
    assert figures(by_instance(app)["p4d.24xlarge"])[0] == format_ms(offer["latency_ms"])


def test_the_curve_marks_where_cost_rises_faster_than_speed(open_app, samples):
    stated = printed(
        "scaleout", "--step-ms", 100, "--batch", 64, "--gpu", V100, "--parameters", 25.6e6,
        "--instance", "lambda/gpu_8x_v100_n", "--images", 50_000,
    )  # fmt: skip
    app = open_page(open_app, **TYPED, out_shows="cost", scale_out_open="lambda/gpu_8x_v100_n")
    traces = drawn(app)
    assert set(traces) == {"Ring all-reduce", "Beyond this, more GPUs cost more than they save"}
    assert traces["Ring all-reduce"]["y"] == pytest.approx(
        [row["epoch_usd"] for row in stated["curve"] if row["gpus"] <= 32]
    )
    assert traces["Beyond this, more GPUs cost more than they save"]["x"] == [stated["last_paying"]]


def test_how_many_gpus_is_first_and_follows_deadline_and_network(open_app, samples):
    asked = ("scaleout", samples[SAMPLE].path, "--images", 50_000, "--epochs", 90, "--market", "on-demand")
    limits = ("--deadline-hours", 0.2, "--network-gbit-per-s", 3200)
    stated = [printed(*asked)["how_many"], printed(*asked, *limits)["how_many"]]
    app = open_page(open_app)
    assert app.main.markdown[0].value == f"## {plain(stated[0]['sentence'])}"
    app = open_page(open_app, deadline_h="0.2", machine_network="3200")
    assert app.main.markdown[0].value == f"## {plain(stated[1]['sentence'])}"
    assert stated[1]["gpus"] > stated[0]["gpus"] and stated[1]["nodes"] > 1


@pytest.mark.parametrize(
    "query",
    [
        {"network": "my secret net"},
        {"network": "5e13"},
        {"provider": "lambda", "gpu": "V100", "gpus": "12"},
        {"batch_kept": "all", "batch_of_all": "7"},
        {"confidence": "good"},
        {"gpu_count": "1"},
        {"one_gpu": "typed"},
        {**TYPED, "network": ""},
        {"preset": "original"},
    ],
    ids=str,
)
def test_what_is_wrong_is_one_line(open_app, query):
    app = open_app("scale_out", **query)
    (line,) = lines((*app.error, *app.info))
    assert "\n" not in line and not app.exception and not has_results(app)


def test_a_link_brings_the_same_view_back(open_app):
    query = {
        **TYPED,
        **{"one_gpu_batch": "32", "gradients": "fp16", "strategy": "tree", "total_gpus": "8", "out_shows": "cost"},
        **{"images": "1000", "provider": "gcp", "preset": "all", "exchanges": "True"},
    }
    app = open_app("scale_out", **query)
    assert not app.error and dict(app.query_params) == query
    assert len(drawn(app)) >= 4, "all exchanges of gradients"
    assert result_rows(open_app("scale_out", **query)) == result_rows(app)
    names = {"step_ms": "one_gpu_ms", "total_gpus": "gpus"}
    old = open_app("scale_out", **{names.get(name, name): value for name, value in query.items()})
    assert dict(old.query_params) == query, "a link of 1.1"
    bad = {"total_gpus": "65", "strategy": "carrier pigeon", "gradients": "fp8", "step_ms": "-3", "network": "x" * 61}
    assert result_rows(open_app("scale_out", **bad)) == result_rows(open_app("scale_out"))


def test_a_machine_that_a_step_does_not_fit_on_comes_last_and_only_among_all(open_app):
    big = {"batch": "256", "pixels": "256", "sample": "vgg16-224px-b16-g3s"}
    fits = ["doesn't fit" in row["Code"] for row in result_rows(open_page(open_app, **big))]
    assert True in fits and False in fits and fits == sorted(fits)
    assert not [
        row for row in result_rows(open_page(open_app, **{**big, "preset": "gpus"})) if "doesn't fit" in row["Code"]
    ]
