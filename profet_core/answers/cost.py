"""Time, cost and memory fit of a training on every instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from profet_core.answers.narrowed import narrowed_knowledge, narrowed_rows
from profet_core.answers.questions import Knowledge, Spelling, TrainingQuestion
from profet_core.answers.training import PredictedTraining, fits_in_training, predicted_training
from profet_core.cost import CostTable, cost_table
from profet_core.energy.estimate import Energy, training_energy
from profet_core.energy.regions import load_regions
from profet_core.memory.fit import FitAnswer


@dataclass(frozen=True, slots=True)
class CostAnswer:
    """Costs, the training, memory fit per instance, and the training's energy."""

    training: PredictedTraining
    table: CostTable
    fits: Mapping[str, FitAnswer]
    energy: Mapping[str, Energy | None]


def answer_cost(knowledge: Knowledge, question: TrainingQuestion, spelling: Spelling) -> CostAnswer:
    """Predict and cost.

    Raises
    ------
    ProfetError : the question is invalid; one line says what is wrong and what to do.
    """
    narrowing = question.narrowing
    knowledge, names = narrowed_knowledge(knowledge, narrowing)
    knowledge = replace(knowledge, catalog=knowledge.catalog.with_prices(question.price))
    training = predicted_training(knowledge, question, spelling)
    anchor = training.prediction.anchor
    wanted = {row.instance for row in narrowed_rows(training.steps.step_times, narrowing, names, anchor)}
    table = cost_table(
        {name: latency_ms for name, latency_ms in training.steps.latencies_ms.items() if name in wanted},
        knowledge.catalog,
        images=training.steps.batch_size if question.images is None else question.images,
        validation_images=question.validation_images,
        batch_size=training.steps.batch_size,
        epochs=question.epochs,
        anchor=anchor,
    )
    fits = fits_in_training(knowledge, training, [row.instance for row in table.rows])
    regions = load_regions()
    energy = {
        row.instance: training_energy(row.total_s, knowledge.catalog[row.instance], knowledge.gpus, regions)
        for row in table.rows
    }
    return CostAnswer(training, table, fits, energy)
