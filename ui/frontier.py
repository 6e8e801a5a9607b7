"""The sensible picks: instances that no other one beats in both time and money."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core import CostRow


def on_frontier(rows: Iterable[CostRow]) -> list[str]:
    """Instances that no other one beats in time without costing more, fastest first."""
    best: list[CostRow] = []
    for row in sorted(rows, key=lambda row: (row.total_s, row.total_usd)):
        if not best or row.total_usd < best[-1].total_usd:
            best.append(row)
    return [row.instance for row in best]
