"""Offers in the commands' tables: the cheapest of each GPU where all would be too many, and how old prices are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from profet_core.catalog.instance import ON_DEMAND, Instance
from profet_core.catalog.naming import old_price_note
from profet_core.memory.fit import FitAnswer

Row = TypeVar("Row")
#: Up to so many rows are all shown.
FEW_ROWS = 20


def cheapest_by_gpu(rows: Sequence[Row], offer_of: Callable[[Row], Instance], keep: Collection[str]) -> list[Row]:
    """Of each GPU the row whose offer is the cheapest an hour, in the rows' order; all of them if they are few.

    What can be rented comes before what can't be any more.

    Parameters
    ----------
    keep : instances whose rows stay, and your own offers with them.
    """
    if len(rows) <= FEW_ROWS:
        return list(rows)
    best: dict[str, Row] = {}
    for row in rows:
        gpu = offer_of(row).gpu
        if gpu not in best or _rank(offer_of(row)) < _rank(offer_of(best[gpu])):
            best[gpu] = row
    chosen = {id(row) for row in best.values()}
    return [row for row in rows if id(row) in chosen or offer_of(row).own or offer_of(row).name in keep]


def _rank(offer: Instance) -> tuple[bool, bool, float]:
    return offer.status == "retired", offer.market != ON_DEMAND, offer.usd_per_hour


def gpus_cell(offer: Instance) -> str:
    """'8 x H100-SXM5-80GB', or the one GPU."""
    return offer.gpu if offer.gpu_count == 1 else f"{offer.gpu_count} x {offer.gpu}"


def print_hidden(count: int) -> None:
    """Number of rows that a table omits."""
    if count:
        offers = "offer of the same GPUs is" if count == 1 else "offers of the same GPUs are"
        print(f"{count} more {offers} not shown: use --every-offer, or filter with --provider, --gpu, ...")


def print_old_prices(offers: Iterable[Instance]) -> None:
    """Prices that are more than a year old, one line for each age."""
    by_note: dict[str, list[str]] = {}
    for offer in offers:
        if note := old_price_note(offer):
            by_note.setdefault(note, []).append(offer.name)
    for note, names in by_note.items():
        print(f"{', '.join(dict.fromkeys(names))}: {note}")


def fit_cell(fits: Mapping[str, FitAnswer], instance: str) -> str:
    """For a table: 'fits, to 320', the largest batch that does; '-' where there is no answer."""
    return fit_words(fits.get(instance))


def fit_words(answer: FitAnswer | None) -> str:
    """The same of one answer."""
    if answer is None:
        return "-"
    return answer.verdict if answer.largest_batch is None else f"{answer.verdict}, max {answer.largest_batch}"
