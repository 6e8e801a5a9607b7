"""Questions of every kind that the schema allows: each is refused in one line, or has finite numbers in their order."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from profet_cli.main import main
from profet_core import InputError, ProfetError, advise, estimate, predict, read_profile
from profet_core.answers.context import Context
from profet_core.answers.document import json_of
from profet_core.catalog import load_gpus
from profet_core.prediction.models import load_samples
from profet_core.questions import QuestionField, ask, fields_of
from profet_core.training.cost import INTERRUPTION_BANDS
from profet_http.endpoints import QUESTIONS
from tests.http.test_answers import options

#: Questions of each kind by HTTP, and by the command line, which loads the models for each.
EXAMPLES = {"HTTP": int(os.environ.get("FUZZ_QUESTIONS", "40")), "command": 6}
SAMPLES = {sample.name: sample for sample in load_samples()}
#: Texts and names that a field takes; of other names there are none but these.
TEXTS = {
    "anchor": ["g4dn.xlarge", "T4", "A100", "TITAN Xp", "p3.2xlarge"],
    "region": ["us-east-1", "US", "eu-west-1"],
    "network": ["ResNet50", "vgg16", "mobilenet_v2", "convnext_tiny", "vit_b_16"],
    "interruptions": [*INTERRUPTION_BANDS, "0.1", "2", "1e-9", "24"],
    "method": ["default", "profet"],
    "launch_command": ["python train.py"],
    "instance": ["p4d.24xlarge", "p3.16xlarge", "g4dn.12xlarge"],
}
NAMED = {"provider": ["aws", "azure", "gcp", "vast", "verda"], "gpu": ["T4", "V100", "A100", "H100", "RTX 3090"]}
INSTANCES = ["g4dn.xlarge", "p3.2xlarge", "g5.xlarge", "p4d.24xlarge", "RTX 3090", "A100-SXM4-40GB", "TITAN Xp"]
USUAL = {
    "images": st.sampled_from([1, 100, 5000, 1_281_167]),
    "epochs": st.sampled_from([1, 3, 90]),
    "gpu_count": st.sampled_from([1, 2, 8]),
    "total_gpus": st.sampled_from([8, 16]),
    "batch": st.sampled_from([1, 32, 64, 256]),
    "at_batch": st.sampled_from([16, 100, 256]),
    "at_pixels": st.sampled_from([32, 128, 256, 1280]),
    "steps": st.sampled_from([1, 2]),
    **{name: st.floats(50, 500) for name in ("latency_ms", "second_latency_ms", "step_ms")},
    "min_memory_gib": st.sampled_from([12, 16.0, 40.0]),
    "parameters": st.just(25_600_000),
    "gpus": st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3),
}
#: Fields that say something beside these alone.
BESIDE = {
    "interruptions": ["market"],
    "checkpoint_minutes": ["interruptions", "market"],
    "restart_minutes": ["interruptions", "market"],
    "dataset_gib": ["storage_usd_per_gib_month"],
    "storage_usd_per_gib_month": ["dataset_gib"],
    "at_once": ["runs"],
    "validation_images": ["images"],
    "epochs": ["images"],
    **{name: ["profile"] for name in ("anchor", "latency_ms", "profiled_precision")},
    "measured_trace_latency_ms": ["measured_trace", "measured"],
    "measured_trace": ["measured"],
    **{f"second_{name}": ["second"] for name in ("batch", "pixels", "latency_ms", "steps")},
}
#: Fields that are left out beside these.
EXCLUDED = {"without_latency": "latency_ms", "with_loading": "images_per_s_per_vcpu", "parameters": "network"}
EXCLUDED |= {"global_batch": "batch", "precision": "step_ms", "checkpointing": "step_ms"}
OF_PROFILE = (
    "anchor",
    "latency_ms",
    "steps",
    "profiled_batch",
    "profiled_pixels",
    "profiled_precision",
    "training_code",
)
WHOLES = st.one_of(st.integers(1, 512), st.integers(1, 10**6), st.sampled_from([0, -1, 10**9, 10**15]))
NUMBERS_ABOVE_0 = st.one_of(
    *(st.floats(0.01, most) for most in (10, 100, 1000)), st.sampled_from([0.0, 1e-9, 0.001, 1e4, 1e15])
)


def values(name: str, field: QuestionField) -> st.SearchStrategy:
    """What a field may be given: ordinary values mostly, and those at its bounds."""
    if field.choices:
        return st.sampled_from(field.choices)
    match field.kinds:
        case [inspect.BoolType()]:
            return st.booleans()
        case [inspect.IntType() | inspect.FloatType() as kind]:
            every = NUMBERS_ABOVE_0 if isinstance(kind, inspect.FloatType) else WHOLES
            shares = st.floats(0.01, 0.99) if field.unit == "SHARE" else every
            usual = USUAL.get(name, shares)
            return st.one_of(usual, usual, usual, every)
        case [inspect.CollectionType(item_type=inspect.Metadata() | inspect.StrType())] if name not in USUAL:
            return st.lists(st.sampled_from(NAMED.get(name, INSTANCES)), min_size=1, max_size=2, unique=True)
        case [inspect.DictType()]:
            return st.dictionaries(st.sampled_from(INSTANCES[:4]), st.floats(0.05, 500), min_size=1, max_size=2)
        case [inspect.CollectionType(), inspect.DictType()]:
            times = ["RTX 4090=46ms", "g4dn.xlarge=3.1it/s", "T4@8=120 img/s", "A100-SXM4-40GB=14min/epoch", "T4=fast"]
            return st.lists(st.sampled_from(times), min_size=1, max_size=2)
    if field.is_file:
        return st.sampled_from(list(SAMPLES))
    return USUAL[name] if name in USUAL else st.sampled_from(TEXTS[name])


@st.composite
def questions(draw: st.DrawFn, command: str) -> dict:
    """A question with what it needs and up to six other fields, most of which have an answer."""
    fields = fields_of(QUESTIONS[f"/{command}"].question)
    # A log has tests of its own.
    fields = {name: field for name, field in fields.items() if name not in ("custom_gpus", "log")}
    needed = {name for name, field in fields.items() if field.required}
    measured = {"step_ms", "batch", "gpu"}
    if command == "scaleout":
        needed |= {"network"} | (measured if draw(st.booleans()) else {"profile"})
        unwanted = {*OF_PROFILE, "profile"} if "step_ms" in needed else {"step_ms", "parameters"}
        fields = {name: field for name, field in fields.items() if name not in unwanted}
    others = [name for name in fields if name not in needed]
    asked = draw(st.lists(st.sampled_from(others), max_size=6, unique=True))
    asked += [name for one in asked for name in BESIDE.get(one, ()) if name in fields]
    question = {name: draw(values(name, fields[name])) for name in sorted(needed.union(asked))}
    if "step_ms" in question:
        question |= {"gpu": ["V100"]}
    if {"interruptions", "spot_discount"} & question.keys():
        question |= {"market": draw(st.sampled_from(["spot", "any"]))}
    if "second" in question:
        question |= {"profile": "resnet50-128px-b16-g4dn", "second": "resnet50-128px-b256-g4dn"}
    for prefix, key in (("profiled", "profile"), ("second", "second")):
        # Another size or precision than a file's own is refused.
        sample = SAMPLES.get(question.get(key, ""))
        sizes = {} if sample is None else {"batch": sample.batch_size, "pixels": sample.pixels}
        question |= {name: sizes[size] for size in sizes if (name := f"{prefix}_{size}") in question}
    if "latency_ms" in question and "trust_latency" in fields:
        question |= {"trust_latency": True}
    return {name: value for name, value in question.items() if name not in EXCLUDED or EXCLUDED[name] not in question}


def numbers_in(document: object, at: str = "") -> Iterator[tuple[str, float]]:
    match document:
        case dict():
            for name, value in document.items():
                yield from numbers_in(value, f"{at}.{name}")
        case list():
            for place, value in enumerate(document):
                yield from numbers_in(value, f"{at}[{place}]")
        case float() | int():
            yield at, document


def check(document: object) -> None:
    """Every number is finite, every interval has its point between its ends, and chances are shares."""
    numbers = dict(numbers_in(document))
    assert numbers and all(map(math.isfinite, numbers.values()))
    for place, number in numbers.items():
        owner, _, name = place.rpartition(".")
        if name.startswith("low_"):
            unit = name.removeprefix("low_")
            points = (f"{owner}.{what}_{unit}" for what in ("latency", "total"))
            (point,) = [numbers[key] for key in points if key in numbers]
            assert 0 <= number <= point <= numbers[f"{owner}.high_{unit}"], place
        elif name.endswith("_low") and (point := numbers.get(place.removesuffix("_low"))) is not None:
            assert 0 <= number <= point <= numbers[f"{place.removesuffix('_low')}_high"], place
        elif name in ("certainty", "in_time", "in_budget", "probability", "waiting"):
            assert 0 <= number <= 1, place


def by_python(context: Context, command: str, asked: dict) -> object:
    """The document; None if it is refused."""
    endpoint = QUESTIONS[f"/{command}"]
    try:
        question = ask(
            endpoint.question, asked, read=lambda field, value, _: read_profile(json.dumps(value).encode(), field.name)
        )
        answer = endpoint.answer(context, question)
    except ProfetError as error:
        assert str(error).isprintable() and str(error)
        return None
    return json.loads(json_of(answer))


def by_command(command: str, asked: dict) -> object:
    first = [asked[name] for name in ("network" if command == "estimate" else "profile",) if name in asked]
    others = {name: value for name, value in asked.items() if value is not False and [value] != first}
    # As text, too.
    for more in ((), ("--format", "json")):
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            status = main([command, *first, *options(others), *more])
        assert status == 0 or (status == 2 and err.getvalue().count("\n") == 1), err.getvalue()
        assert status == 0 or not out.getvalue()
        assert "nan" not in out.getvalue().lower().split()
    return json.loads(out.getvalue()) if status == 0 else None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("command", [path.strip("/") for path in QUESTIONS])
def test_an_answer_has_finite_numbers_in_their_order_the_same_everywhere(models, catalog, post, command, examples):
    context, fields = Context(models, catalog, load_gpus()), fields_of(QUESTIONS[f"/{command}"].question)
    answers = 0

    @settings(max_examples=EXAMPLES[examples])
    @given(questions(command))
    def ask(asked: dict) -> None:
        nonlocal answers
        named = [name for name in asked if fields[name].is_file]
        sent = asked | {name: json.loads(SAMPLES[asked[name]].data) for name in named}
        expected = by_python(context, command, sent)
        if expected is not None:
            answers += 1
            check(expected)
        if examples == "HTTP":
            answer = post(f"/v1/{command}", sent)
            assert (answer.status, answer.document if expected else None) == (200 if expected else 422, expected)
        else:
            printed = by_command(command, asked | {name: str(SAMPLES[asked[name]].path) for name in named})
            assert named_as_fields(printed) == named_as_fields(expected)

    ask()
    assert answers > EXAMPLES[examples] / 8, "most questions are refused"


MEASURED = {"step_ms": 203.0, "gpu": ["V100"], "batch": 64, "network": "ResNet50"}
TOGETHER = [
    ("estimate", {"epochs": 2}, "images"),
    ("estimate", {"validation_images": 5}, "images"),
    ("estimate", {"measured": ["T4=14min/epoch"]}, "images"),
    ("advise", {"interruptions": "0-5%"}, "market"),
    ("advise", {"interruptions": "2", "market": "on-demand"}, "market"),
    ("advise", {"checkpoint_minutes": 5.0, "market": "spot"}, "interruptions"),
    ("advise", {"restart_minutes": 5.0}, "interruptions"),
    ("advise", {"spot_discount": 0.5}, "market"),
    ("advise", {"network": "ResNet50", "parameters": 25_600_000.0}, "parameters"),
    ("advise", {"at_once": True}, "runs"),
    ("cost", {"at_once": True, "runs": 1}, "runs"),
    ("cost", {"with_loading": True, "images_per_s_per_vcpu": 120.0}, "images_per_s_per_vcpu"),
    ("cost", {"second_batch": 64}, "second"),
    ("predict", {"latency_ms": 203.0, "without_latency": True}, "without_latency"),
    ("predict", {"measured_trace_latency_ms": 203.0}, "measured_trace"),
    ("scaleout", {"spot_discount": 0.5, **MEASURED}, "market"),
    ("scaleout", {"precision": "amp", **MEASURED}, "step_ms"),
    ("scaleout", {"checkpointing": True, **MEASURED}, "step_ms"),
]


@pytest.mark.parametrize(("command", "asked", "beside"), TOGETHER)
def test_what_has_no_meaning_beside_another_field_or_without_it_names_both(post, command, asked, beside):
    name, sample = next(iter(asked)), SAMPLES["resnet50-128px-b64-g4dn"]
    needed = {"images": 5000} if command in ("cost", "advise") else {}
    needed = {"network": "ResNet50", "batch": 64} if command == "estimate" else needed
    with_profile = {} if command in ("estimate", "scaleout") else {"profile": json.loads(sample.data)}
    answer = post(f"/v1/{command}", {**asked, **needed, **with_profile})
    assert answer.status == 422 and {name, beside} <= set(re.findall(r"\w+", answer.error)), answer.error
    first = [str(sample.path)] if with_profile else [needed.pop("network")] if command == "estimate" else []
    with redirect_stderr(StringIO()) as err:
        assert main([command, *first, *options({**asked, **needed})]) == 2
    options_named = set(re.findall(r"--([a-z-]+)", err.getvalue()))
    assert {one.replace("_", "-") for one in (name, beside)} <= options_named, err.getvalue()


def test_the_same_holds_in_python(models, catalog):
    sample = SAMPLES["resnet50-128px-b64-g4dn"]
    asked = (models, catalog, sample.profile, sample.anchor)
    for refused, fields in (
        (lambda: predict(*asked, latency_ms=203.0, without_latency=True), ("without_latency", "latency_ms")),
        (lambda: advise(*asked, images=None, epochs=2), ("epochs", "images")),
        (lambda: advise(*asked, images=5000, interruptions="2"), ("interruptions", "market")),
        (lambda: estimate(models, catalog, "resnet50", batch=8, epochs=2), ("epochs", "images")),
    ):
        with pytest.raises(InputError) as caught:
            refused()
        assert caught.value.fields == fields


def named_as_fields(document: object) -> str:
    """Warnings name options on the command line."""
    return re.sub(r"--[a-z-]+", lambda match: match[0][2:].replace("-", "_"), json.dumps(document))
