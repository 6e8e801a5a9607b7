"""The endpoints that answer questions: the same documents as the command line's `--format json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from profet_core.answers.advise import answer_advise
from profet_core.answers.cost import answer_cost
from profet_core.answers.estimate import answer_estimate, named_question
from profet_core.answers.instances import answer_instances
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import (
    AdviseQuestion,
    InstancesQuestion,
    Knowledge,
    PredictQuestion,
    ProfileQuestion,
    Spelling,
    TrainingQuestion,
)
from profet_core.answers.scaleout import answer_scaleout, scaleout_question
from profet_core.catalog.own_gpus import checked_own_gpus, own_gpu_of
from profet_core.documents.advice import advice_document
from profet_core.documents.cost import cost_document
from profet_core.documents.estimate import estimate_document
from profet_core.documents.instances import instances_document
from profet_core.documents.parts import Document
from profet_core.documents.prediction import prediction_document
from profet_core.documents.scaleout import scaleout_document
from profet_core.errors import InputError
from profet_core.precision.names import AS_PROFILED
from profet_http.fields import ADVISE, COST, ESTIMATE, INSTANCES, PREDICT, SCALEOUT, Fields

#: Requests name fields as questions do.
REQUEST = Spelling("profile", lambda name: name)

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is asked at one path.

    Attributes
    ----------
    summary : what for, one line.
    answer : the document that answers checked values, their profiles read; ProfetError if there is none.
    """

    summary: str
    fields: Fields
    answer: Callable[[Knowledge, Values], Document | list[Document]]


def _with_own_gpus(knowledge: Knowledge, values: Values) -> tuple[Knowledge, Values]:
    """The knowledge with the request's own GPUs, and its other values."""
    own = [own_gpu_of(cells, knowledge.gpus) for cells in values.get("own_gpus", ())]
    for row in own:
        if row.instance in knowledge.catalog:
            raise InputError(f"Instance {row.instance} exists: give {row.name} another name.")
    return knowledge.with_own_gpus(checked_own_gpus(own)), {k: v for k, v in values.items() if k != "own_gpus"}


def _predict(knowledge: Knowledge, values: Values) -> Document:
    knowledge, values = _with_own_gpus(knowledge, values)
    answer = answer_predict(knowledge, PredictQuestion(**values), REQUEST)
    return prediction_document(answer.prediction, answer.fits)


def _cost(knowledge: Knowledge, values: Values) -> Document:
    knowledge, values = _with_own_gpus(knowledge, values)
    answer = answer_cost(knowledge, TrainingQuestion(**values), REQUEST)
    training = answer.training
    return cost_document(
        training.prediction.anchor,
        answer.table,
        training.steps.step_times,
        answer.fits,
        answer.energy,
        training.warnings,
    )


def _advise(knowledge: Knowledge, values: Values) -> Document:
    knowledge, values = _with_own_gpus(knowledge, values)
    answer = answer_advise(knowledge, AdviseQuestion(**values), REQUEST)
    training = answer.training
    return advice_document(answer.advice, answer.comparison, training.prediction.anchor, answer.fits, training.warnings)


def _scaleout(knowledge: Knowledge, values: Values) -> Document:
    knowledge, values = _with_own_gpus(knowledge, values)
    return scaleout_document(answer_scaleout(knowledge, scaleout_question(values, REQUEST), REQUEST))


def _instances(knowledge: Knowledge, values: Values) -> list[Document]:
    return instances_document(answer_instances(knowledge.models, knowledge.catalog, InstancesQuestion(**values)))


def _estimate(knowledge: Knowledge, values: Values) -> Document:
    knowledge, values = _with_own_gpus(knowledge, values)
    of_profile = {name: values[name] for name in ("profile", "anchor", "latency_ms") if name in values}
    if of_profile and "profile" not in of_profile:
        raise InputError("anchor and latency_ms need a profile: give it too.")
    profiled = ProfileQuestion(**of_profile, precision=values.get("precision", AS_PROFILED)) if of_profile else None
    asked = {name: value for name, value in values.items() if name not in of_profile}
    answer = answer_estimate(knowledge, named_question(**asked, profiled=profiled), REQUEST)
    return estimate_document(
        answer.estimate,
        answer.costs,
        None if answer.profiled is None else answer.profiled.anchor,
        answer.disagreements,
        answer.warnings,
    )


#: Path -> the question that is posted there.
QUESTIONS: Mapping[str, Endpoint] = {
    "/predict": Endpoint("Predict the step latency of a profiled network on every instance.", PREDICT, _predict),
    "/cost": Endpoint("Predict time and cost of a training on every instance.", COST, _cost),
    "/advise": Endpoint("Recommend an instance for a training.", ADVISE, _advise),
    "/estimate": Endpoint("Estimate the step latency of a named network without a profile.", ESTIMATE, _estimate),
    "/scaleout": Endpoint("Predict time and cost of a training on 1 to 64 GPUs.", SCALEOUT, _scaleout),
}
LISTING = Endpoint("List the catalog: GPUs, prices, dates and the basis of predictions.", INSTANCES, _instances)
