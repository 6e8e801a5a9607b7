"""Reads the operation statistics of TensorBoard or XProf, downloaded as CSV."""

from __future__ import annotations

import csv
import io

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.limits import MAX_TABLE_BYTES
from profet_core.profiles.record import Profile
from profet_core.profiles.tensorflow.statistics.table import Columns, profile_from_table

NAME = "statistics CSV"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SEPARATORS = ",;\t"


def looks_like(head: bytes) -> bool:
    """True if the first line names the columns of the statistics."""
    first = head.removeprefix(_BYTE_ORDER_MARK).lstrip()[:2000].splitlines()[:1]
    return bool(first) and first[0][:1] not in (b"{", b"[") and b"host/device" in first[0].lower()


def read(content: Content) -> Profile:
    """Read the table: `Host/device`, `Type` (TensorFlow 2.5) or `Operation Type`, `Total time (us)`.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    try:
        text = content.read(MAX_TABLE_BYTES).decode("utf-8-sig").lstrip()
    except UnicodeDecodeError:
        raise ProfileError("The table is not UTF-8 text: save it as UTF-8 CSV.") from None
    header = text[: text.find("\n")] if "\n" in text else text
    separator = max(_SEPARATORS, key=header.count)
    # Strict: a quote that never closes would swallow the rest of the table.
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        columns = Columns.of(next(rows))
        if columns is None:
            raise ProfileError(
                "The table lacks a column: it needs Host/device, Type or Operation Type, and Total time (us)."
            )
        return profile_from_table(columns, (row for row in rows if any(cell.strip() for cell in row)), NAME)
    except (csv.Error, StopIteration):
        raise ProfileError(f"Line {rows.line_num} of the table is damaged: download the statistics again.") from None
