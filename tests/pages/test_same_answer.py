"""Page, command line and HTTP give the same numbers for the same question."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmarks.served_app import served_endpoint
from profet_cli.main import main
from profet_core.answers.api import estimate
from profet_core.errors import Code
from profet_core.prediction.models import load_samples
from profet_core.training.advise import ORIGINAL
from profet_profiles.profet_json import profile_to_link_text
from profet_profiles.units import format_ms, format_significant, format_usd, shared_time_unit, typed_positive
from tests.core.layers.test_logs import DETECTRON
from tests.pages.conftest import ALL_COLUMNS, clean, column, drawn_bars, lines, type_in

RESNET, SMALL, VGG, LENET = (
    "resnet50-224px-b64-g4dn",
    "resnet50-128px-b64-g4dn",
    "vgg16-224px-b16-g3s",
    "lenet5-32px-b16-g3s",
)
#: Those of PROFET's four instances.
GPUS = ("T4", "V100", "M60", "K80")
PAIR = ("resnet50-128px-b16-g4dn", "resnet50-128px-b256-g4dn")


@dataclass(frozen=True)
class Case:
    """One question; `fields` are those of `AdviseQuestion`, without what the sample says."""

    sample: str
    fields: dict[str, Any] = field(default_factory=dict)


def _fixed() -> Iterator[Case]:
    for sample in (RESNET, SMALL, VGG, LENET):
        yield Case(sample)
        yield Case(sample, {"latency_ms": None})
        yield Case(sample, {"at_batch": 128})
    yield Case(RESNET, {"at_pixels": 128})
    yield Case(RESNET, {"at_batch": 256, "at_pixels": 160})
    yield Case(SMALL, {"at_batch": 256, "at_pixels": 256, "latency_ms": None})
    yield Case(SMALL, {"at_pixels": 1280})
    yield Case(RESNET, {"epochs": 1, "images": 50_000})
    yield Case(RESNET, {"validation_images": 50_000})
    yield Case(RESNET, {"with_loading": True})
    yield Case(RESNET, {"images_per_s_per_vcpu": 120})
    yield Case(LENET, {"images_per_s_per_vcpu": 37.5, "validation_images": 50_000, "deadline_hours": 40.0})
    yield Case(RESNET, {"market": "spot", "interruptions": "10-15%", "runs": 2})
    yield Case(RESNET, {"market": "spot", "interruptions": "2.5", "checkpoint_minutes": 90.0, "restart_minutes": 12.0})
    yield Case(SMALL, {"market": "spot", "interruptions": "0-5%", "images": 5_000, "epochs": 1})
    yield Case(RESNET, {"start_up_minutes": 12.0, "dataset_gib": 150.0, "storage_usd_per_gib_month": 0.08})
    yield Case(RESNET, {"runs": 5})
    yield Case(RESNET, {"runs": 5, "at_once": True, "budget_usd": 300.0})
    yield Case(RESNET, {"price": {"g4dn.xlarge": 0.4, "p3.2xlarge": 1.25}})
    yield Case(RESNET, {"price": {"vast/1x-A100_SXM4": 0.5}, "market": "any"})
    yield Case(RESNET, {"market": "spot"})
    yield Case(RESNET, {"market": "marketplace"})
    yield Case(RESNET, {"provider": ["aws", "gcp"], "gpu": ["V100", "T4"]})
    yield Case(RESNET, {"min_memory_gib": 40.0, "confidence": "fair"})
    yield Case(RESNET, {"deadline_hours": 40.0, "certainty": 0.8})
    yield Case(RESNET, {"budget_usd": 50.0})
    yield Case(RESNET, {"method": "profet"})
    yield Case(RESNET, {"precision": "fp32"})
    yield Case(RESNET, {"precision": "amp"})
    yield Case(RESNET, {"precision": "bf16", "at_batch": 112})
    yield Case(PAIR[0], {"second": PAIR[1]})
    yield Case(PAIR[0], {"second": PAIR[1], "at_batch": 64})
    yield Case(PAIR[0], {"second": PAIR[1], "at_batch": 100, "at_pixels": 192})
    yield Case(RESNET, {"measured": {"p3.2xlarge": 170.0}})
    yield Case(RESNET, {"measured": {"lambda/gpu_1x_a10": 150.0, "p2.xlarge": 1_500.0}, "at_batch": 112})
    yield Case(RESNET, {"anchor": "p3.2xlarge", "latency_ms": None})
    yield Case(RESNET, {"anchor": "A100-SXM4-80GB", "latency_ms": None})
    yield Case(RESNET, {"whole_nodes": True, "network": "ResNet50"})
    yield Case(RESNET, {"whole_nodes": True, "parameters": 25.6e6, "gpu_count": 8, "at_batch": 96})


FIXED = tuple(_fixed())


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served_endpoint() as url:
        yield url


@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.sample} {case.fields}")
def test_fixed_questions(open_app, samples, port, capsys, case):
    # Through the widgets of a new session, as a link fills them.
    columns = ",".join(ALL_COLUMNS["predict"])
    app = open_app(preset="all", retired="True", predict_columns=columns, **query(case))
    check(app, samples, port, capsys, case)


@pytest.mark.parametrize("typed", [False, True], ids=["prefilled", "typed"])
@pytest.mark.parametrize(("axis", "ends", "at"), [("batch", (16, 256), 97), ("pixels", (32, 256), 131)])
def test_the_scaler(open_app, samples, port, capsys, axis, ends, at, typed):
    fields = {"scaler_axis": axis, f"scaler_at_{axis}": str(at), "scaler_instance": "p2.xlarge"}
    if typed:
        fields |= {f"scaler_min_{axis}": "12.5", f"scaler_max_{axis}": "250"}
        low, high = 12.5, 250.0
    else:
        low, high = (
            next(plan["latency_ms"] for plan in answer["plans"] if plan["instance"] == "p2.xlarge")
            for answer in (by_http(samples, Case(LENET, {f"at_{axis}": end}), port) for end in ends)
        )
    app = open_app("scaler", sample=LENET, **fields)
    shown = [field.value for field in app.number_input]
    assert shown == [typed_positive(format_significant(ms)) for ms in (low, high)]
    ms = ("--min-ms", str(shown[0]), "--max-ms", str(shown[1]))
    arguments = ("scale", "--instance", "p2.xlarge", "--axis", axis, *ms, "--at", str(at), "--format", "json")
    capsys.readouterr()
    assert main(list(arguments)) == 0
    assert app.metric[0].value == f"{format_ms(json.loads(capsys.readouterr().out)['latency_ms'])}/step"


def settings(case: Case) -> dict[str, Any]:
    """The page's settings of a case."""
    names = {"latency_ms": "latency"}
    fields: dict[str, Any] = {}
    for name, value in case.fields.items():
        if name in ("price", "measured"):
            fields |= {f"{name}_{instance}": number for instance, number in value.items()}
        elif name == "interruptions":
            fields |= {"interruptions": value} if "%" in value else {"interruptions": "day", "per_day": float(value)}
        elif name == "with_loading":
            fields["loading"] = "overhead"
        elif name == "images_per_s_per_vcpu":
            # 120 is the default.
            fields |= {"loading": "vcpus"} | ({} if value == 120 else {name: value})
        elif name == "certainty":
            fields["certainty"] = round(100 * value)
        elif name == "gpu_count":
            fields["gpu_count"] = [str(value)]
        elif name == "second":
            fields |= {"second": True, "second_sample": value}
        elif name == "parameters":
            fields["network"] = f"{value:.0f}"
        else:
            fields[names.get(name, name)] = value
    return fields


def query(case: Case) -> dict[str, str]:
    """The link of a case."""

    def text(value: object) -> str:
        return "none" if value is None else ",".join(value) if isinstance(value, list) else str(value)

    shown = {"sample": case.sample}
    if "anchor" in case.fields:
        # A sample is of its own GPU.
        profile = next(sample.profile for sample in load_samples() if sample.name == case.sample)
        shown = {"source": "upload", "profile": profile_to_link_text(profile)}
    return {**shown, **{key: text(value) for key, value in settings(case).items()}}


def check(app, samples, port, capsys, case: Case) -> None:
    """Compare every number that the page shows with those of the command line, and these with HTTP's."""
    document, spoken = by_command(samples, case, capsys), by_http(samples, case, port)
    assert spoken == document
    if "error" in document:
        assert lines(app.error), "the page says so too"
        return
    assert not app.error and not app.exception, lines(app.error)
    plans = {plan["plan"]: plan for plan in document["plans"]}
    if document["spot"]:
        assert document["spot"]["sentence"] in [clean(text) for text in lines(app.markdown)]
    shown = {title: column(app, title) for title in ("Step", "Time", "Cost", "$/h", "In time", "Memory")}
    assert shown["Time"] and set(shown["Time"]) <= set(plans)
    unit = shared_time_unit(plans[label]["total_s"] for label in shown["Time"])
    for label, plan in plans.items():
        if label not in shown["Time"]:
            continue
        assert shown["Step"][label] == format_ms(plan["latency_ms"]), label
        assert shown["Time"][label] == unit.words(plan["total_s"]), label
        assert shown["Cost"][label] == format_usd(plan["total_usd"]), label
        assert shown["$/h"][label].startswith(format_usd(plan["usd_per_hour"])), label
    assert set(document["memory"]) >= {plan["instance"] for plan in plans.values()} or not document["memory"]
    for label in shown["Memory"]:
        fit = document["memory"].get(plans[label]["instance"])
        if fit is not None:
            most = f" (up to batch {fit['largest_batch']:,})" if fit["largest_batch"] else ""
            words = {"fits": "Fits", "can't tell": "May not fit", "does not fit": "Doesn't fit"}
            assert shown["Memory"][label] == words[fit["verdict"]] + most, label


#: Fifteen questions whose cards, bars and dialog are those of the command line.
SHOWN = (
    {},
    {"latency_ms": None},
    {"at_batch": 128},
    {"at_pixels": 128},
    {"at_batch": 32, "at_pixels": 96},
    {"epochs": 1},
    {"epochs": 10, "images": 50_000},
    {"validation_images": 50_000},
    {"precision": "amp"},
    {"method": "profet"},
    {"price": {"p3.2xlarge": 1.25}},
    {"measured": {"p3.2xlarge": 150.0}},
    {"deadline_hours": 30.0},
    {"budget_usd": 60.0, "deadline_hours": 30.0},
    {"deadline_hours": 1.0},
)


@pytest.mark.parametrize("fields", SHOWN, ids=str)
def test_cards_bars_and_dialog_are_the_command_line_s(open_app, samples, capsys, fields):
    case = Case(RESNET, fields)
    app = open_app(preset="original", chart="bars", predict_open="p3.2xlarge", **query(case))
    assert not app.error and not app.exception, lines(app.error)
    document = by_command(samples, Case(RESNET, {**fields, "provider": ["aws"], "gpu": list(GPUS)}), capsys)
    plans = {plan["instance"]: plan for plan in document["plans"] if plan["instance"] in ORIGINAL}
    texts = [clean(text).replace("**", "") for text in lines(app.markdown)]
    unit = shared_time_unit(plan["total_s"] for plan in plans.values())
    # The dialog, its row's card if it has one, and its bars show one text.
    v100 = plans["p3.2xlarge"]
    usd, time = format_usd(v100["total_usd"]), unit.words(v100["total_s"])
    dialog = next(text for text in texts if "- Training: " in text)
    assert time in dialog.split("\n")[0] and usd in dialog.split("\n")[0]
    assert f"- Price: {format_usd(v100['usd_per_hour'])}/h" in dialog
    assert f"- Step: {format_ms(v100['latency_ms'])}" in dialog
    if (fit := document["memory"].get("p3.2xlarge")) and fit["largest_batch"]:
        assert f"up to batch {fit['largest_batch']:,}" in dialog
    numbers = {(format_usd(plan["total_usd"]), unit.words(plan["total_s"])) for plan in plans.values()}
    shown_cards = [card for card in map(re.compile(r"\n(\$\S+)(?: :small.*?)? · (\S+ \w+)").search, texts) if card]
    assert shown_cards and {(card[1], card[2]) for card in shown_cards} <= numbers
    rentable = [plan for plan in plans.values() if plan["status"] != "retired"] or [*plans.values()]
    cheapest = min(rentable, key=lambda plan: plan["total_usd"])
    if not {"deadline_hours", "budget_usd"} & set(fields):
        assert shown_cards[0][1] == format_usd(cheapest["total_usd"]), "the cheapest card has the lowest number"
    drawn_s, drawn_usd = (
        [row["value"] for row in drawn_bars(app)[key] if row["value"] is not None]
        for key in ("latency-bars", "cost-bars")
    )
    hours = sorted(plan["total_s"] / unit.seconds for plan in plans.values())
    assert sorted(drawn_s) == pytest.approx(hours, rel=1e-12)
    assert sorted(drawn_usd) == pytest.approx(sorted(plan["total_usd"] for plan in plans.values()), rel=1e-12)


def test_what_is_typed_in_the_dialog_counts_at_once(open_app, samples, capsys):
    app = open_app(preset="original", predict_open="p3.2xlarge")
    for name, value in (("price", 1.25), ("measured", 150.0)):
        type_in(app, f"{name}_p3.2xlarge", value)
        assert app.query_params[f"{name}_p3.2xlarge"] == f"{value:.12g}"
    case = Case(RESNET, {"price": {"p3.2xlarge": 1.25}, "measured": {"p3.2xlarge": 150.0}})
    (plan,) = [one for one in by_command(samples, case, capsys)["plans"] if one["instance"] == "p3.2xlarge"]
    dialog = next(text for text in map(clean, lines(app.markdown)) if "**Training**" in text)
    assert "$1.25/h" in dialog and format_ms(plan["latency_ms"]) in dialog and format_usd(plan["total_usd"]) in dialog
    assert "Uses your 150 ms on V100 SXM" in dialog


def test_images_larger_than_measured_where_the_profile_s_are(open_app, counted_sample, port, capsys):
    columns = ",".join(ALL_COLUMNS["predict"])
    link = {"sample": counted_sample.name, "pixels": "1024"}
    app = open_app(preset="all", retired="True", predict_columns=columns, **link)
    assert app.select_slider(key="slider:pixels").options[-1] == "1280"
    assert any("not recorded" in text for text in map(clean, lines([*app.warning, *app.info, *app.caption])))
    asked = {"anchor": counted_sample.anchor, "images": 1_281_167, "epochs": 90, "at_pixels": 1024}
    arguments = [text for name, value in asked.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    capsys.readouterr()
    assert main(["advise", str(counted_sample.path), *arguments, "--include-retired", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert any("not recorded" in warning for warning in document["warnings"])
    profile = json.loads(counted_sample.data)
    assert posted(asked | {"include_retired": True, "profile": profile}, port) == document
    shown = column(app, "Step")
    assert shown and shown == {
        plan["plan"]: format_ms(plan["latency_ms"]) for plan in document["plans"] if plan["plan"] in shown
    }


@pytest.mark.parametrize(
    ("measured", "code"),
    [
        (("GeForce RTX 4090", "95 ms"), Code.USUAL),
        (("GeForce RTX 4090", "14min/epoch"), Code.FASTER),
        (("g4dn.xlarge", "98%|███| 382/391 [00:52<00:01, 1.1s/it]"), Code.SLOWER),
    ],
)
def test_a_measured_time_without_a_profile(open_app, models, catalog, port, capsys, measured, code):
    gpu, time = measured
    link = {"net": "resnet50", "net_batch": "64", "anchor": gpu, "latency": time}
    app = open_app(source="name", per="step", preset="all", **link)
    assert not app.error and not app.exception, lines(app.error)
    asked = {"network": "resnet50", "batch": 64, "images": 1_281_167}
    document = posted({**asked, "measured": {gpu: time}}, port, "/v1/estimate")
    capsys.readouterr()
    options = ("--batch", "64", "--images", "1281167", "--measured", f"{gpu}={time}", "--format", "json")
    assert main(["estimate", "resnet50", *options]) == 0
    assert json.loads(capsys.readouterr().out) == document
    answer = estimate(models, catalog, "resnet50", batch=64, images=1_281_167, measured=[f"{gpu}={time}"])
    assert answer.warnings[0].code is code and [*answer.warnings] == document["warnings"]
    assert str(answer.warnings[0]) in [clean(text) for text in lines([*app.markdown, *app.warning])]
    rows = {row["instance"]: row for row in document["estimates"]}
    assert {name: row.latency_ms for name, row in answer.to_frame().set_index("instance").iterrows()} == {
        name: row["latency_ms"] for name, row in rows.items()
    }
    steps, words = column(app, "Time"), column(app, "Basis")
    assert len(steps) > 30 and steps == {name: format_ms(rows[name]["latency_ms"]) for name in steps}
    assert {re.sub(r"\W", "", words[name]) for name in steps} == {"Measured", "Scaled"}
    assert {name: app.query_params[name] for name in ("anchor", "latency")} == {"anchor": gpu, "latency": time}


def test_a_network_by_name_in_the_place_of_a_profile(open_app, port, capsys):
    app = open_app(source="name", net_batch="64", anchor="g4dn.xlarge", latency="500 ms", preset="all", market="spot")
    asked = {"profile": "resnet50", "profiled_batch": 64, "anchor": "g4dn.xlarge", "latency_ms": 500.0}
    asked |= {"images": 1_281_167, "epochs": 90, "market": "spot"}
    document = posted(asked | {"include_retired": True}, port, "/v1/advise")
    capsys.readouterr()
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asked.items() if name != "profile"]
    assert main(["advise", "resnet50", *options, "--include-retired", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == document
    costs = {plan["plan"]: format_usd(plan["total_usd"]) for plan in document["plans"]}
    shown = column(app, "Cost")
    assert len(shown) > 15 and shown == {name: costs[name] for name in shown}


def test_a_log_of_a_finished_training(open_app, port, capsys, tmp_path):
    path = tmp_path / "train.log"
    path.write_text(DETECTRON)
    app = open_app(source="name", per="step", preset="all", net="resnet50")
    uploader = next(one for one in app.file_uploader if one.key.startswith("log:file"))
    app = uploader.set_value(("train.log", DETECTRON.encode(), "text/plain")).run()
    assert not app.error and not app.exception, lines(app.error)
    settings = {"anchor": "p3.2xlarge", "latency": "440.1 ms", "net_batch": "16"}
    assert {name: app.query_params[name] for name in settings} == settings
    asked = {"network": "resnet50", "batch": 16, "log": DETECTRON, "anchor": "p3.2xlarge"}
    document = posted(asked, port, "/v1/estimate")
    capsys.readouterr()
    options = ["--batch", "16", "--log", str(path), "--anchor", "p3.2xlarge", "--format", "json"]
    assert main(["estimate", "resnet50", *options]) == 0 and json.loads(capsys.readouterr().out) == document
    by_name = {row["instance"]: format_ms(row["latency_ms"]) for row in document["estimates"]}
    steps = column(app, "Time")
    assert len(steps) > 30 and steps == {name: by_name[name] for name in steps}
    # It names its GPU; a profile has its own batch size, and takes the time alone.
    assert main(["estimate", "resnet50", *options[:4], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"][0].startswith("440 ms on Tesla V100-SXM2-16GB")
    uploader = next(one for one in app.file_uploader if one.key.startswith("log:file"))
    app = uploader.set_value(("train.log", b"nothing", "text/plain")).run()
    assert "No time of a step" in lines(app.error)[0] and column(app, "Time") == steps


def _anchored(samples, case: Case) -> dict[str, Any]:
    sample = samples[case.sample]
    asked = {"anchor": sample.anchor, "latency_ms": sample.latency_ms, "images": 1_281_167, "epochs": 90} | case.fields
    if asked["latency_ms"] is None:
        asked = {name: value for name, value in asked.items() if name != "latency_ms"} | {"without_latency": True}
    if "second" in asked:
        asked["second_latency_ms"] = samples[asked["second"]].latency_ms
    return asked | {"include_retired": True}


def by_command(samples, case: Case, capsys) -> dict:
    arguments = ["advise", str(samples[case.sample].path)]
    for name, value in _anchored(samples, case).items():
        option = f"--{name.replace('_', '-')}"
        if name in ("price", "measured"):
            arguments += [text for pair in value.items() for text in (option, f"{pair[0]}={pair[1]}")]
        elif name == "second":
            arguments += [option, str(samples[value].path)]
        elif value is True:
            arguments += [option]
        else:
            arguments += [option, ",".join(value) if isinstance(value, list) else str(value)]
    capsys.readouterr()
    status = main([*arguments, "--format", "json"])
    out, err = capsys.readouterr()
    assert status in (0, 2), err
    return json.loads(out) if status == 0 else {"error": True}


def by_http(samples, case: Case, port: int) -> dict:
    body = _anchored(samples, case) | {"profile": json.loads(samples[case.sample].data)}
    if "second" in body:
        body["second"] = json.loads(samples[body["second"]].data)
    return posted(body, port)


def posted(body: dict[str, Any], port: int, path: str = "/v1/advise") -> dict:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    document = json.loads(answer.read())
    connection.close()
    return document if answer.status == 200 else {"error": True}
