"""Print what `profet data check` found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from profet_cli.output import cell, print_json, print_table

#: So many missing workloads are named in text; JSON names all.
_NAMED = 3

Row = dict[str, Any]


def print_checked(found: dict[str, list[Row]], format_: str) -> None:
    """What there is, what is missing, and what looks wrong in it."""
    if format_ == "json":
        print_json(found)
        return
    header = ["Instance", "GPU", "Ran", "No memory", "Failed", "Profiled", "Repeats", "Steps", "Noise"]
    print_table(header, [_row(one) for one in found["instances"]])
    for one in found["instances"]:
        sizes = [", ".join(map(str, one[name])) for name in ("pixels", "batch_sizes")]
        print(
            f"{one['instance']}: {_several('workload', one['workloads'])}: {', '.join(one['models'])}; "
            f"pixels {sizes[0]}; batch {sizes[1]}; {', '.join(one['frameworks'])}; {', '.join(one['precisions'])}"
        )
    pairs = {f"{pair['anchor']} -> {pair['target']}": pair for pair in found["pairs"]}
    if pairs:
        print()
        counts = ("common", "missing", "out_of_memory")
        rows = [(name, *(str(pair[count]) for count in counts)) for name, pair in pairs.items()]
        print_table(["Pair", "Common", "Missing", "No memory"], rows)
        for name, pair in pairs.items():
            if pair["missing"]:
                print(f"{name} lacks {_missing(pair['missing_workloads'])}")
    print()
    for finding in found["findings"]:
        print(f"{finding['kind']}: {finding['instance']}, {_several('cell', finding['cells'])}: {finding['line']}")
    if not found["findings"]:
        print("No anomalies found.")


def _row(one: Row) -> Sequence[str]:
    return (
        one["instance"],
        f"{one['gpu'] or 'unknown'}{'' if one['gpu_known'] else ' (unknown specs)'}",
        *(str(one[name]) for name in ("ok", "out_of_memory", "failed", "profiled", "repeats")),
        cell(one["step_ratio"], lambda ratio: f"{ratio:.2f}"),
        cell(one["noise_percent"], lambda percent: f"{percent:.2f}%"),
    )


def _missing(workloads: Sequence[Row]) -> str:
    named = [
        f"{one['model']} {one['pixels']}x{one['batch_size']} ({one['framework']} {one['precision']})"
        for one in workloads[:_NAMED]
    ]
    more = len(workloads) - len(named)
    return ", ".join(named) + (f" and {more:,} more (all with --format json)" if more > 0 else "")


def _several(what: str, count: int) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
