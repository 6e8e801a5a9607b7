"""Page, command line and HTTP give the same numbers for the same question."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmarks.served_app import served_endpoint
from profet_cli.main import main
from profet_core.units import format_ms, format_usd, shared_time_unit
from tests.pages.conftest import ALL_COLUMNS, column, lines

RESNET, SMALL, VGG, LENET = (
    "resnet50-224px-b64-g4dn",
    "resnet50-128px-b64-g4dn",
    "vgg16-224px-b16-g3s",
    "lenet5-32px-b16-g3s",
)
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
    yield Case(RESNET, {"epochs": 1, "images": 50_000})
    yield Case(RESNET, {"validation_images": 50_000})
    yield Case(RESNET, {"with_loading": True})
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
    with served_endpoint() as found:
        yield found


@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.sample} {case.fields}")
def test_fixed_questions(open_app, samples, port, capsys, case):
    # Through the widgets of a new session, as a link fills them.
    columns = ",".join(ALL_COLUMNS["predict"])
    app = open_app(preset="all", retired="True", predict_columns=columns, **query(case))
    check(app, samples, port, capsys, case)


def settings(case: Case) -> dict[str, Any]:
    """The page's settings of a case."""
    names = {"at_batch": "batch", "at_pixels": "pixels", "latency_ms": "latency", "with_loading": "loading"}
    found: dict[str, Any] = {}
    for name, value in case.fields.items():
        if name in ("price", "measured"):
            found |= {f"{name}_{instance}": number for instance, number in value.items()}
        elif name == "certainty":
            found["certainty"] = round(100 * value)
        elif name == "deadline_hours":
            found["deadline_h"] = value
        elif name == "gpu_count":
            found["gpu_count"] = [str(value)]
        elif name == "second":
            found |= {"second": True, "second_sample": value}
        elif name == "parameters":
            found["network"] = f"{value:.0f}"
        else:
            found[names.get(name, name)] = value
    return found


def query(case: Case) -> dict[str, str]:
    """The link of a case."""

    def text(value: object) -> str:
        return "none" if value is None else ",".join(value) if isinstance(value, list) else str(value)

    return {"sample": case.sample, **{key: text(value) for key, value in settings(case).items()}}


def check(app, samples, port, capsys, case: Case) -> None:
    """Compare every number that the page shows with those of the command line, and these with HTTP's."""
    document, spoken = by_command(samples, case, capsys), by_http(samples, case, port)
    assert spoken == document
    if "error" in document:
        assert lines(app.error), "the page says so too"
        return
    assert not app.error and not app.exception, lines(app.error)
    plans = {plan["plan"]: plan for plan in document["plans"]}
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
            most = f", ≤ {fit['largest_batch']:,}" if fit["largest_batch"] else ""
            assert shown["Memory"][label] == f"{fit['verdict']}{most}", label


def _anchored(samples, case: Case) -> dict[str, Any]:
    sample = samples[case.sample]
    found = {"anchor": sample.anchor, "latency_ms": sample.latency_ms, "images": 1_281_167, "epochs": 90} | case.fields
    if found["latency_ms"] is None:
        found = {name: value for name, value in found.items() if name != "latency_ms"} | {"without_latency": True}
    if "second" in found:
        found["second_latency_ms"] = samples[found["second"]].latency_ms
    return found | {"include_retired": True}


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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/advise", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    document = json.loads(answer.read())
    connection.close()
    return document if answer.status == 200 else {"error": True}
