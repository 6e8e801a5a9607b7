"""The part of Accuracy on memory: how often "fits", "does not fit" and "can't tell" were right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import streamlit as st

from pages.about.accuracy.percents import format_percent, percent_in_text
from profet_core.accuracy.memory import MemoryAccuracy, MemoryScores
from ui.state.resources import Resources
from ui.tables import or_missing, show_table
from ui.texts import paragraph

_TEXTS = Path(__file__).parent
#: What the report calls what is known of a network -> what a visitor reads.
_KNOWN = {
    "profile and its meta": "Profile, sizes, parameters",
    "meta without times": "Sizes and parameters",
    "that it ran": "Sizes, and that it ran",
}


def show_memory(resources: Resources, accuracy: MemoryAccuracy) -> None:
    """Words first, then the table."""
    scores = next(iter(accuracy.served.values()))
    catalog = resources.catalog
    sizes = sorted({catalog[instance].gpu_memory_gib for instance in resources.models.instances})
    gib = ", ".join(f"{size:g}" for size in sizes)
    st.subheader("Does it fit in memory?", anchor="memory")
    st.markdown(
        paragraph(
            _TEXTS / "memory_lead.md",
            architectures=accuracy.architectures,
            profiled_batch=accuracy.profiled_batch,
            gib=gib,
            always_fits=_percent(scores.always_fits),
        )
    )
    st.markdown("\n".join(f"- {line}" for line in _must_know(accuracy, scores)))
    show_table(
        [_row("Every layer's output", accuracy.layers_known)]
        + [_row(_capital(known), row) for known, row in accuracy.recorded.items()]
        + [_row(_KNOWN.get(known, known), row) for known, row in accuracy.served.items()],
        "Does it fit: how often the answer was right",
    )
    st.caption(
        "Said not to fit: of what did not run; “can't tell” is a miss there. False “fits”: of all answers. Else right: "
        "where it didn't say “can't tell”. Forced: the likelier answer where it would have said “can't tell”."
    )


def _must_know(accuracy: MemoryAccuracy, scores: MemoryScores) -> Iterator[str]:
    """One line each."""
    yield (
        f"Of what did **not** run it called **{_percent(scores.strict_recall)}** “does not fit” and "
        f"{_percent(scores.left_open)} “can't tell”; **{_percent(scores.called_fitting)}** it wrongly called “fits” "
        f"({_percent(scores.strict_false_fits)} of all answers)."
    )
    yield (
        f"It couldn't tell in **{_percent(scores.cant_tell)}** of all answers; where it did, it was right in "
        f"{_percent(scores.decided_accuracy)}. Of what ran, {_of_all_that_ran(scores)} was called “does not fit”."
    )
    if accuracy.recorded:
        peak = next(iter(accuracy.recorded.values()))
        yield (
            f"With the step's **recorded peak** it calls **{_percent(peak.strict_recall)}** of what did not run “does "
            f"not fit”, with {_percent(peak.strict_false_fits)} false “fits” of all answers: by peaks that were "
            "counted from the same networks' tensors, for the measurements hold none of a GPU."
        )
    if scores.recall is not None:
        yield (
            f"Forced to choose, it would find {_percent(scores.recall)} of what did not run, with "
            f"{_percent(scores.false_fits)} false “fits”. With every layer's output known, which no profile tells: "
            f"{_percent(accuracy.layers_known.recall)} and {_percent(accuracy.layers_known.false_fits)}."
        )
    failed = f"{accuracy.failures:,}" if accuracy.failures else "none"
    yield f"Of {accuracy.pairs:,} workloads that ran on a GPU, {failed} failed on one with as much memory."
    yield "Larger GPUs were checked by no measurement."


def _capital(known: str) -> str:
    return known[:1].upper() + known[1:]


def _of_all_that_ran(scores: MemoryScores) -> str:
    share = scores.false_does_not_fit / scores.always_fits
    return _percent(share) if share else "nothing"


def _row(known: str, row: MemoryScores) -> dict[str, str]:
    return {
        "Known": known,
        "Said not to fit": _cell(row.strict_recall),
        "False “fits”": _cell(row.strict_false_fits),
        "Can't tell": _cell(row.cant_tell),
        "“Always fits” right": _cell(row.always_fits),
        "Else right": _cell(row.decided_accuracy),
        "Forced: right": _cell(row.accuracy),
        "Forced: found": _cell(row.recall),
        "Forced: false “fits”": _cell(row.false_fits),
        "Answers": f"{row.cells:,}",
    }


def _cell(share: float | None) -> str:
    return or_missing(share, lambda known: format_percent(100 * known))


def _percent(share: float | None) -> str:
    return or_missing(share, lambda known: percent_in_text(100 * known))
