"""`profet inspect`: what a profile holds and how the models see it."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.inputs import open_models, read_trace
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.operations.classes import load_operation_classes
from profet_core.prediction.diagnosis import diagnose
from profet_core.prediction.placement import Placement, placements
from profet_core.prediction.refusals import refusal
from profet_core.prediction.steps import counted, steps_note
from profet_core.units import US_PER_MS, format_ms


def run(options: argparse.Namespace) -> None:
    """Print the profile's format, operations by time, totals, and what was ignored or unknown."""
    trace = read_trace(options)
    profile = counted(trace, trace.meta.step_latency_ms)
    models = open_models(options)
    _, (unknown,) = load_operation_classes().encode([profile])
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
                "steps_basis": profile.steps_basis,
                "framework": profile.meta.framework,
                "meta": meta,
                "refusal": refusal(profile),
                "warnings": list(profile.warnings),
                "ignored": list(profile.ignored),
                "unknown_operations": {
                    "names": list(unknown.names),
                    "share": unknown.share,
                    "mapped": dict(unknown.mapped),
                    "left_out": list(unknown.left_out),
                },
                "kinds": {row.operation: row.kind for row in placed},
                "classes": {row.operation: row.operation_class for row in placed},
                "clusters": {row.operation: row.cluster for row in placed},
                "diagnosis": {**asdict(diagnosis), "sentence": diagnosis.sentence},
            }
        )
        return
    print_warnings(dict.fromkeys(line for line in (refusal(profile), *profile.warnings) if line))
    print_warnings(f"ignored: {note}" for note in profile.ignored)
    steps = "" if profile.steps == 1 else f", the mean of {profile.steps} steps"
    print(f"{profile.source_format}: {len(operations)} operation types{steps}")
    if note := steps_note(profile):
        print(note)
    print(
        f"device {format_ms(profile.device_total_us / US_PER_MS)}, host {format_ms(profile.host_total_us / US_PER_MS)}"
    )
    for key, value in meta.items():
        print(f"{key}: {value}")
    print(diagnosis.sentence)
    print_table(
        ("operation", "ms", "kind", "class", "known by"),
        [
            (
                row.operation,
                f"{row.time_us / US_PER_MS:,.3f}",
                row.kind or "-",
                row.operation_class or "-",
                _known_by(row),
            )
            for row in placed
        ],
    )


def _known_by(row: Placement) -> str:
    """How the default method came to an operation's class."""
    if row.class_known:
        return "name"
    if not row.on_device:
        return "-"
    if row.set_aside:
        return "set aside"
    if row.operation_class is None:
        return "unknown, left out"
    return "a kind like it" if row.stands_in else "kind"
