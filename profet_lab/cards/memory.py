"""The card's section on "does it fit?"."""

from __future__ import annotations

from profet_core.accuracy.memory import MemoryAccuracy, MemoryScores
from profet_core.memory.model import MemoryModel
from profet_lab.cards.format import fixed, markdown_table

_HEADER = (
    "what is known",
    "answers",
    "did not run",
    "always fits",
    "can't tell",
    "right where it answers",
    "right of all",
    "recall",
    "false fits",
    "false does not fit",
)
_LIKELIER = ("what is known", "right", "recall", "false fits")


def memory_section(accuracy: MemoryAccuracy, memory: MemoryModel) -> str:
    """Method, figures and limits of the answers on memory."""
    rows = {"layers known": accuracy.layers_known, **accuracy.served}
    law = memory.law
    fitted_on = memory.fitted_on
    return f"""## Does it fit in memory?

Memory needed, on the scale of what the GPU's name says: {law.fixed_gib:.2f} GiB, {law.per_parameter:.2f} times the
parameters, {law.per_convolution:.2f} times the outputs of convolutions and {law.per_other:.2f} times those of other
layers; logistic in its logarithm. Without the layers, activations are told from the profile's times of operations bound
by bandwidth. Fitted on which workloads ran on 8, 12 and 16 GiB: {fitted_on.get("cells", "?")} workloads x GPUs;
{fitted_on.get("did not run", "?")} of them did not run (Inception under 75 pixels cannot be built and is left out).
"Fits" is said from {100 * accuracy.certain:.0f} % on, "does not fit" below {100 * (1 - accuracy.certain):.0f} %, "can't
tell" between: chosen beforehand.

{accuracy.architectures} networks left out in turn. *Layers known*: each workload and GPU once. The other rows are what
a user gets: a profile at batch {accuracy.profiled_batch}, asked for every batch size on every GPU; the row says what is
known of the network. *Always fits*: how often that answer is right. *Recall*: share of what did not run that was said
not to fit; "can't tell" is a miss. *False fits* and *false does not fit*: shares of all answers. All in percent.

{markdown_table(_HEADER, [(name, *_answers(row)) for name, row in rows.items()])}

Made to choose, by the likelier answer:

{markdown_table(_LIKELIER, [(name, *_likelier(row)) for name, row in rows.items() if row.accuracy is not None])}

The aim was a recall of 80 % with false fits in at most 2 % of answers. {_reached(rows)}
Of {accuracy.pairs} workloads that ran on a GPU, asked of one with as much memory, {accuracy.failures} failed there."""


def _answers(row: MemoryScores) -> tuple[str, ...]:
    shares = (
        row.always_fits,
        row.cant_tell,
        row.decided_accuracy,
        row.strict_accuracy,
        row.strict_recall,
        row.strict_false_fits,
        row.false_does_not_fit,
    )
    return str(row.cells), str(row.did_not_run), *(fixed(100 * share) for share in shares)


def _likelier(row: MemoryScores) -> tuple[str, ...]:
    return tuple("" if share is None else fixed(100 * share) for share in (row.accuracy, row.recall, row.false_fits))


def _reached(rows: dict[str, MemoryScores]) -> str:
    """Which rows reach the aim, made to choose and with "can't tell" as a miss."""
    chosen = [
        name for name, row in rows.items() if row.recall is not None and row.recall >= 0.8 and row.false_fits <= 0.02
    ]
    strict = [name for name, row in rows.items() if row.strict_recall >= 0.8 and row.strict_false_fits <= 0.02]
    named = [", ".join(names) or "nothing" for names in (chosen, strict)]
    return f"Made to choose, it is reached with {named[0]}; as said, with {named[1]}. Everything else falls short."
