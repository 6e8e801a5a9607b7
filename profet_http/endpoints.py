"""The endpoints that answer questions: the same documents as the command line's `--format json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profet_core.answers.advise import answer_advise, answer_cost
from profet_core.answers.estimate import (
    ESTIMATE,
    ESTIMATED,
    EstimateQuestion,
    answer_estimate,
    named_question,
    with_profiled,
)
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import Context, answer_instances
from profet_core.answers.scaleout import SCALED_OUT, SCALEOUT, ScaleoutQuestion, answer_scaleout, scaleout_question
from profet_core.catalog.own_gpus import GPU_COLUMNS, MAX_OWN_GPUS, checked_own_gpus, own_gpu_of
from profet_core.documents.advice import ADVICE
from profet_core.documents.answers import COSTS, PREDICTION
from profet_core.documents.parts import OFFERS
from profet_core.documents.records import Type
from profet_core.errors import InputError, ProfetError
from profet_core.fields.field import MAX_TEXT_CHARACTERS, Field, Fields, Kind, checked_text, list_of, of_types
from profet_core.fields.questions import (
    ADVISE,
    COST,
    INSTANCES,
    PREDICT,
    AdviseQuestion,
    FieldNames,
    InstancesQuestion,
    PredictQuestion,
    TrainingQuestion,
)
from profet_core.profiles.profet_json import parse_json

#: Requests name fields as questions do.
REQUEST = FieldNames("profile", lambda name: name)

Values = Mapping[str, Any]


def _own_gpu(value: object) -> dict[str, str]:
    """What it says, for `own_gpu_of`."""
    if not isinstance(value, dict) or not value.keys() <= set(GPU_COLUMNS):
        raise ValueError
    given = {name: cell for name, cell in value.items() if cell is not None}
    return {name: checked_text(cell if isinstance(cell, str) else str(_real(cell))) for name, cell in given.items()}


def _parsed(texts: Sequence[str]) -> object:
    """The same list in JSON."""
    if len(texts) != 1 or len(texts[0]) > MAX_OWN_GPUS * MAX_TEXT_CHARACTERS * len(GPU_COLUMNS):
        raise ValueError
    try:
        return parse_json(texts[0].encode())
    except ProfetError:
        raise ValueError from None


_real = of_types(int, float)
_OWN_GPUS = {
    "type": "array",
    "maxItems": MAX_OWN_GPUS,
    "items": {
        "type": "object",
        "required": list(GPU_COLUMNS[:2]),
        "additionalProperties": False,
        "properties": {name: {"type": ["string", "number", "null"]} for name in GPU_COLUMNS},
    },
}
#: Custom GPUs of one request; the commands have a file of them.
OWN_GPUS = Kind(
    f"a list of at most {MAX_OWN_GPUS} objects with {', '.join(GPU_COLUMNS[:2])} and other known columns",
    _OWN_GPUS,
    list_of(_own_gpu, MAX_OWN_GPUS),
    str,
    _parsed,
)
_MORE = {
    "own_gpus": Field(
        OWN_GPUS, "custom GPUs for this request, with the columns of `profet gpus`; each is also an instance"
    )
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is asked at one path.

    Attributes
    ----------
    summary : what for, one line.
    answer : the answer to checked values, their profiles read; ProfetError if there is none. document : its JSON.
    """

    summary: str
    fields: Fields
    answer: Callable[[Context, Values], object]
    document: Type


def _asked(
    answer: Callable[[Context, Any, FieldNames], object], question: Callable[..., Any]
) -> Callable[[Context, Values], object]:
    """The answer to a question of the values; custom GPUs are part of what it is asked of."""

    def answered(context: Context, values: Values) -> object:
        return answer(*_with_own_gpus(context, values, question), REQUEST)

    return answered


def _with_own_gpus(context: Context, values: Values, question: Callable[..., Any]) -> tuple[Context, Any]:
    """The context with the request's own GPUs, and the question of its other values."""
    own = [own_gpu_of(cells, context.gpus) for cells in values.get("own_gpus", ())]
    for row in own:
        if row.instance in context.catalog:
            raise InputError(f"Instance {row.instance} exists: give {row.name} another name.")
    others = {name: value for name, value in values.items() if name != "own_gpus"}
    return context.with_own_gpus(checked_own_gpus(own)), question(**others)


def _scaleout(**values: Any) -> ScaleoutQuestion:
    return scaleout_question(values, REQUEST)


def _estimate(**values: Any) -> EstimateQuestion:
    return named_question(**with_profiled(values, REQUEST))


def _instances(context: Context, values: Values) -> object:
    return answer_instances(context.models, context.catalog, InstancesQuestion(**values))


#: Path -> the question that is posted there.
QUESTIONS: Mapping[str, Endpoint] = {
    "/predict": Endpoint(
        "Predict the step latency of a profiled network on every instance.",
        {**PREDICT, **_MORE},
        _asked(answer_predict, PredictQuestion),
        PREDICTION,
    ),
    "/cost": Endpoint(
        "Predict time and cost of a training on every instance.",
        {**COST, **_MORE},
        _asked(answer_cost, TrainingQuestion),
        COSTS,
    ),
    "/advise": Endpoint(
        "Recommend an instance for a training.", {**ADVISE, **_MORE}, _asked(answer_advise, AdviseQuestion), ADVICE
    ),
    "/estimate": Endpoint(
        "Estimate the step latency of a named network without a profile.",
        {**ESTIMATE, **_MORE},
        _asked(answer_estimate, _estimate),
        ESTIMATED,
    ),
    "/scaleout": Endpoint(
        "Predict time and cost of a training on 1 to 64 GPUs.",
        {**SCALEOUT, **_MORE},
        _asked(answer_scaleout, _scaleout),
        SCALED_OUT,
    ),
}
LISTING = Endpoint("List the catalog: GPUs, prices, dates and the basis of predictions.", INSTANCES, _instances, OFFERS)
