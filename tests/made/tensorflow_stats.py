"""Writes a tensorflow_stats.pb from the schema, as TensorFlow 2.4 writes it beside a trace."""

from __future__ import annotations

from collections.abc import Iterable

from profet_profiles.statistics import messages

#: Side, type, name, occurrences, total microseconds.
Row = tuple[str, str, str, int, float]


def tensorflow_stats(rows: Iterable[Row]) -> bytes:
    """A database of both tables: with idle time, and without."""
    database = messages().Database()
    for rank, (side, kind, name, count, total_us) in enumerate(rows, 1):
        tables = [database.with_idle] if kind == "IDLE" else [database.with_idle, database.without_idle]
        for table in tables:
            table.records.add(
                rank=rank,
                host_or_device=side.encode(),
                op_type=kind.encode(),
                op_name=name.encode(),
                occurrences=count,
                total_time_in_us=total_us,
                avg_time_in_us=total_us / max(count, 1),
                total_self_time_in_us=total_us,
            )
    return database.SerializeToString()
