"""Questions as they are declared: what they say again elsewhere, values of every form, what contradicts what."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core import InputError
from profet_core.layers.estimate import OPTIMIZERS
from profet_core.prediction.sizes import SCALE_METHODS
from profet_core.questions import (
    AdviseQuestion,
    EstimateQuestion,
    InstancesQuestion,
    PredictQuestion,
    ScaleoutQuestion,
    ScaleQuestion,
    ask,
    fields_of,
)
from profet_core.training.scaling_model import Strategy
from profet_core.training.several_gpus import GRADIENT_BYTES
from profet_profiles import Profile

CURVE = {"instance": "T4", "axis": "batch", "min_ms": 10, "max_ms": 90, "at": 64}
PROFILE = {"profile": Profile({"Device_Conv2D": 1.0})}
QUESTIONS = (InstancesQuestion, PredictQuestion, AdviseQuestion, EstimateQuestion, ScaleoutQuestion, ScaleQuestion)


def test_choices_are_those_of_the_answer():
    for question, name, known in (
        (EstimateQuestion, "optimizer", OPTIMIZERS),
        (ScaleoutQuestion, "strategy", Strategy),
        (ScaleoutQuestion, "gradients", GRADIENT_BYTES),
        (ScaleQuestion, "method", SCALE_METHODS),
    ):
        assert set(fields_of(question)[name].choices) == set(known)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_field_needs_or_excludes_is_a_field(question):
    fields = fields_of(question)
    for field in fields.values():
        assert field.help and not field.help.endswith(".")
        assert not field.needs or {*field.needs} & {*fields, "profile"}


@pytest.mark.parametrize(
    ("given", "texts", "expected"),
    [
        ({"gpu": "T4,V100"}, {"gpu": ["T4", "V100"]}, ["T4", "V100"]),
        ({"gpu_count": 8}, {"gpu_count": ["8"]}, [8]),
        ({"epochs": np.int64(3)}, {"epochs": ["3"]}, 3),
        ({"budget_usd": 5}, {"budget_usd": ["5"]}, 5.0),
        ({"price": {"T4": 0.4}}, {"price": ["T4 = 0.4"]}, {"T4": 0.4}),
        ({"parameters": 25.6e6}, {"parameters": ["25.6M"]}, 25.6e6),
        ({"whole_nodes": True}, {"whole_nodes": [""]}, True),
    ],
)
def test_a_value_and_its_text_are_the_same(given, texts, expected):
    (name,) = given
    for asked in (
        ask(AdviseQuestion, {**PROFILE, "images": 5, **given}),
        ask(AdviseQuestion, {**PROFILE, "images": ["5"], **texts}, of_texts=True),
    ):
        assert getattr(asked, name) == expected and type(getattr(asked, name)) is type(expected)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, ("images",)),
        ({"images": 5, "epochs": 0}, ("epochs",)),
        ({"images": 5, "epochs": True}, ("epochs",)),
        ({"images": 5, "budget_usd": float("nan")}, ("budget_usd",)),
        ({"images": 5, "price": {"T4": -1}}, ("price",)),
        ({"images": 5, "region": "a\nb"}, ("region",)),
        ({"images": 5, "dataset_gib": 5}, ("dataset_gib", "storage_usd_per_gib_month")),
        ({"images": None, "epochs": 2}, ("epochs", "images")),
        ({"images": 5, "network": "VGG16", "parameters": 5}, ("parameters", "network")),
        ({"images": 5, "interruptions": "2"}, ("interruptions", "market")),
        ({**CURVE, "fixed_classes": True}, ("fixed_classes", "axis")),
    ],
)
def test_what_can_t_be_used_names_its_fields(given, fields):
    with pytest.raises(InputError) as refused:
        ask(ScaleQuestion if "axis" in given else AdviseQuestion, given if "axis" in given else {**PROFILE, **given})
    assert refused.value.fields == fields and str(refused.value).isprintable()
