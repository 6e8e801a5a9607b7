"""Where a question's profile was recorded: as the question says, or by the GPU that the profile names."""

from __future__ import annotations

from profet_core.answers.questions import Knowledge, ProfileQuestion, Spelling
from profet_core.errors import InputError, NoPredictionError
from profet_core.prediction.anchors import anchor_names, find_anchor, recorded_on, unknown_gpu
from profet_core.prediction.refusals import refusal


def question_anchor(knowledge: Knowledge, question: ProfileQuestion, spelling: Spelling) -> str:
    """The anchor's name, as `predict` takes it.

    Raises
    ------
    InputError : the anchor is neither an instance nor a GPU that is known, or there is none and the profile names no
        GPU that gives it.
    NoPredictionError : nothing is known of the GPU that the profile names.
    """
    models = knowledge.models
    if question.anchor is not None:
        return find_anchor(models, knowledge.catalog, question.anchor).name
    recorded, option = question.profile.meta.gpu, spelling.option("anchor")
    if recorded is None:
        # What no anchor would help.
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
