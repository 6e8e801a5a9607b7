"""Answers are what the command line prints, whichever way the profile is sent, and are as their schema says."""

from __future__ import annotations

import html
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import jsonschema
import pytest

from profet_cli.main import main
from profet_core.questions import AdviseQuestion, fields_of
from profet_http.endpoints import PAGE, openapi_document
from profet_http.endpoints import QUESTIONS as ENDPOINTS
from tests.docs.recipes import blocks
from tests.http.conftest import send

TRAINING = {"images": 50000, "epochs": 3, "validation_images": 1000}
NARROWED = {**TRAINING, "provider": ["azure", "vast"], "region": "US", "market": "marketplace", "min_memory_gib": 40}
QUESTIONS = {
    "predict": [
        {},
        {"latency_ms": 122.4, "targets": ["g5.xlarge", "g4dn.xlarge"], "precision": "fp32"},
        {"latency_ms": 122.4, "trust_latency": True, "measured": {"g4dn.xlarge": 41.2, "p3.2xlarge": 30}},
        {"without_latency": True, "steps": 1, "method": "profet"},
        {"latency_ms": 122.4, "provider": ["gcp", "verda"], "gpu": ["V100"], "gpu_count": 1, "confidence": "good"},
        {"network": "none"},
        {"network": "VGG-16", "without_latency": True},
        {"precision": "amp", "profiled_precision": "fp32", "targets": ["p2.xlarge", "A100-SXM4-40GB"]},
    ],
    "cost": [
        {**TRAINING, "price": {"g4dn.xlarge": 0.4}, "profiled_batch": 16},
        {**TRAINING, "precision": "bf16", "gpu": ["T4", "L4"]},
        NARROWED,
    ],
    "advise": [
        {**TRAINING, "deadline_hours": 3, "compare": ["g4dn.xlarge", "g5.xlarge"], "network": "VGG16"},
        {**TRAINING, "budget_usd": 5, "market": "any", "spot_discount": 0.6, "certainty": 0.8, "include_retired": True},
        {**TRAINING, "whole_nodes": True, "gpu_count": 8, "provider": ["aws", "lambda"], "parameters": 25600000.0},
    ],
}
#: With a profile; other questions are below.
QUESTIONS["scaleout"] = [
    {"latency_ms": 122.4, "network": "VGG16", "gpus": [1, 2, 8], "provider": ["aws"]},
    {
        "parameters": 25600000.0,
        "precision": "amp",
        "gradients": "fp16",
        "instance": "p4d.24xlarge",
        "gpu_count": 8,
        "images": 50000,
    },
    {"network": "VGG16", "global_batch": 256, "profiled_batch": 16, "profiled_pixels": 224, "provider": ["lambda"]},
    {"network": "VGG16", "strategy": "one-process", "tensors": 32, "gpus": [2, 4], "market": "spot"},
]
CASES = [(command, number) for command, cases in QUESTIONS.items() for number in range(len(cases))]


def printed(*arguments: object) -> object:
    """The document that a command prints."""
    with redirect_stdout(StringIO()) as out:
        assert main([str(argument) for argument in (*arguments, "--format", "json")]) == 0
    return json.loads(out.getvalue())


def options(values: dict) -> list[str]:
    """Fields as options of the command line."""
    words = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            words += [text for key, number in value.items() for text in (option, f"{key}={number}")]
        elif value is True:
            words.append(option)
        elif name == "measured":
            words += [text for one in value for text in (option, one)]
        else:
            words += [option, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


def texts(values: dict) -> dict:
    """Fields as a query or a form has them."""
    return {
        name: [f"{key}={number}" for key, number in value.items()]
        if isinstance(value, dict)
        else ",".join(map(str, value))
        if isinstance(value, list)
        else str(value).lower()
        if isinstance(value, bool)
        else value
        for name, value in values.items()
    }


def check_schema(path: str, document: object, method: str = "post") -> None:
    answer = openapi_document()["paths"][path][method]["responses"]["200"]
    jsonschema.Draft202012Validator(whole(answer["content"]["application/json"]["schema"])).validate(document)


def whole(schema: dict) -> dict:
    """A schema with those that it refers to."""
    return {**schema, "components": openapi_document()["components"]}


def request_schema(path: str) -> dict:
    """Of a JSON body."""
    schema = openapi_document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return openapi_document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]


@pytest.mark.parametrize("command, number", CASES)
def test_an_answer_is_the_command_line_s(command, number, post, post_file, asked, sample, port):
    values = QUESTIONS[command][number]
    expected = printed(command, sample.path, "--anchor", sample.anchor, *options(values))
    answer = post(f"/v1/{command}", {**asked, **values})
    assert (answer.status, answer.document) == (200, expected)
    check_schema(f"/v1/{command}", answer.document)
    assert post_file(f"/v1/{command}", sample.data, anchor=sample.anchor, **texts(values)).document == expected
    form = form_of({"anchor": sample.anchor, **texts(values)}, {"profile": sample.data})
    assert send(port, "POST", f"/v1/{command}", *form).document == expected


def form_of(values: dict, files: dict[str, bytes]) -> tuple[bytes, str]:
    """A form's body, and its type."""
    parts = [
        f'--XX\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
        for name, value in values.items()
        for text in (value if isinstance(value, list) else [value])
    ]
    parts += [
        f'--XX\r\nContent-Disposition: form-data; name="{name}"; filename="a.json"\r\n\r\n'.encode() + data + b"\r\n"
        for name, data in files.items()
    ]
    return b"".join(parts) + b"--XX--\r\n", "multipart/form-data; boundary=XX"


def test_a_second_profile_and_another_profile_s_measurement(post, samples, port):
    small, large = samples["resnet50-128px-b16-g4dn"], samples["resnet50-128px-b256-g4dn"]
    body = {"profile": json.loads(small.data), "anchor": small.anchor}
    second = {**body, "images": 1000, "second": json.loads(large.data), "at_batch": 64}
    paths = ("--second", large.path, "--at-batch", 64)
    expected = printed("cost", small.path, "--anchor", small.anchor, "--images", 1000, *paths)
    # A warning names the field, not the option.
    expected["warnings"] = [text.replace("--second", "second") for text in expected["warnings"]]
    assert post("/v1/cost", second).document == expected
    form = form_of(
        {"anchor": small.anchor, "images": 1000, "at_batch": 64}, {"profile": small.data, "second": large.data}
    )
    assert send(port, "POST", "/v1/cost", *form).document == expected
    check_schema("/v1/cost", expected)

    measured = {**body, "measured": {"p3.2xlarge": 60}, "measured_trace": json.loads(large.data)}
    paths = ("--measured", "p3.2xlarge=60", "--measured-trace", large.path)
    expected = printed("predict", small.path, "--anchor", small.anchor, *paths)
    assert post("/v1/predict", measured).document == expected


def test_a_gpu_of_one_s_own_counts_for_its_request_alone(post, asked, sample, port, tmp_path, monkeypatch):
    gpu = {"gpu": "RTX 4080", "like": "L40S", "memory_gib": 16, "as_of": "2026-11", "usd_per_hour": 0.25}
    gpu |= {"images_per_s": 480, "network": "ResNet50", "batch_size": 128, "precision": "tf32"}
    monkeypatch.setenv("PROFET_GPUS", str(tmp_path / "gpus.csv"))
    added = [word for name, value in gpu.items() if name != "gpu" for word in (f"--{name.replace('_', '-')}", value)]
    printed("gpus", "add", "RTX 4080", *added)
    for path, values in {"predict": {}, "cost": {"images": 1000, "profiled_batch": 16}}.items():
        expected = printed(path, sample.path, "--anchor", sample.anchor, *options(values))
        answer = post(f"/v1/{path}", {**asked, **values, "custom_gpus": [gpu]})
        assert (answer.status, answer.document) == (200, expected) and "rtx-4080" in str(expected)
        check_schema(f"/v1/{path}", answer.document)
        form = form_of(
            {"anchor": sample.anchor, **texts(values), "custom_gpus": json.dumps([gpu])}, {"profile": sample.data}
        )
        assert send(port, "POST", f"/v1/{path}", *form).document == expected
    assert "rtx-4080" not in str(post("/v1/predict", asked).document)


def test_a_file_of_every_format_is_answered_as_on_the_command_line(post_file, repository):
    """Recordings of a CPU get its refusal."""
    files = sorted((repository / "tests" / "profiles" / "tensorflow" / "xprof_views").iterdir())
    recorded = ("pytorch_cpu.pt.trace.json.gz", "tensorflow-3-steps.xplane.pb.gz", "profet-version-1.json")
    files += [repository / "sample_traces" / "formats" / name for name in recorded]
    refused = 0
    for path in files:
        answer = post_file("/v1/predict", path.read_bytes(), anchor="p3.2xlarge")
        if answer.status == 200:
            assert answer.document == printed("predict", path, "--anchor", "p3.2xlarge")
            continue
        with redirect_stderr(StringIO()) as err:
            assert main(["predict", str(path), "--anchor", "p3.2xlarge"]) == 2
        assert (answer.status, f"profet: {answer.error}\n") == (422, err.getvalue())
        refused += 1
    assert 0 < refused < len(files) / 2


@pytest.mark.parametrize(
    "content",
    [
        {"Device_Conv2D": 9e4, "Device_Relu": 1e3, "Host_IDLE": 9e5},
        {"Device_MatMul": 9e4, "Device_ReluGrad": 1e3},
        {"Host_Conv2D": 9e4, "Host_ReluGrad": 1e3},
        {
            "operations": {"Device_Conv2D": 9e4, "Device_ReluGrad": 1e3},
            "meta": {"gpu": "Intel(R) Xeon(R) CPU @ 2.20GHz"},
        },
    ],
    ids=["inference", "no convolution", "CPU only", "a CPU by its name"],
)
def test_a_useless_file_is_refused_before_the_anchor_is_asked(post, post_file, tmp_path, content):
    (tmp_path / "net.json").write_text(json.dumps(content))
    with redirect_stderr(StringIO()) as err:
        assert main(["predict", str(tmp_path / "net.json")]) == 2
    for answer in (
        post("/v1/predict", {"profile": content}),
        post_file("/v1/predict", json.dumps(content).encode()),
        post("/v1/predict", {"profile": content, "anchor": "p3.2xlarge"}),
    ):
        assert (answer.status, f"profet: {answer.error}\n") == (422, err.getvalue())


def test_the_listing_is_the_command_line_s(get):
    for query, arguments in {
        "": [],
        "?all=true": ["--all"],
        "?provider=verda&gpu=V100": ["--provider", "verda", "--gpu", "V100"],
    }.items():
        answer = get(f"/v1/instances{query}")
        assert (answer.status, answer.document) == (200, printed("instances", *arguments)) and answer.document
        check_schema("/v1/instances", answer.document, "get")
    none = get("/v1/instances?provider=azure&gpu=H200")
    assert none.status == 422 and "cloud azure, GPU H200" in none.error


def test_a_measured_step_is_scaled_out_without_a_profile(post):
    values = {"step_ms": 203, "gpu": ["V100"], "batch": 64, "network": "ResNet50", "gpus": [8]}
    answer = post("/v1/scaleout", values)
    assert (answer.status, answer.document) == (200, printed("scaleout", *options(values)))
    check_schema("/v1/scaleout", answer.document)
    refused = post("/v1/scaleout", {**values, "anchor": "p3.2xlarge"})
    assert refused.status == 422 and "anchor" in refused.error


def test_a_network_s_name_in_the_place_of_a_profile_needs_a_batch_size_and_to_be_known(post):
    named = {"profile": "vgg16", "profiled_batch": 8}
    for body, message in (
        ({**named, "profile": "nonet"}, "nonet"),
        ({"profile": "vgg16"}, "profiled_batch"),
        ({**named, "latency_ms": 50.0}, "anchor"),
        ({**named, "steps": 2}, "steps"),
        ({**named, "method": "profet"}, "method"),
    ):
        refused = post("/v1/predict", body)
        assert refused.status == 422 and message in refused.error
    answer = post("/v1/predict", {"profile": "vgg16", "profiled_batch": 8, "targets": ["p3.2xlarge"]}).document
    assert [row["instance"] for row in answer["predictions"]] == ["p3.2xlarge"] and answer["anchor"] == ""


def test_a_network_is_estimated_without_a_profile(post, post_file, asked, sample):
    more = {"images": 50000, "epochs": 2, "optimizer": "adam", "gpu": ["V100", "A100"]}
    values = {"network": "VGG16", "batch": 16, "pixels": 224, **more}
    answer = post("/v1/estimate", values)
    named = options({name: value for name, value in values.items() if name != "network"})
    assert (answer.status, answer.document) == (200, printed("estimate", "VGG16", *named))
    check_schema("/v1/estimate", answer.document)
    beside = printed("estimate", "VGG16", *named, "--profile", sample.path, "--anchor", sample.anchor)
    assert post("/v1/estimate", {**values, "profile": asked["profile"], "anchor": sample.anchor}).document == beside
    assert post_file("/v1/estimate", sample.data, anchor=sample.anchor, **texts(values)).document == beside
    check_schema("/v1/estimate", beside)
    tuned = {"precision": "amp", "training_code": "channels-last", "frozen_backbone": True, "targets": ["TITAN Xp"]}
    tuned |= {"batch": 64, "images": 50000, "epochs": 3}
    answer = post("/v1/estimate", {"network": "microsoft/resnet-50", **tuned})
    assert (answer.status, answer.document) == (200, printed("estimate", "ResNet-50", *options(tuned)))
    times = {"RTX 4090": "46ms", "g4dn.xlarge@32": "14min/epoch"}
    question = {"network": "ResNet50", "batch": 64, "images": 50000, "gpu": ["V100", "RTX 4090"]}
    by_time = printed("estimate", "ResNet50", *options({**question, "measured": times})[2:])
    assert {row["basis"] for row in by_time["estimates"]} == {"given", "scaled"}
    check_schema("/v1/estimate", by_time)
    for measured in (times, [f"{name}={time}" for name, time in times.items()]):
        answer = post("/v1/estimate", {**question, "measured": measured})
        assert (answer.status, answer.document) == (200, by_time)
    for without, message in (("batch", "batch is missing"), ("network", "network is missing")):
        refused = post("/v1/estimate", {name: value for name, value in values.items() if name != without})
        assert refused.status == 422 and message in refused.error


def test_every_field_of_a_request_is_documented_in_a_description_that_is_openapi():
    document = openapi_document()
    for name, endpoint in ENDPOINTS.items():
        fields, schema = fields_of(endpoint.question), request_schema(f"/v1{name}")
        form = document["paths"][f"/v1{name}"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
        assert set(schema["properties"]) == set(form["properties"]) == set(fields)
        assert set(schema["required"]) == {name for name, field in fields.items() if field.required}
        for case in QUESTIONS.get(name.strip("/"), [{"network": "VGG16", "batch": 8, "gpu": ["T4"]}]):
            lists = {name: [case[name]] for name in ("gpu_count",) if name in case}
            profile = {"profile": {}} if "profile" in fields else {}
            jsonschema.validate({**profile, "anchor": "g3s.xlarge", **case, **lists}, whole(schema))
    assert set(document) == {"openapi", "info", "paths", "components"}
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["operationId"] and operation["summary"] and "200" in operation["responses"]
            for answer in operation["responses"].values():
                for content in answer["content"].values():
                    jsonschema.Draft202012Validator.check_schema(whole(content["schema"]))


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/cost", "/v1/advise", "/v1/estimate", "/v1/scaleout"])
def test_a_field_of_another_kind_is_refused_by_its_name_and_null_is_no_value(path, post, post_file, asked, sample):
    fields = fields_of(ENDPOINTS[path.removeprefix("/v1")].question)
    values = {
        name: value for name, value in {**asked, **TRAINING, "network": "VGG16", "batch": 64}.items() if name in fields
    }
    for name, field in fields.items():
        wrong = 7.5 if field.is_flag or field.is_many or field.is_file else {"a": []}
        needed = {"measured": {"g4dn.xlarge": 40.5}} if "measured" in field.needs else {}
        answer = post(path, {**values, **needed, name: wrong})
        assert answer.status == 422 and answer.error.startswith(f"{name} must be"), (name, answer)
        if not field.is_file:
            assert "Unknown field" not in post_file(path, sample.data, **{name: ""}).body.decode()
    nulls = {name: None for name, field in fields.items() if not field.required}
    assert post(path, {**nulls, **values}).document == post(path, values).document
    for name in (name for name, field in fields.items() if field.required):
        refused = post(path, {**values, name: None})
        assert refused.status == 422 and refused.error.startswith(f"{name} is missing")


def test_the_description_has_every_path_and_its_page_loads_nothing_from_elsewhere(port, get):
    paths = openapi_document()["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            assert {"403", "404", "405", "429"} <= set(operation["responses"])
            other = {"get": "POST", "post": "GET"}[method]
            refused = send(port, other, path)
            assert refused.status == 405 and method.upper() in refused.error
    assert {path for path in paths if get(path).status == 200} == {
        "/v1/instances",
        "/v1/health",
        "/v1/openapi.json",
        "/v1/docs",
    }
    described = get("/v1/openapi.json")
    assert described.document["openapi"].startswith("3.1") and described.document == openapi_document()
    page = get("/v1/docs")
    text = page.body.decode()
    assert page.status == 200 and all(f"<code>{name}</code>" in text for name in fields_of(AdviseQuestion))
    assert "<script" not in text and "src=" not in text and "@import" not in text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_the_client_in_five_lines_runs(port, samples, repository, tmp_path):
    documented = (repository / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    (client,) = (block.text for block in blocks(documented) if "client" in block.options)
    assert len([line for line in client.splitlines() if line]) == 5
    assert html.escape(client.strip()) in PAGE, "the endpoint's own page shows the same"
    (tmp_path / "profile.json").write_bytes(samples["vgg16-224px-b16-g3s"].data)
    code = client.replace("localhost:8501", f"127.0.0.1:{port}")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "'basis': 'given'" in done.stdout, done.stderr


def test_a_profile_of_any_gpu_is_answered_by_the_name_in_it(post, asked):
    def of(gpu: str | None) -> dict:
        meta = {name: value for name, value in {**asked["profile"]["meta"], "gpu": gpu}.items() if value is not None}
        return {**asked["profile"], "meta": meta}

    gpu = "NVIDIA GeForce RTX 2080 Ti"
    for path, more in (("/predict", {}), ("/cost", TRAINING), ("/advise", TRAINING)):
        answer = post(f"/v1{path}", {"profile": of(gpu), **more})
        assert answer.status == 200 and answer.document["anchor"] == gpu.removeprefix("NVIDIA ")
        rows = answer.document.get("predictions") or answer.document.get("rows") or answer.document["plans"]
        assert "mapped" in {row["basis"] for row in rows}
    named = post("/v1/predict", {"profile": of(gpu), "anchor": gpu})
    assert named.document == post("/v1/predict", {"profile": of(gpu)}).document
    for gpu, says in (("NVIDIA RTX 4000 Laptop GPU", "a laptop GPU"), (None, "give it with anchor")):
        answer = post("/v1/predict", {"profile": of(gpu)})
        assert answer.status == 422 and says in answer.error
