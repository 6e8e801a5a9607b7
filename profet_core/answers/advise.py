"""Which instance to rent for a training, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from profet_core.advice.advise import Advice, advise
from profet_core.advice.comparison import Comparison, compare
from profet_core.advice.plans import Plan
from profet_core.advice.request import Limits, Workload
from profet_core.advice.whole_nodes import Gradients, WholeNodes, whole_nodes
from profet_core.answers.narrowed import narrowed_rows
from profet_core.answers.parameters import asked_parameters
from profet_core.answers.questions import AdviseQuestion, Knowledge, Spelling
from profet_core.answers.training import PredictedTraining, fits_in_training, predicted_training
from profet_core.catalog import Instance
from profet_core.catalog.narrowing import narrowed, narrowed_catalog
from profet_core.catalog.offers import offers_in_market
from profet_core.errors import InputError

#: What to say where models lack what scales a step out.
NO_SCALEOUT = "These models don't say how a step goes on several GPUs: get them again (git checkout models)."


@dataclass(frozen=True, slots=True)
class AdviseAnswer:
    """The advice, the training it is for, and two plans compared if that was asked for."""

    training: PredictedTraining
    advice: Advice
    comparison: Comparison | None


def answer_advise(knowledge: Knowledge, question: AdviseQuestion, spelling: Spelling) -> AdviseAnswer:
    """Predict and advise.

    Raises
    ------
    ProfetError : one line that says what is wrong with the question and what to do.
    """
    limits = Limits(question.deadline_hours, question.budget_usd, question.certainty)
    narrowing = question.narrowing
    # Guesses of spot prices are made from on-demand ones: the market narrows last.
    catalog, names = narrowed_catalog(knowledge.catalog, replace(narrowing, market=None), knowledge.gpus)
    offers = offers_in_market(
        catalog, question.market, own_usd_per_hour=question.price, spot_discount=question.spot_discount
    )
    offers = tuple(offer for offer in offers if offer.name in names)
    if not offers:
        # Says what to widen.
        narrowed(knowledge.catalog.all_offers, narrowing, knowledge.gpus)
    training = predicted_training(knowledge, question, spelling)
    steps = training.steps
    nodes = _nodes(knowledge, question, training, offers, spelling)
    rows = narrowed_rows(nodes.rows, narrowing, names, training.prediction.anchor)
    advice = advise(
        [row for row in rows if row.instance in names],
        offers,
        Workload(question.images, steps.batch_size, question.epochs, question.validation_images),
        limits,
        include_retired=question.include_retired,
        fits=fits_in_training(knowledge, training, steps.latencies_ms),
        nodes=nodes.nodes,
        interval_level=training.prediction.interval_level,
    )
    comparison = None if question.compare is None else _compared(advice, question.compare, spelling)
    return AdviseAnswer(training, advice, comparison)


def _nodes(
    knowledge: Knowledge,
    question: AdviseQuestion,
    training: PredictedTraining,
    offers: Sequence[Instance],
    spelling: Spelling,
) -> WholeNodes:
    """Rows of whole nodes, if they are asked for; else of one GPU each."""
    steps = training.steps
    if not question.whole_nodes and question.network is None and question.parameters is None:
        return WholeNodes(steps.step_times, {})
    pixels = steps.pixels or training.pixels
    known = asked_parameters(question.network, question.parameters, training.profile.meta, pixels)
    if known is None:
        network, parameters = spelling.option("network"), spelling.option("parameters")
        raise InputError(f"Say what the GPUs of a node share: the network with {network}, or {parameters}.")
    if knowledge.models.scaleout is None:
        raise InputError(NO_SCALEOUT)
    gradients = Gradients(known.count, pixels=pixels)
    return whole_nodes(knowledge.models.scaleout, steps.step_times, offers, gradients, steps.batch_size)


def _compared(advice: Advice, chosen: Sequence[str], spelling: Spelling) -> Comparison:
    """Both plans that `compare` names by instance, or by 'instance market'."""
    by_name: dict[str, Plan] = {plan.instance: plan for plan in reversed(advice.plans)}
    by_name |= {plan.label: plan for plan in advice.plans}
    unknown = next((name for name in chosen if name not in by_name), None)
    if unknown is not None or len(chosen) != 2:
        wrong = f"not {unknown!r}" if unknown is not None else f"not {len(chosen)} of them"
        plans = ", ".join(plan.label for plan in advice.plans)
        raise InputError(f"{spelling.option('compare')} takes two of {plans}; {wrong}.")
    a, b = (by_name[name] for name in chosen)
    return compare(a, b, advice.request.interval_level)
