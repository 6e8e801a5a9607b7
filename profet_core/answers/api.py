"""Python API: one function per question; each raises ProfetError, one line that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, cast, get_type_hints

from msgspec import Struct

from profet_core.answers.advise import answer_advise
from profet_core.answers.context import Context
from profet_core.answers.estimate import answer_estimate
from profet_core.answers.predict import predicted_question
from profet_core.answers.scaleout import answer_scaleout
from profet_core.catalog import load_catalog as read_catalog
from profet_core.catalog.collection import Catalog
from profet_core.catalog.custom_gpus import CustomGpu, custom_gpus_path, read_custom_gpus, with_offers_of
from profet_core.catalog.gpus import AS_PROFILED, load_gpus
from profet_core.layers.by_name import step_by_counts
from profet_core.layers.custom_gpu import with_custom_gpus
from profet_core.prediction import models as shipped
from profet_core.prediction import predict as prediction
from profet_core.prediction.models import Models
from profet_core.prediction.predict import Predictions
from profet_core.questions import (
    OFFER_FIELDS,
    AdviseQuestion,
    EstimateQuestion,
    PredictQuestion,
    ScaleoutQuestion,
    ask,
    fields_of,
)
from profet_profiles.record import Profile


def load_models(folder: Path | str | None = None) -> Models:
    """Load a models folder (None: `$PROFET_HOME`, else the shipped one) and the specs of your custom GPUs.

    Raises ArtifactError if the manifest is missing, was changed, or was written by another version of this project.
    """
    return with_custom_gpus(shipped.load_models(folder), _custom_gpus())


def load_catalog(path: Path | str | None = None, *, own: Path | None = None) -> Catalog:
    """Load the catalog, including your custom instances and GPUs; CatalogError names an invalid row and column.

    Parameters
    ----------
    path : a CSV file to read alone; None: the shipped catalog.
    own : your file of instances; None: the default file.
    """
    if path is not None:
        return read_catalog(Path(path))
    return with_offers_of(read_catalog(own=own), _custom_gpus())


def predict_many(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    anchor: str,
    *,
    latencies_ms: Sequence[float] | None = None,
    trust_latency: bool = False,
    network: str | None = None,
    targets: Sequence[str] | None = None,
    method: str = "default",
    precision: str = AS_PROFILED,
    training_code: str = AS_PROFILED,
) -> Predictions:
    """Predict profiles of one anchor, each made on access; other parameters as `predict` takes them.

    Parameters
    ----------
    latencies_ms : one latency on the anchor for every profile, milliseconds, or None for none of them.
    network : of all of them.
    """
    return prediction.predict_many(
        models,
        catalog,
        profiles,
        anchor,
        latencies_ms=latencies_ms,
        trust_latency=trust_latency,
        targets=targets,
        method=method,
        precision=precision,
        training_code=training_code,
        by_counts=partial(step_by_counts, given=network),
    )


Fields = ParamSpec("Fields")
Asked = TypeVar("Asked", bound=Struct)
Answer = TypeVar("Answer")


def _function(
    name: str,
    purpose: str,
    question: Callable[Fields, Asked],
    answer: Callable[[Context, Asked], Answer],
    without: Collection[str] = (),
) -> Callable[Concatenate[Models, Catalog, Fields], Answer]:
    """Make the function of a question, whose parameters are the question's fields, but for those it is `without`."""
    kind = cast(type[Asked], question)

    def asking(models: Models, catalog: Catalog, /, *first: Fields.args, **fields: Fields.kwargs) -> Answer:
        if unknown := next((field for field in fields if field in without), None):
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown!r}")
        context = Context(models, catalog, models.transfer.gpus)
        return answer(context, ask(kind, {**dict(zip(positional, first, strict=False)), **fields}))

    types = get_type_hints(kind)
    own = [parameter.replace(annotation=types[parameter.name]) for parameter in signature(kind).parameters.values()]
    own = [parameter for parameter in own if parameter.name not in without]
    positional = [parameter.name for parameter in own if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD]
    shared = list(signature(asking).parameters.values())[:2]
    asking.__name__ = asking.__qualname__ = name
    asking.__signature__ = Signature([*shared, *own])  # type: ignore[attr-defined]
    lines = [f"{field.name} : {field.help}" for field in fields_of(kind).values() if field.name not in without]
    asking.__doc__ = "\n".join([purpose, "", "Parameters", "----------", *lines])
    return asking


predict = _function(
    "predict",
    "Predict one profile's step latency on every offer, or on `targets`.",
    PredictQuestion,
    predicted_question,
    OFFER_FIELDS,
)
advise = _function("advise", "Recommend which offer to rent for a training.", AdviseQuestion, answer_advise)
estimate = _function(
    "estimate",
    "Estimate a network's step latency on every offer, without a profile.",
    EstimateQuestion,
    answer_estimate,
)
scaleout = _function("scaleout", "Predict step latency and cost on several GPUs.", ScaleoutQuestion, answer_scaleout)


def _custom_gpus() -> tuple[CustomGpu, ...]:
    return read_custom_gpus(custom_gpus_path(), load_gpus())
