"""Entry points for pages, CLI, HTTP and Python: question in, answer and its document out.

Each raises ProfetError for an invalid question: one line that says what is wrong and what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec import Struct

from profet_core.answers.document import Document


class Entry(Struct, frozen=True):
    """A question that commands and requests ask; what answers it is imported when it is asked.

    Attributes
    ----------
    asked : the class of `questions`.
    module : beside this one; `answer_NAME` there answers, and `NameDocument` is the answer as JSON.
    """

    name: str
    summary: str
    asked: str
    module: str

    @property
    def question(self) -> type[Struct]:
        """The question's struct."""
        question: type[Struct] = getattr(import_module("profet_core.questions"), self.asked)
        return question

    @property
    def answer(self) -> Callable[..., Any]:
        """What answers a question in a context."""
        answer: Callable[..., Any] = getattr(self._module, f"answer_{self.name}")
        return answer

    @property
    def document(self) -> type[Document]:
        """The answer as JSON."""
        document: type[Document] = getattr(self._module, f"{self.name.title()}Document")
        return document

    @property
    def _module(self) -> Any:
        return import_module(f"profet_core.answers.{self.module}")


_EVERY = (
    Entry("predict", "predict the step latency of a profiled network on every instance", "PredictQuestion", "predict"),
    Entry("scale", "predict the latency at a size between two measured ones", "ScaleQuestion", "sizes"),
    Entry("cost", "predict time and cost of a training on every instance", "TrainingQuestion", "advise"),
    Entry("advise", "recommend an instance for a training", "AdviseQuestion", "advise"),
    Entry(
        "estimate",
        "estimate the step latency of a network from its layers, without a profile",
        "EstimateQuestion",
        "estimate",
    ),
    Entry("scaleout", "predict time and cost of a training on 1 to 64 GPUs", "ScaleoutQuestion", "scaleout"),
)
ENTRIES = {entry.name: entry for entry in _EVERY}
