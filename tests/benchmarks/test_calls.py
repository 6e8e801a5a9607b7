"""The list of modules in docs/ARCHITECTURE.md is the way that one prediction takes."""

from __future__ import annotations

import re

from benchmarks.code import called
from profet_core.answers.advise import advise_training
from profet_core.answers.context import Context
from profet_core.answers.predict import predicted_question, predicted_training
from profet_core.answers.questions import AdviseQuestion

#: The page and what it asks with; a run of the core doesn't enter them.
PAGE = ["pages/predict/predict.py", "ui/predicted.py"]


def test_the_modules_of_a_prediction_are_listed_in_order_and_once(repository, models, catalog, samples):
    text = (repository / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text[text.index("| stage | modules |") : text.index("A stage takes and returns")]
    names = re.findall(r"`([\w/]+\.py)`", table)
    outside = ("pages/", "ui/", "profet_recorder/")
    listed = [name if name.startswith(outside) else f"profet_core/{name}" for name in names]
    assert len(listed) == len(set(listed)) and listed[:2] == PAGE

    context = Context(models, catalog, models.transfer.gpus)
    sample = samples["resnet50-224px-b64-g4dn"]
    question = AdviseQuestion(profile=sample.profile, anchor=sample.anchor, images=50_000, at_batch=100)

    def as_the_page_asks() -> None:
        prediction = predicted_question(context, question)
        advise_training(context, question, predicted_training(context, question, prediction))

    # What is loaded once is loaded.
    as_the_page_asks()
    entered = dict.fromkeys(module for module, _ in called(as_the_page_asks))
    assert [module for module in entered if not module.startswith("tests/")] == listed[2:]
    assert all((repository / name).is_file() for name in PAGE)
