"""Reads `*.tensorflow_stats.pb`, the operation statistics that TensorFlow 2.2 to 2.6 writes beside a trace.

A TfStatsDatabase of two tables, with idle time and without; names and numbers of the fields are those of
`tf_stats.proto`. The rows are those of the statistics CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace

from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.decoding.protobuf_wire import PIECE_BYTES, WireStream, damaged, message_classes
from profet_core.profiles.record import Profile
from profet_core.profiles.tensorflow.statistics.table import Columns, profile_from_table

NAME = "TensorFlow tensorflow_stats.pb"

#: The table with idle time stands before the one without.
DATABASE_WITH_IDLE, DATABASE_WITHOUT_IDLE, TABLE_RECORDS = 4, 5, 1
_MESSAGES = {
    "Record": {
        "rank": (1, "uint64", False),
        "host_or_device": (2, "bytes", False),
        "op_type": (3, "bytes", False),
        "op_name": (4, "bytes", False),
        "occurrences": (5, "int64", False),
        "total_time_in_us": (6, "double", False),
        "avg_time_in_us": (7, "double", False),
        "total_self_time_in_us": (8, "double", False),
    },
    "Table": {"records": (TABLE_RECORDS, "Record", True)},
    "Database": {
        "with_idle": (DATABASE_WITH_IDLE, "Table", False),
        "without_idle": (DATABASE_WITHOUT_IDLE, "Table", False),
    },
}
_COLUMNS = Columns(side=0, type=1, name=2, count=3, total=4)
#: A table with its length, a record with its, perhaps a rank, and the side.
_START = re.compile(
    rb"[\x22\x2a][\x80-\xff]{0,4}[\x00-\x7f]\x0a[\x80-\xff]{0,2}[\x00-\x7f](?:\x08[\x80-\xff]{0,4}[\x00-\x7f])?"
    rb"\x12(?:\x04Host|\x06Device)"
)


@cache
def messages() -> SimpleNamespace:
    """The message classes by name: `messages().Database`; texts are bytes, since files may hold any."""
    return message_classes("tf_stats", _MESSAGES)


def looks_like(head: bytes) -> bool:
    """True if `head` opens with a table whose first record is of the host or of a device."""
    return _START.match(head) is not None


def read(content: Content) -> Profile:
    """Read the table with idle time, or the other where that one is empty.

    Raises
    ------
    ProfileError : one line that says what is wrong and what to do.
    """
    from google.protobuf.message import DecodeError  # late, as in `message_classes`

    try:
        with content.open() as stream:
            return profile_from_table(_COLUMNS, _rows(WireStream(stream)), NAME)
    except DecodeError:
        raise damaged() from None


def _rows(wire: WireStream) -> Iterator[list[object]]:
    """Side, type, name, occurrences and total microseconds of every record of the first table that has any."""
    for table, table_size in wire.fields():
        if table not in (DATABASE_WITH_IDLE, DATABASE_WITHOUT_IDLE) or not table_size:
            continue
        for field, size in wire.fields(table_size):
            if field == TABLE_RECORDS:
                if size > PIECE_BYTES:
                    raise damaged()
                record = messages().Record.FromString(wire.read(size))
                texts = [_text(value) for value in (record.host_or_device, record.op_type, record.op_name)]
                yield [*texts, record.occurrences, record.total_time_in_us]
        return


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
