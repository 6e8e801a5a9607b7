"""Reads XProf's `framework_op_stats` (earlier `tensorflow_stats`): the operation statistics as a JSON table."""

from __future__ import annotations

import re
from typing import Any

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.decoding.strict_json import parse_json
from profet_core.profiles.limits import MAX_ROWS, MAX_TABLE_BYTES
from profet_core.profiles.record import Profile
from profet_core.profiles.tensorflow.statistics.table import Columns, profile_from_table

NAME = "XProf framework_op_stats JSON"

_SIDE_COLUMN = re.compile(rb'"host_or_device"|"Host/device"')


def looks_like(head: bytes) -> bool:
    """True if `head` opens a JSON table with the statistics' columns."""
    start = head[:20_000]
    return (
        start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
        and b'"cols"' in start
        and _SIDE_COLUMN.search(start) is not None
    )


def read(content: Content) -> Profile:
    """Read the table, or the first of a list: that one has the idle time.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    # Whatever the JSON holds: what is no such table raises one of the errors below.
    document: Any = parse_json(content.read(MAX_TABLE_BYTES))
    table = document[0] if isinstance(document, list) and document else document
    try:
        headings = [(column.get("id"), column.get("label")) for column in table["cols"]]
        cells = [row["c"] for row in table["rows"][: MAX_ROWS + 1]]
        rows = [[cell.get("v") if cell else None for cell in row] for row in cells]
    except (AttributeError, KeyError, TypeError):
        raise ProfileError('The JSON is not a table of "cols" and "rows" as XProf writes it: save it again.') from None
    columns = Columns.of([label for _, label in headings]) or Columns.of([name for name, _ in headings])
    if columns is None:
        raise ProfileError('The table lacks a column: it needs "host_or_device", "type" and "total_time".')
    return profile_from_table(columns, rows, NAME)
