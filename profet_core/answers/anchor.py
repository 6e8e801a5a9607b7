"""Anchor of a question: given, or inferred from the profile's GPU."""

from __future__ import annotations

from profet_core.answers.questions import Knowledge, ProfileQuestion, Spelling
from profet_core.errors import InputError, NoPredictionError
from profet_core.prediction.anchors import anchor_names, find_anchor, recorded_on, unknown_gpu
from profet_core.prediction.refusals import refusal


def question_anchor(knowledge: Knowledge, question: ProfileQuestion, spelling: Spelling) -> str:
    """The anchor's name, as `predict` takes it.

    Raises
    ------
    InputError : the anchor is an unknown instance or GPU, or none is given and the profile's GPU doesn't identify one.
    NoPredictionError : the profile's GPU is unknown.
    """
    models = knowledge.models
    if question.anchor is not None:
        return find_anchor(models, knowledge.catalog, question.anchor).name
    recorded, option = question.profile.meta.gpu, spelling.option("anchor")
    if recorded is None:
        # No anchor could help.
        if reason := refusal(question.profile):
            raise NoPredictionError(reason)
        raise InputError(
            f"{spelling.profile} does not name the GPU it was recorded on: give it with {option}, an instance or a "
            "GPU name."
        )
    if reason := unknown_gpu(models, recorded):
        raise NoPredictionError(reason)
    found = recorded_on(models, recorded)
    if found is None:
        raise InputError(
            f"{spelling.profile} was recorded on {recorded}, which matches more than one GPU: choose with {option} "
            f"one of {', '.join(anchor_names(models))}."
        )
    return found
