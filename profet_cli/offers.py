"""Tables of offers: the cheapest of each GPU where all would be too many, and how old prices are."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.output import print_table
from profet_core.catalog.instance import ON_DEMAND, Instance
from profet_core.catalog.naming import old_price_note
from profet_core.fields.field import Fields
from profet_core.memory.fit import FitAnswer

#: Up to so many rows are all shown.
FEW_ROWS = 20


class Offered(Protocol):
    """What a row is about."""

    @property
    def offer(self) -> Instance:
        """The offer."""


Row = TypeVar("Row", bound=Offered)
#: Of a table: its title and a row's cell.
Column: TypeAlias = tuple[str, Callable[[Row], str]]


def add_question(parser: argparse.ArgumentParser, fields: Fields) -> None:
    """Arguments of a command that answers for offers; TRACE is the field `profile`."""
    add_format(parser)
    add_fields(parser, fields, positional="profile")
    add_models(parser)
    add_every_offer(parser)


def print_offers(
    rows: Iterable[Row], columns: Sequence[Column[Row]], *, every: bool, keep: Collection[str] = ()
) -> list[Row]:
    """Print and return all rows if they are few or `every`; else the one of each GPU that is the cheapest an hour.

    What can be rented comes before what can't be any more. `keep` : instances whose rows stay, as your own offers do.
    """
    listed = list(rows)
    shown = listed
    if not every and len(listed) > FEW_ROWS:
        cheapest: dict[str, int] = {}
        for row in sorted(listed, key=lambda row: _rank(row.offer)):
            cheapest.setdefault(row.offer.gpu, id(row))
        best = set(cheapest.values())
        shown = [row for row in listed if id(row) in best or row.offer.own or row.offer.name in keep]
    print_table([title for title, _ in columns], [[text(row) for _, text in columns] for row in shown])
    if hidden := len(listed) - len(shown):
        offers = "offer of the same GPUs is" if hidden == 1 else "offers of the same GPUs are"
        print(f"{hidden} more {offers} not shown: use --every-offer, or filter with --provider, --gpu, ...")
    return shown


def _rank(offer: Instance) -> tuple[bool, bool, float]:
    return offer.status == "retired", offer.market != ON_DEMAND, offer.usd_per_hour


def gpus_cell(offer: Instance) -> str:
    """'8 x H100-SXM5-80GB', or the one GPU."""
    return offer.gpu if offer.gpu_count == 1 else f"{offer.gpu_count} x {offer.gpu}"


def print_old_prices(rows: Iterable[Offered]) -> None:
    """Prices that are more than a year old, one line for each age."""
    by_note: dict[str, dict[str, None]] = {}
    for row in rows:
        if note := old_price_note(row.offer):
            by_note.setdefault(note, {})[row.offer.name] = None
    for note, names in by_note.items():
        print(f"{', '.join(names)}: {note}")


def fit_words(answer: FitAnswer | None) -> str:
    """For a table: 'fits, max 320', the largest batch that does; '-' where there is no answer."""
    if answer is None:
        return "-"
    return answer.verdict if answer.largest_batch is None else f"{answer.verdict}, max {answer.largest_batch}"
