"""Reads the operation statistics of TensorFlow and XProf, with a row per operation: CSV, JSON and tensorflow_stats.pb.

The table does not say how many steps it holds. An operation outside the input pipeline that runs once a step is in
every training step, so how often the operations ran tells the number of steps.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from profet_profiles.errors import ProfileError
from profet_profiles.limits import MAX_ROWS, MAX_STEPS, MAX_TABLE_BYTES
from profet_profiles.profet_json import parse_json, quote_name
from profet_profiles.protobuf_wire import damaged, message_classes
from profet_profiles.record import (
    DEVICE_PREFIX,
    HOST_PREFIX,
    IDLE,
    IDLE_OPERATIONS,
    Profile,
    ProfileMeta,
    no_times,
    profile_from_totals,
    training_refusal,
)
from profet_profiles.tensorflow_trace import DATASET, has_gradient, label_type, public_type, usual_runs
from profet_profiles.unpacking import Content, Reader

#: XProf lists this many rows a side, idle time among them; 2.24 was seen to, and older ones say so too.
ROWS_A_SIDE = 500
MAX_COLUMNS = 100

_MARK = b"\xef\xbb\xbf"
_SEPARATORS = ",;\t"
_SIDE_COLUMN = re.compile(rb'"host_or_device"|"Host/device"')
#: TensorFlow's name for the part of a step that one GPU does, of several.
_REPLICA = re.compile(r"(?:gradient_tape/|gradients/)?replica_(\d{1,4})/", re.ASCII)
_PREFIXES = {"device": DEVICE_PREFIX, "host": HOST_PREFIX}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


#: Headings of each column, old and new, letters only.
_HEADINGS = {
    "side": {"hostdevice", "hostordevice"},
    "type": {"type", "operationtype", "optype"},
    "total": {"totaltimeus", "totaltimeμs", "totaltimeµs", "totaltime", "totaltimeinus"},
    "occurrences": {"occurrences"},
    "name": {"operation", "operationname", "opname"},
}


def _columns_of(headings: Sequence[object]) -> dict[str, int] | None:
    """Find each column under these headings (labels or ids); None if this is another table."""
    plain = ["".join(filter(str.isalpha, str(heading).casefold())) for heading in headings[:MAX_COLUMNS]]
    columns = {
        name: next((at for at, text in enumerate(plain) if text in spellings), -1)
        for name, spellings in _HEADINGS.items()
    }
    return None if min(columns["side"], columns["type"], columns["total"]) < 0 else columns


def _profile(columns: dict[str, int], rows: Iterable[Sequence[object]], source_format: str) -> Profile:
    """Sum the total time of all rows by side and type; the last two columns may be missing, -1."""
    side_at, type_at, total_at, count_at, name_at = columns.values()
    totals_us, listed, runs, gradient_seen, gpus = no_times(), Counter[str](), list[int](), False, 1
    for number, row in enumerate(rows, 2):
        if number > MAX_ROWS:
            raise ProfileError(f"The table has more than {MAX_ROWS:,} rows: upload the statistics of one step.")
        if len(row) <= max(columns.values()):
            raise ProfileError(f"Row {number} of the table is truncated: download the statistics again.")
        side = str(row[side_at]).strip().casefold()
        if side not in _PREFIXES:
            raise ProfileError(
                f"Row {number} of the table is neither Host nor Device but {quote_name(row[side_at])}: "
                "download the statistics again."
            )
        kind = public_type(str(row[type_at]).strip())
        if name_at >= 0:
            name = str(row[name_at])
            gradient_seen |= has_gradient(name)
            # The first one's operations have no such prefix.
            gpus = max(gpus, int(replica[1]) + 1) if (replica := _REPLICA.match(name)) else gpus
            kind = label_type(name.strip(), kind) if side == "device" else kind
        totals_us[_PREFIXES[side] + kind] += _number(row[total_at], number)
        listed[side] += 1
        if count_at >= 0 and kind not in (IDLE, DATASET):
            runs.append(int(_number(row[count_at], number)))
    counted = usual_runs(runs)
    steps = counted or 1
    if steps > MAX_STEPS:
        raise ProfileError(f"Every operation of the table ran more than {MAX_STEPS:,} times: record fewer steps.")
    cut = [side for side, count in listed.items() if count + (_PREFIXES[side] + IDLE not in totals_us) == ROWS_A_SIDE]
    warnings = [
        f"The statistics list only the {ROWS_A_SIDE} costliest operations of the {side}: the time of the others is "
        "missing."
        for side in cut
    ]
    if not IDLE_OPERATIONS & totals_us.keys():
        warnings.append("The statistics exclude idle time: download them again with idle time included.")
    if steps > 1:
        warnings.append(
            f"Every operation ran {steps} times or a multiple of that: the times were divided by {steps} steps."
        )
    refusal = training_refusal(totals_us, gradient_seen=gradient_seen)
    if gpus > 1:
        refusal = (
            f"The statistics add up the times of {gpus} GPUs: upload the step's xplane.pb, which has the times of each."
        )
    return profile_from_totals(
        totals_us,
        steps,
        source_format=source_format,
        steps_basis="assumed" if counted is None else "counted",
        meta=ProfileMeta(framework="TensorFlow"),
        warnings=tuple(warnings),
        refusal=refusal,
        may_be_cut=bool(cut),
    )


def _number(value: object, row: int) -> float:
    """Return a cell as a number of 0 or more."""
    if isinstance(value, str):
        text = value.strip()
        number = float(text) if len(text) <= 40 and _NUMBER.fullmatch(text) else math.nan
    else:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or number < 0:
        raise ProfileError(
            f"Row {row} of the table has {quote_name(value)} where a number of 0 or more belongs: "
            "download the statistics again."
        )
    return number


# --- CSV --------------------------------------------------------------------------------------------------------------


def _is_csv(head: bytes) -> bool:
    """Return True if the first line names the columns of the statistics."""
    first = head.removeprefix(_MARK).lstrip()[:2000].splitlines()[:1]
    return bool(first) and first[0][:1] not in (b"{", b"[") and b"host/device" in first[0].lower()


def _read_csv(content: Content) -> Profile:
    """Read the table: `Host/device`, `Type` (TensorFlow 2.5) or `Operation Type`, `Total time (us)`."""
    try:
        text = content.read(MAX_TABLE_BYTES).decode("utf-8-sig").lstrip()
    except UnicodeDecodeError:
        raise ProfileError("The table is not UTF-8 text: save it as UTF-8 CSV.") from None
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    # Strict: a quote that never closes would swallow the rest of the table.
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        columns = _columns_of(next(rows))
        if columns is None:
            raise ProfileError(
                "The table lacks a column: it needs Host/device, Type or Operation Type, and Total time (us)."
            )
        return _profile(columns, (row for row in rows if any(cell.strip() for cell in row)), CSV.name)
    except (csv.Error, StopIteration):
        raise ProfileError(f"Line {rows.line_num} of the table is damaged: download the statistics again.") from None


CSV = Reader("statistics CSV", _is_csv, _read_csv)


# --- JSON: XProf's framework_op_stats, earlier tensorflow_stats -------------------------------------------------------


def _is_json(head: bytes) -> bool:
    """Return True if `head` opens a JSON table with the statistics' columns."""
    start = head[:20_000]
    opens = start.removeprefix(_MARK).lstrip()[:1] in (b"{", b"[")
    return opens and b'"cols"' in start and _SIDE_COLUMN.search(start) is not None


def _read_json(content: Content) -> Profile:
    """Read the table, or the first of a list: that one has the idle time."""
    # Whatever the JSON holds: what is no such table raises one of the errors below.
    document: Any = parse_json(content.read(MAX_TABLE_BYTES))
    table = document[0] if isinstance(document, list) and document else document
    try:
        headings = [(column.get("id"), column.get("label")) for column in table["cols"]]
        cells = [row["c"] for row in table["rows"][: MAX_ROWS + 1]]
        rows = [[cell.get("v") if cell else None for cell in row] for row in cells]
    except (AttributeError, KeyError, TypeError):
        raise ProfileError('The JSON is not a table of "cols" and "rows" as XProf writes it: save it again.') from None
    columns = _columns_of([label for _, label in headings]) or _columns_of([name for name, _ in headings])
    if columns is None:
        raise ProfileError('The table lacks a column: it needs "host_or_device", "type" and "total_time".')
    return _profile(columns, rows, JSON.name)


JSON = Reader("XProf framework_op_stats JSON", _is_json, _read_json)


# --- *.tensorflow_stats.pb, which TensorFlow 2.2 to 2.6 writes beside a trace -----------------------------------------

#: A TfStatsDatabase of two tables, with idle time and without; names and numbers are those of `tf_stats.proto`.
_MESSAGES = {
    "Record": """
        uint64 rank = 1; bytes host_or_device = 2; bytes op_type = 3; bytes op_name = 4; int64 occurrences = 5;
        double total_time_in_us = 6; double avg_time_in_us = 7; double total_self_time_in_us = 8
    """,
    "Table": "repeated Record records = 1",
    "Database": "Table with_idle = 4; Table without_idle = 5",
}
#: A table with its length, a record with its, perhaps a rank, and the side.
_START = re.compile(
    rb"[\x22\x2a][\x80-\xff]{0,4}[\x00-\x7f]\x0a[\x80-\xff]{0,2}[\x00-\x7f](?:\x08[\x80-\xff]{0,4}[\x00-\x7f])?"
    rb"\x12(?:\x04Host|\x06Device)"
)


@cache
def messages() -> SimpleNamespace:
    """Return the message classes by name: `messages().Line`; texts are bytes, since files may hold any."""
    return message_classes("tf_stats", _MESSAGES)


def _read_stats(content: Content) -> Profile:
    """Read the table with idle time, or the other where that one is empty."""
    from google.protobuf.message import DecodeError  # late, as in `message_classes`

    try:
        database = messages().Database.FromString(content.read(MAX_TABLE_BYTES))
    except DecodeError:
        raise damaged() from None
    rows = []
    for record in database.with_idle.records or database.without_idle.records:
        texts = (record.host_or_device, record.op_type, record.op_name)
        rows.append([*(text.decode("utf-8", "replace") for text in texts), record.occurrences, record.total_time_in_us])
    return _profile({"side": 0, "type": 1, "total": 4, "occurrences": 3, "name": 2}, rows, STATS.name)


STATS = Reader("TensorFlow tensorflow_stats.pb", lambda head: _START.match(head) is not None, _read_stats)
