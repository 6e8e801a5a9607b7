"""Prints results: one JSON document, or plain tables, of offers too, and warnings."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from profet_core.answers.document import json_of
from profet_core.catalog.instance import ON_DEMAND, Instance, date_words, offer_name, price_age_years
from profet_core.errors import InputError
from profet_core.prediction.checks import refusal
from profet_core.training.memory import FitAnswer
from profet_profiles import Profile
from profet_profiles.units import format_ms, format_usd
from profet_profiles.whole_files import write_whole

if TYPE_CHECKING:
    from profet_core.answers.context import InstanceDocument
    from profet_core.offers import OfferStep

#: What a table shows where there is no value.
MISSING = "-"
#: Between two cells of a Markdown table.
_CELL = re.compile(r"(?<!\\)\|")
#: Up to so many rows are all shown.
FEW_ROWS = 20
#: Attribute of a row, such as "offer.name", or what makes a value of the row.
Source: TypeAlias = str | Callable[[Any], object]
#: Of a table: its title, where in a row its value is, and how that is written where there is one.
Column: TypeAlias = tuple[str, Source] | tuple[str, Source, Callable[[Any], str]]


def print_json(document: object) -> None:
    """Exactly one JSON document on stdout."""
    # ASCII alone, whatever the terminal's encoding; in one line Python's library writes it in C.
    line = json.dumps(json.loads(json_of(document)))
    print(msgspec.json.format(line, indent=2))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their longest cell; the first is aligned left, the others right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def print_rows(rows: Iterable[Any], columns: Sequence[Column]) -> None:
    """Print a table of records: their columns, `MISSING` where a value is None or empty."""
    print_table([title for title, *_ in columns], [[_cell(row, column) for column in columns] for row in rows])


def _cell(row: Any, column: Column) -> str:
    source, write = column[1], column[2] if len(column) > 2 else str
    if callable(source):
        row = source(row)
    else:
        for name in source.split("."):
            row = None if row is None else getattr(row, name)
    return MISSING if row is None else write(row) or MISSING


def print_markdown(text: str) -> None:
    """Markdown, its tables as `print_table` has them."""
    for is_table, lines in groupby(text.rstrip().splitlines(), lambda line: line.startswith("|")):
        if is_table:
            header, _, *rows = ([cell.strip() for cell in _CELL.split(line.rstrip())[1:-1]] for line in lines)
            print_table(header, rows)
        else:
            print("\n".join(lines))


def print_warnings(warnings: Iterable[str]) -> None:
    """Warnings go to stderr, one line each."""
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def print_notes(rows: Iterable[OfferStep]) -> None:
    """Print notes of latencies, one line each, after the names of the instances that it is about."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.note:
            names.setdefault((row.basis.word, row.note), []).append(row.instance)
    for (word, note), several in names.items():
        print(f"{', '.join(several)}, {word}: {note}")


def print_profile_warnings(profile: Profile) -> None:
    """Why a profile gets no prediction, and its reader's warnings, each once."""
    print_warnings(dict.fromkeys(line for line in (refusal(profile), *profile.warnings) if line))
    print_warnings(f"ignored: {note}" for note in profile.ignored)


def write_output(target: Path, data: bytes, *, force: bool = True) -> None:
    """Write a file whole or not at all; without `force` one that exists is refused."""
    try:
        write_whole(target, data, replace=force)
    except FileExistsError:
        raise InputError(f"{target} exists: name another file, or use --force to overwrite it.") from None
    except (OSError, RuntimeError) as error:
        raise InputError(f"{target} can't be written: {getattr(error, 'strerror', None) or error}.") from None


def check_not_read(target: Path, *read: str | Path | None) -> None:
    """Refuse to write over a file that is read too."""
    if target.exists() and any(path is not None and Path(path).exists() and target.samefile(path) for path in read):
        raise InputError(f"{target} is an input trace: name another output file.")


def print_offers(
    rows: Iterable[Any], columns: Sequence[Column], *, every: bool, keep: Collection[str] = ()
) -> list[Any]:
    """Print and return all rows if they are few or `every`; else the one of each GPU that is the cheapest an hour.

    What can be rented comes before what can't be any more. `keep` : instances whose rows stay, as your own offers do.
    """
    listed = list(rows)
    shown = listed

    def rank(row: Any) -> tuple[bool, bool, float]:
        return row.offer.status == "retired", row.offer.market != ON_DEMAND, row.offer.usd_per_hour

    if not every and len(listed) > FEW_ROWS:
        cheapest: dict[str, int] = {}
        for row in sorted(listed, key=rank):
            cheapest.setdefault(row.offer.gpu, id(row))
        best = set(cheapest.values())
        shown = [row for row in listed if id(row) in best or row.offer.custom or row.offer.name in keep]
    print_rows(shown, columns)
    if hidden := len(listed) - len(shown):
        offers = "offer of the same GPUs is" if hidden == 1 else "offers of the same GPUs are"
        print(f"{hidden} more {offers} not shown: use --every-offer, or filter with --provider, --gpu, ...")
    return shown


def gpus_cell(offer: Instance) -> str:
    """'8 x H100-SXM5-80GB', or the one GPU."""
    return offer.gpu if offer.gpu_count == 1 else f"{offer.gpu_count} x {offer.gpu}"


def price_date(offer: Instance | InstanceDocument) -> str:
    """For a table: when a price is from, 'Dec 2024, old' if that is over a year ago."""
    return date_words(offer.as_of) + (", old" if price_age_years(offer.as_of) else "")


def fit_words(answer: FitAnswer) -> str:
    """For a table: 'fits, max 320', the largest batch that does."""
    return answer.verdict if answer.largest_batch is None else f"{answer.verdict}, max {answer.largest_batch}"


#: Columns that several tables have.
INSTANCE: Column = ("instance", "offer.name")
GPU: Column = ("GPU", "offer", offer_name)
MS_PER_STEP: Column = ("ms/step", "latency_ms", format_ms)
USD_PER_1000_STEPS: Column = ("$ per 1,000 steps", "cost_per_1000_steps_usd", format_usd)
USD_PER_HOUR: Column = ("$/h", "offer.usd_per_hour", format_usd)
USD_PER_GPU_HOUR: Column = ("$/GPU/h", "offer.usd_per_gpu_hour", format_usd)
PRICE_DATE: Column = ("price date", "offer", price_date)
BASIS: Column = ("basis", "basis.word")
STATUS: Column = ("status", "offer.status")
