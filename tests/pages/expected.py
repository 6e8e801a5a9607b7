"""What the pages should show, computed by profet_core.answers alone."""

from __future__ import annotations

from profet_core import Profile
from profet_core.answers.advise import AdviseAnswer, answer_advise
from profet_core.answers.context import Context
from profet_core.answers.predict import answer_predict
from profet_core.catalog import load_gpus
from profet_core.prediction.models import Sample
from profet_core.prediction.predict import Prediction
from profet_core.questions import AdviseQuestion, PredictQuestion, ask
from profet_core.training.advise import Preset, Sort, preset_rows, sorted_rows
from profet_core.training.plans import Plan

FIRST = "resnet50-224px-b64-g4dn"


class Core:
    """Asks profet_core what the pages ask it.

    Parameters
    ----------
    models, catalog : the shipped ones.
    """

    def __init__(self, models, catalog) -> None:
        self.models, self.catalog = models, catalog
        self.context = Context(models, catalog, load_gpus())

    def predict(self, of: Sample | Profile, **fields) -> Prediction:
        """A sample with its own anchor and latency, unless others are given; a profile from a T4."""
        return answer_predict(self.context, ask(PredictQuestion, {**_of(of), **fields})).prediction

    def advise(self, of: Sample | Profile, **fields) -> AdviseAnswer:
        """The training of ImageNet that the page starts with, unless another is given."""
        values = {"images": 1_281_167, "epochs": 90, "include_retired": True, **_of(of), **fields}
        return answer_advise(self.context, ask(AdviseQuestion, values))


def shown_rows(answer: AdviseAnswer, preset: str = "gpus", *, retired: bool = False, keep: str = "") -> list[Plan]:
    """The rows of a preset, the cheapest first."""
    return sorted_rows(preset_rows(answer.rows, Preset(preset), retired=retired, keep=keep), Sort.COST)


def _of(of: Sample | Profile) -> dict:
    if isinstance(of, Sample):
        return {"profile": of.profile, "anchor": of.anchor, "latency_ms": of.latency_ms}
    return {"profile": of, "anchor": "g4dn.xlarge", "without_latency": True}
