"""Shows how sure a number is: one mark of three steps, and what each stands for, said once."""

from __future__ import annotations

from profet_core.advice.sureness import FAIR_HALF_WIDTH, GOOD_HALF_WIDTH, MEASURED_ERRORS, Sureness
from ui.result_table.columns import Cell


def sureness_cell(step: Sureness) -> Cell:
    """The mark and its word, for a table; only the word is read aloud."""
    return Cell(step.word, mark=step.mark)


def sureness_words(step: Sureness) -> str:
    """The mark and its word, for a sentence."""
    return f"{step.mark} {step.word}"


def sureness_explained() -> str:
    """What the marks stand for, as markdown."""
    good, fair = MEASURED_ERRORS[Sureness.GOOD], MEASURED_ERRORS[Sureness.FAIR]
    return (
        "A range holds 90 % of such predictions.\n\n"
        f"{sureness_words(Sureness.GOOD)}: within {100 * GOOD_HALF_WIDTH:.0f} % either way, on a profiled GPU. On "
        f"networks the models had not seen the mean error was {good.mean_pct:.0f} %, and one in ten was off by more "
        f"than {good.one_in_ten_pct:.0f} %.\n\n"
        f"{sureness_words(Sureness.FAIR)}: within {100 * FAIR_HALF_WIDTH:.0f} %; there {fair.mean_pct:.0f} % and "
        f"{fair.one_in_ten_pct:.0f} %. At best this for a GPU that nobody profiled, or from a profile of one.\n\n"
        f"{sureness_words(Sureness.ROUGH)}: a wider range or none. Rely on it for the order of magnitude."
    )
