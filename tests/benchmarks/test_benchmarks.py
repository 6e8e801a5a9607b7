"""The list of modules in docs/ARCHITECTURE.md is the way of one prediction; many visitors are answered."""

from __future__ import annotations

import asyncio
import re
import time

import psutil
import pytest

from benchmarks.__main__ import BenchmarkFigure, limited
from benchmarks.code import called
from benchmarks.served_app import served, served_endpoint
from benchmarks.visitors import ACTIONS, Level, visit
from profet_core.answers.advise import advise_training
from profet_core.answers.context import Context
from profet_core.answers.predict import predicted_question, predicted_training
from profet_core.questions import AdviseQuestion

#: The page and what it asks with; a run of the core doesn't enter them.
PAGE = ["pages/predict/predict.py", "ui/predicted.py"]


def test_the_modules_of_a_prediction_are_listed_in_order_and_once(repository, models, catalog, samples):
    text = (repository / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text[text.index("| stage | modules |") : text.index("A stage takes and returns")]
    names = re.findall(r"`([\w/]+\.py)`", table)
    outside = ("pages/", "ui/", "profet_profiles/")
    listed = [name if name.startswith(outside) else f"profet_core/{name}" for name in names]
    assert len(listed) == len(set(listed)) and listed[:2] == PAGE

    context = Context(models, catalog, models.transfer.gpus)
    sample = samples["resnet50-224px-b64-g4dn"]
    question = AdviseQuestion(profile=sample.profile, anchor=sample.anchor, images=50_000, at_batch=100)

    def as_the_page_asks() -> None:
        prediction = predicted_question(context, question)
        training = predicted_training(context, question, prediction)
        assert advise_training(context, question, training).advice.recommended.cards

    # What is loaded once is loaded.
    as_the_page_asks()
    entered = dict.fromkeys(module for module, _ in called(as_the_page_asks))
    assert [module for module in entered if not module.startswith("tests/")] == listed[2:]
    assert all((repository / name).is_file() for name in PAGE)


#: A busy machine takes its time.
_LONG_S = 600.0


def test_a_visitor_does_everything_once():
    seen = Level()

    async def once(url: str) -> None:
        async with asyncio.timeout(_LONG_S):
            await visit(url, list(ACTIONS.values()), 0.0, (0.0, float("inf")), seen)

    with served() as url:
        asyncio.run(once(url))
    assert seen.failures == []
    assert len(seen.first_page_s) == 1 and len(seen.action_s) == len(ACTIONS)


def test_a_part_that_takes_too_long_is_stopped_and_its_server_with_it():
    before = set(psutil.Process().children())
    with pytest.raises(SystemExit, match="stopped after 2 s"), limited(2), served_endpoint():
        time.sleep(60)
    assert set(psutil.Process().children()) <= before


def test_a_missed_target_is_pointed_out():
    figure = BenchmarkFigure("a figure", [1.0, 1.2, 9.0], "s", 1.1)
    assert figure.row.endswith("MISSED")
