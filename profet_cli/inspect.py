"""`profet inspect`: what a profile holds and how the models see it."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.inputs import open_models, read_profile_file
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.diagnosis import diagnose
from profet_core.placement import placements
from profet_core.units import US_PER_MS, format_ms


def run(options: argparse.Namespace) -> None:
    """Print the profile's format, operations by time, totals, and what was ignored or unknown."""
    profile = read_profile_file(options.trace)
    models = open_models(options)
    _, (unknown,) = models.features.encode([profile])
    placed, diagnosis = placements(models, profile), diagnose(profile)
    operations = sorted(profile.operations.items(), key=lambda item: (-item[1], item[0]))
    meta = {key: value for key, value in asdict(profile.meta).items() if value is not None}
    if options.format == "json":
        print_json(
            {
                "format": profile.source_format,
                "operations_us": dict(operations),
                "device_total_us": profile.device_total_us,
                "host_total_us": profile.host_total_us,
                "steps": profile.steps,
                "framework": profile.meta.framework,
                "meta": meta,
                "warnings": list(profile.warnings),
                "ignored": list(profile.ignored),
                "unknown_operations": {
                    "names": list(unknown.names),
                    "share": unknown.share,
                    "mapped": dict(unknown.mapped),
                    "left_out": list(unknown.left_out),
                },
                "classes": {row.operation: row.operation_class for row in placed},
                "clusters": {row.operation: row.cluster for row in placed},
                "diagnosis": {**asdict(diagnosis), "sentence": diagnosis.sentence},
            }
        )
        return
    print_warnings(profile.warnings)
    print_warnings(f"ignored: {note}" for note in profile.ignored)
    steps = "" if profile.steps == 1 else f", the mean of {profile.steps} steps"
    print(f"{profile.source_format}: {len(operations)} operation types{steps}")
    print(
        f"device {format_ms(profile.device_total_us / US_PER_MS)}, host {format_ms(profile.host_total_us / US_PER_MS)}"
    )
    for key, value in meta.items():
        print(f"{key}: {value}")
    print(diagnosis.sentence)
    state = {name: f"counted as {cluster}" for name, cluster in unknown.mapped.items()}
    state.update(dict.fromkeys(unknown.left_out, "unknown, left out"))
    print_table(
        ("operation", "ms", "class", "known as"),
        [
            (
                row.operation,
                f"{row.time_us / US_PER_MS:,.3f}",
                row.operation_class or "-",
                state.get(row.operation, "known"),
            )
            for row in placed
        ],
    )
