"""The endpoints that answer questions: the same documents as the command line's `--format json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from profet_core.answers.advise import answer_advise, answer_cost
from profet_core.answers.context import Context, answer_instances
from profet_core.answers.documents import ADVICE, COSTS, OFFERS, PREDICTION
from profet_core.answers.estimate import ESTIMATE, ESTIMATED, answer_estimate, named_question, with_profiled
from profet_core.answers.fields import MAX_TEXT_CHARACTERS, Field, Fields, Kind
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import (
    ADVISE,
    COST,
    INSTANCES,
    PREDICT,
    AdviseQuestion,
    InstancesQuestion,
    PredictQuestion,
    TrainingQuestion,
)
from profet_core.answers.scaleout import SCALED_OUT, SCALEOUT, answer_scaleout, scaleout_question
from profet_core.answers.schema import Type
from profet_core.catalog.custom_gpus import GPU_COLUMNS, MAX_CUSTOM_GPUS, checked_custom_gpus, custom_gpu_from
from profet_core.errors import InputError, ProfetError
from profet_recorder.profiles.profet_json import parse_json

Values = Mapping[str, Any]


def _parsed(text: str) -> object:
    try:
        return parse_json(text.encode())
    except ProfetError:
        raise ValueError from None


#: Custom GPUs of one request, in JSON also in a query or a form; the commands have a file of them.
CUSTOM_GPUS = Kind(
    f"a list of at most {MAX_CUSTOM_GPUS} objects with {', '.join(GPU_COLUMNS[:2])} and other known columns",
    {
        "type": "array",
        "maxItems": MAX_CUSTOM_GPUS,
        "items": {
            "type": "object",
            "required": list(GPU_COLUMNS[:2]),
            "additionalProperties": False,
            "properties": {name: {"type": ["string", "number", "null"]} for name in GPU_COLUMNS},
        },
    },
    _parsed,
    longest=MAX_CUSTOM_GPUS * MAX_TEXT_CHARACTERS * len(GPU_COLUMNS),
)
_CUSTOM_GPUS = Field(
    CUSTOM_GPUS, "custom GPUs for this request, with the columns of `profet gpus`; each is also an instance"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is asked at one path: checked values, their profiles read, have an answer, which has a document."""

    summary: str
    fields: Fields
    answer: Callable[[Context, Values], object]
    document: Type


def _endpoint(
    summary: str,
    fields: Fields,
    answer: Callable[[Context, Any], object],
    question: Callable[..., object],
    document: Type,
) -> Endpoint:
    """An endpoint that also takes custom GPUs, which are part of what the question is asked of."""

    def answered(context: Context, values: Values) -> object:
        own = []
        for cells in values.get("own_gpus", ()):
            row = custom_gpu_from({name: str(cell) for name, cell in cells.items() if cell is not None}, context.gpus)
            own.append(row)
            if row.instance in context.catalog:
                raise InputError(f"Instance {row.instance} exists: give {row.name} another name.")
        others = {name: value for name, value in values.items() if name != "own_gpus"}
        return answer(context.with_custom_gpus(checked_custom_gpus(own)), question(**others))

    return Endpoint(summary, {**fields, "own_gpus": _CUSTOM_GPUS}, answered, document)


_PREDICT = "Predict the step latency of a profiled network on every instance."
_COST = "Predict time and cost of a training on every instance."
#: Path -> the question that is posted there.
QUESTIONS: Mapping[str, Endpoint] = {
    "/predict": _endpoint(_PREDICT, PREDICT, answer_predict, PredictQuestion.from_fields, PREDICTION),
    "/cost": _endpoint(_COST, COST, answer_cost, TrainingQuestion.from_fields, COSTS),
    "/advise": _endpoint(
        "Recommend an instance for a training.", ADVISE, answer_advise, AdviseQuestion.from_fields, ADVICE
    ),
    "/estimate": _endpoint(
        "Estimate the step latency of a named network without a profile.",
        ESTIMATE,
        answer_estimate,
        lambda **values: named_question(**with_profiled(values)),
        ESTIMATED,
    ),
    "/scaleout": _endpoint(
        "Predict time and cost of a training on 1 to 64 GPUs.",
        SCALEOUT,
        answer_scaleout,
        lambda **values: scaleout_question(values),
        SCALED_OUT,
    ),
}
LISTING = Endpoint(
    "List the catalog: GPUs, prices, dates and the basis of predictions.",
    INSTANCES,
    lambda context, values: answer_instances(context.models, context.catalog, InstancesQuestion(**values)),
    OFFERS,
)
