"""Time, cost and memory fit of a training on every instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from profet_core.answers.questions import Context, narrowed_context, narrowed_rows
from profet_core.answers.training import PredictedTraining, fits_in_training, predicted_training
from profet_core.cost import CostTable, cost_table
from profet_core.documents.answers import Costed
from profet_core.energy.estimate import Energy, load_regions, training_energy
from profet_core.fields.questions import FieldNames, TrainingQuestion
from profet_core.memory.fit import FitAnswer


@dataclass(frozen=True, slots=True)
class CostAnswer:
    """Costs, the training, memory fit per instance, and the training's energy."""

    training: PredictedTraining
    table: CostTable
    fits: Mapping[str, FitAnswer]
    energy: Mapping[str, Energy | None]

    @property
    def rows(self) -> list[Costed]:
        """Rows of the table with their steps and energy."""
        steps = {step.instance: step for step in self.training.steps.step_times}
        return [Costed(row, steps[row.instance], self.energy[row.instance]) for row in self.table.rows]


def answer_cost(context: Context, question: TrainingQuestion, field_names: FieldNames) -> CostAnswer:
    """Predict and cost.

    Raises
    ------
    ProfetError : the question is invalid; one line says what is wrong and what to do.
    """
    narrowing = question.narrowing
    context, names = narrowed_context(context, narrowing)
    context = replace(context, catalog=context.catalog.with_prices(question.price))
    training = predicted_training(context, question, field_names)
    anchor = training.prediction.anchor
    wanted = {row.instance for row in narrowed_rows(training.steps.step_times, narrowing, names, anchor)}
    table = cost_table(
        {name: latency_ms for name, latency_ms in training.steps.latencies_ms.items() if name in wanted},
        context.catalog,
        images=training.steps.batch_size if question.images is None else question.images,
        validation_images=question.validation_images,
        batch_size=training.steps.batch_size,
        epochs=question.epochs,
        anchor=anchor,
    )
    fits = fits_in_training(context, training, [row.instance for row in table.rows])
    regions = load_regions()
    energy = {
        row.instance: training_energy(row.total_s, context.catalog[row.instance], context.gpus, regions)
        for row in table.rows
    }
    return CostAnswer(training, table, fits, energy)
