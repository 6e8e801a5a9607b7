"""The questions that `predict`, `cost` and `advise` ask, made of their arguments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from profet_cli.inputs import open_catalog, open_models, own_gpus, read_profile_file
from profet_core.answers.questions import Knowledge, PredictQuestion, ProfileQuestion, Spelling, TrainingQuestion
from profet_core.catalog import load_gpus

COMMAND_LINE = Spelling("TRACE", lambda name: f"--{name.replace('_', '-')}")

Question = TypeVar("Question", bound=ProfileQuestion)
Training = TypeVar("Training", bound=TrainingQuestion)


def open_knowledge(options: argparse.Namespace) -> Knowledge:
    """The models the arguments name, else the shipped ones, and the catalog with the user's files over it."""
    return Knowledge(open_models(options), open_catalog(options), load_gpus()).with_own_gpus(own_gpus(options))


def predict_question(options: argparse.Namespace) -> PredictQuestion:
    """The question of `predict`, its profiles read."""
    return _question(PredictQuestion, options, {})


def training_question(options: argparse.Namespace, kind: type[Training]) -> Training:
    """The question of `cost` or `advise`, its profiles read."""
    second = None if options.second is None else read_profile_file(options.second)
    made = {"price": dict(options.price), "second": second, "second_steps": None}
    return _question(kind, options, made)


def _question(kind: type[Question], options: argparse.Namespace, made: Mapping[str, Any]) -> Question:
    """A question of the options of its fields' names, and of what was made of others."""
    # Another profile is of interest only where something was measured.
    reference = options.measured_trace if options.measured else None
    made = {
        **made,
        "profile": read_profile_file(options.trace),
        "measured": dict(options.measured),
        "measured_trace": read_profile_file(reference) if reference else None,
    }
    given: dict[str, Any] = {
        field.name: getattr(options, field.name) for field in fields(kind) if field.name not in made
    }
    return kind(**given, **made)
