"""Sums the operation table of TensorFlow's and XProf's statistics, whatever file it came in."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from profet_core.errors import ProfileError
from profet_core.profiles.decoding.strict_json import quote_name
from profet_core.profiles.limits import MAX_ROWS, MAX_STEPS
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX, IDLE, IDLE_OPERATIONS, Profile, ProfileMeta
from profet_core.profiles.tensorflow.operation_names import DATASET, label_type, public_type
from profet_core.profiles.tensorflow.steps import has_gradient, training_refusal, usual_runs
from profet_core.profiles.totals import no_times, profile_from_totals

#: XProf lists this many rows a side, idle time among them; 2.24 was seen to, and older ones say so too.
ROWS_A_SIDE = 500
MAX_COLUMNS = 100

#: Headings of each column, old and new, as `_plain` writes them: letters only.
_HEADINGS = {
    "side": {"hostdevice", "hostordevice"},
    "type": {"type", "operationtype", "optype"},
    "name": {"operation", "operationname", "opname"},
    "count": {"occurrences"},
    "total": {"totaltimeus", "totaltimeμs", "totaltimeµs", "totaltime", "totaltimeinus"},
}
#: TensorFlow's name for the part of a step that one GPU does, of several.
_REPLICA = re.compile(r"(?:gradient_tape/|gradients/)?replica_(\d{1,4})/", re.ASCII)
_PREFIXES = {"device": DEVICE_PREFIX, "host": HOST_PREFIX}
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each needed column stands; `count` and `name` may be missing."""

    side: int
    type: int
    total: int
    count: int | None
    name: int | None = None

    @classmethod
    def of(cls, headings: Sequence[object]) -> Columns | None:
        """The columns under these headings (labels or ids); None if this is another table."""
        plain = [_plain(heading) for heading in headings[:MAX_COLUMNS]]
        found = {
            field: next((column for column, heading in enumerate(plain) if heading in known), None)
            for field, known in _HEADINGS.items()
        }
        side, kind, total = found["side"], found["type"], found["total"]
        if side is None or kind is None or total is None:
            return None
        return cls(side, kind, total, found["count"], found["name"])


def profile_from_table(columns: Columns, rows: Iterable[Sequence[object]], source_format: str) -> Profile:
    """Sum the total time of all rows by side and type.

    The table does not say how many steps it holds. An operation outside the input pipeline that runs once a step is
    in every training step, so how often the operations ran tells the number of steps.

    Raises
    ------
    ProfileError : a row that can't be read, or too many of them.
    """
    sums = _Sums(columns)
    for number, row in enumerate(rows, 2):
        if number > MAX_ROWS:
            raise ProfileError(f"The table has more than {MAX_ROWS:,} rows: upload the statistics of one step.")
        sums.add(row, number)
    return sums.profile(source_format)


class _Sums:
    """Adds up the rows of a table."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._totals_us = no_times()
        self._listed: Counter[str] = Counter()
        self._runs: list[int] = []
        self._gradient_seen = False
        self._gpus = 1

    def add(self, row: Sequence[object], number: int) -> None:
        columns = self._columns
        if len(row) <= max(columns.side, columns.type, columns.total, columns.count or 0, columns.name or 0):
            raise ProfileError(f"Row {number} of the table is truncated: download the statistics again.")
        side = str(row[columns.side]).strip().casefold()
        if side not in _PREFIXES:
            raise ProfileError(
                f"Row {number} of the table is neither Host nor Device but {quote_name(row[columns.side])}: "
                "download the statistics again."
            )
        kind = public_type(str(row[columns.type]).strip())
        if columns.name is not None:
            kind = self._named(str(row[columns.name]), kind, side)
        self._totals_us[_PREFIXES[side] + kind] += _number(row[columns.total], number)
        self._listed[side] += 1
        if columns.count is not None and kind not in (IDLE, DATASET):
            self._runs.append(int(_number(row[columns.count], number)))

    def _named(self, name: str, kind: str, side: str) -> str:
        """The type of an operation of this name and type, whose name may tell more of the step."""
        self._gradient_seen |= has_gradient(name)
        if replica := _REPLICA.match(name):
            # The first one's operations have no such prefix.
            self._gpus = max(self._gpus, int(replica[1]) + 1)
        return label_type(name.strip(), kind) if side == "device" else kind

    def profile(self, source_format: str) -> Profile:
        counted = usual_runs(self._runs)
        steps = counted or 1
        if steps > MAX_STEPS:
            raise ProfileError(f"Every operation of the table ran more than {MAX_STEPS:,} times: record fewer steps.")
        cut = _cut_warnings(self._listed, self._totals_us)
        others = (*_idle_warnings(self._totals_us), *_steps_warnings(steps))
        return profile_from_totals(
            self._totals_us,
            source_format=source_format,
            steps=steps,
            steps_basis="assumed" if counted is None else "counted",
            meta=ProfileMeta(framework="TensorFlow"),
            warnings=(*cut, *others),
            refusal=_gpus_refusal(self._gpus) or training_refusal(self._totals_us, self._gradient_seen),
            may_be_cut=bool(cut),
        )


def _cut_warnings(listed: Mapping[str, int], totals_us: Mapping[str, float]) -> list[str]:
    return [
        f"The statistics list only the {ROWS_A_SIDE} costliest operations of the {side}: the time of the others is "
        "missing."
        for side, rows in listed.items()
        if rows + (_PREFIXES[side] + IDLE not in totals_us) == ROWS_A_SIDE
    ]


def _idle_warnings(totals_us: Mapping[str, float]) -> list[str]:
    if IDLE_OPERATIONS & totals_us.keys():
        return []
    return ["The statistics exclude idle time: download them again with idle time included."]


def _gpus_refusal(gpus: int) -> str:
    if gpus == 1:
        return ""
    return f"The statistics add up the times of {gpus} GPUs: upload the step's xplane.pb, which has the times of each."


def _steps_warnings(steps: int) -> list[str]:
    if steps == 1:
        return []
    return [f"Every operation ran {steps} times or a multiple of that: the times were divided by {steps} steps."]


def _number(value: object, row: int) -> float:
    """A cell as a number of 0 or more; a person's spreadsheet may have put "1,012.5" there."""
    if isinstance(value, str):
        text = value.strip()
        text = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
        number = float(text) if len(text) <= 40 and _NUMBER.fullmatch(text) else math.nan
    else:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or number < 0:
        raise ProfileError(
            f"Row {row} of the table has {quote_name(value)} where a number of 0 or more belongs: "
            "download the statistics again."
        )
    return number


def _plain(heading: object) -> str:
    return "".join(character for character in str(heading).casefold() if character.isalpha())
