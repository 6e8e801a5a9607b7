"""Step latency and memory fit of a profiled network on every instance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from profet_core.answers.anchor import question_anchor
from profet_core.answers.narrowed import narrowed_knowledge, narrowed_rows
from profet_core.answers.questions import Knowledge, PredictQuestion, ProfileQuestion, Spelling
from profet_core.catalog import Catalog
from profet_core.catalog.offers import NoOffersError
from profet_core.errors import InputError, LatencyDoubtError, NoPredictionError, OptionalInputError
from profet_core.memory.fit import FitAnswer, fits_by_instance
from profet_core.prediction.correction import correct_by_measurement
from profet_core.prediction.in_precision import activation_growth, predict
from profet_core.prediction.records import Prediction
from profet_core.prediction.steps import counted, read_as
from profet_core.profiles import Profile
from profet_core.units import whole_number

SIZE_WORDS = {"batch_size": "batch size", "pixels": "pixel size"}


@dataclass(frozen=True, slots=True)
class PredictAnswer:
    """The prediction, the profile with its step count, and memory fit per instance."""

    profile: Profile
    prediction: Prediction
    fits: Mapping[str, FitAnswer]


def answer_predict(knowledge: Knowledge, question: PredictQuestion, spelling: Spelling) -> PredictAnswer:
    """Predict, corrected by latencies measured on targets.

    Raises
    ------
    ProfetError : the question is invalid; one line says what is wrong and what to do.
    """
    narrowing = question.narrowing
    if question.targets is not None:
        question = replace(question, targets=_instances_of(knowledge, question.targets))
    knowledge, names = narrowed_knowledge(knowledge, narrowing)
    _check_wanted(knowledge, question, spelling, names)
    profile, prediction = predicted_question(knowledge, question, spelling, question.targets)
    prediction = corrected(knowledge, question, spelling, profile, prediction)
    rows = narrowed_rows(prediction.predictions, narrowing, names, prediction.anchor)
    prediction = replace(prediction, predictions=tuple(rows))
    instances = [row.instance for row in prediction.predictions]
    fits = fits_by_instance(
        knowledge.models.memory,
        knowledge.catalog,
        knowledge.gpus,
        profile,
        prediction.anchor,
        instances,
        precision_growth=activation_growth(knowledge.models, profile, prediction.precision),
    )
    return PredictAnswer(profile, prediction, fits)


def _instances_of(knowledge: Knowledge, targets: Sequence[str]) -> list[str]:
    """Instances of targets; a target that is a GPU selects all instances with it."""
    found: list[str] = []
    for target in targets:
        gpus = set() if target in knowledge.catalog else {gpu.name for gpu in knowledge.gpus.meant(target)}
        having = [name for name, offer in knowledge.catalog.items() if offer.gpu in gpus]
        # Unknown names are rejected when they are read.
        found += having or [target]
    return list(dict.fromkeys(found))


def _check_wanted(knowledge: Knowledge, question: PredictQuestion, spelling: Spelling, names: Collection[str]) -> None:
    """Reject targets that the filters exclude; unknown ones are rejected when they are read."""
    others = [name for name in question.targets or () if name in knowledge.catalog and name != question.anchor]
    unwanted = [name for name in others if name not in names]
    if unwanted:
        raise NoOffersError(
            f"Not among the selected offers: {', '.join(unwanted)}. Remove {spelling.option('targets')} or the filters."
        )


def predicted_question(
    knowledge: Knowledge, question: ProfileQuestion, spelling: Spelling, targets: Sequence[str] | None = None
) -> tuple[Profile, Prediction]:
    """Predict the question's own profile.

    Returns it with the known sizes and the number of steps used for the prediction.
    """
    profile = read_as(question.profile, question.steps)
    profile = sized(profile, question.profiled_batch, question.profiled_pixels, spelling, "profiled")
    return predicted_profile(knowledge, question, spelling, profile, question.latency_ms, targets)


def predicted_profile(
    knowledge: Knowledge,
    question: ProfileQuestion,
    spelling: Spelling,
    profile: Profile,
    latency_ms: float | None,
    targets: Sequence[str] | None = None,
) -> tuple[Profile, Prediction]:
    """Predict any profile with the question's anchor and method.

    `latency_ms` defaults to the profile's own.

    Returns the profile with the number of steps used for the prediction.

    Raises
    ------
    NoPredictionError : nothing can be predicted from the profile.
    """
    anchor = question_anchor(knowledge, question, spelling)
    if latency_ms is None and not question.without_latency:
        latency_ms = profile.meta.step_latency_ms
    try:
        prediction = predict(
            knowledge.models,
            knowledge.catalog,
            profile,
            anchor,
            latency_ms=latency_ms,
            targets=targets,
            method=question.method,
            trust_latency=question.trust_latency,
            precision=question.precision,
        )
    except LatencyDoubtError as doubt:
        steps = f"{spelling.option('steps')} {doubt.suggested_steps} if so, " if doubt.suggested_steps else ""
        raise doubt.advised(f" Use {steps}{spelling.option('trust_latency')} if it is right.") from None
    return counted(profile, prediction.anchor_latency_ms), prediction


def sized(profile: Profile, batch_size: int | None, pixels: int | None, spelling: Spelling, which: str) -> Profile:
    """The profile with its batch and pixel size, as given or recorded.

    Parameters
    ----------
    which : "profiled" or "second", the prefix of the option names.

    Raises
    ------
    InputError : the profile has a different size.
    """
    meta = profile.meta
    found: dict[str, Any] = {}
    for name, option, given in (("batch_size", "batch", batch_size), ("pixels", "pixels", pixels)):
        recorded = getattr(meta, name)
        if given is not None and recorded is not None and given != recorded:
            raise InputError(
                f"The profile says it was recorded at {SIZE_WORDS[name]} {recorded}, not {given}: remove "
                f"{spelling.option(f'{which}_{option}')}."
            )
        found[name] = recorded if given is None else whole_number(f"The {SIZE_WORDS[name]}", given)
    return replace(profile, meta=replace(meta, **found))


def corrected(
    knowledge: Knowledge, question: ProfileQuestion, spelling: Spelling, profile: Profile, prediction: Prediction
) -> Prediction:
    """Correct the prediction by the latencies in `measured`, which may belong to another profile of the network.

    Raises
    ------
    OptionalInputError : a measured latency can't be used.
    """
    if not question.measured:
        return prediction
    targets = question.targets if isinstance(question, PredictQuestion) else None
    reference, reference_meta = prediction, profile.meta
    if question.measured_trace is not None:
        try:
            measured, reference = predicted_profile(
                knowledge,
                question,
                spelling,
                question.measured_trace,
                question.measured_trace_latency_ms,
                targets,
            )
        except NoPredictionError as error:
            raise NoPredictionError(f"{spelling.option('measured_trace')}: {error}") from None
        reference_meta = measured.meta
    try:
        return correct_by_measurement(
            prediction,
            reference,
            question.measured,
            meta=profile.meta,
            reference_meta=reference_meta,
            same_gpu=_same_gpu(knowledge.catalog, prediction, question.measured),
        )
    except InputError as error:
        raise OptionalInputError(str(error), "measured") from None


def _same_gpu(catalog: Catalog, prediction: Prediction, measured: Collection[str]) -> dict[str, str]:
    """Other target -> the first measured one with the same GPU; the anchor is excluded."""
    by_gpu = {catalog[name].gpu: name for name in reversed(list(measured)) if name in catalog}
    rows = [row for row in prediction.predictions if row.instance in catalog and row.instance != prediction.anchor]
    found = {row.instance: by_gpu.get(catalog[row.instance].gpu) for row in rows}
    return {name: target for name, target in found.items() if target is not None and name not in measured}
