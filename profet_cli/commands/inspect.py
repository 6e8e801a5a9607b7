"""`profet inspect`: what a profile holds and how the models see it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from profet_cli.arguments import add_format, add_models, add_steps
from profet_cli.inputs import open_models, read_trace
from profet_cli.output import MISSING, print_json, print_profile_warnings, print_table
from profet_core.documents.answers import UNKNOWN_OPERATIONS
from profet_core.documents.records import Document
from profet_core.errors import InputError
from profet_core.features.classes import load_operation_classes
from profet_core.prediction.checks import counted, refusal_by, steps_note
from profet_core.prediction.diagnosis import Diagnosis, Placement, diagnose, placements
from profet_core.profiles import Profile
from profet_core.profiles.limits import LIMITS
from profet_core.units import US_PER_MS, format_ms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The profile."""
    add_format(parser)
    parser.add_argument("trace", metavar="TRACE", nargs="?")
    parser.add_argument("--limits", action="store_true", help="list the most that a profile's file may hold and take")
    add_steps(parser)
    add_models(parser)


def run(options: argparse.Namespace) -> None:
    """Print the profile's format, operations by time, totals, and what was ignored or unknown."""
    if options.limits:
        _print_limits(options.format)
        return
    if options.trace is None:
        raise InputError("Name a profile, or list the bounds with --limits.")
    trace = read_trace(options)
    profile = counted(trace, trace.meta.step_latency_ms)
    models = open_models(options)
    placed, diagnosis = placements(models, profile), diagnose(profile)
    if options.format == "json":
        print_json(_profile_document(profile, placed, diagnosis, refusal_by(models, profile)))
    else:
        _print_profile(profile, placed, diagnosis)


def _print_limits(output: str) -> None:
    if output == "json":
        print_json({"limits": [asdict(limit) for limit in LIMITS]})
    else:
        print_table(("bound", "most", "unit"), [(each.what, f"{each.most:,.0f}", each.unit) for each in LIMITS])


def _profile_document(profile: Profile, placed: Sequence[Placement], diagnosis: Diagnosis, refused: str) -> Document:
    _, (unknown,) = load_operation_classes().encode([profile])
    return {
        "format": profile.source_format,
        "operations_us": dict(sorted(profile.operations.items(), key=lambda item: (-item[1], item[0]))),
        "device_total_us": profile.device_total_us,
        "host_total_us": profile.host_total_us,
        "steps": profile.steps,
        "steps_basis": profile.steps_basis,
        "framework": profile.meta.framework,
        "meta": _known_meta(profile),
        "refusal": refused,
        "warnings": list(profile.warnings),
        "ignored": list(profile.ignored),
        "unknown_operations": UNKNOWN_OPERATIONS.document(unknown),
        "kinds": {row.operation: row.kind for row in placed},
        "classes": {row.operation: row.operation_class for row in placed},
        "clusters": {row.operation: row.cluster for row in placed},
        "diagnosis": _diagnosis_document(diagnosis),
    }


def _known_meta(profile: Profile) -> Document:
    """What is known of the step, in the order of `ProfileMeta`."""
    return {key: value for key, value in asdict(profile.meta).items() if value is not None}


def _diagnosis_document(diagnosis: Diagnosis) -> Document:
    return {
        "kind": diagnosis.kind,
        "gpu_busy_share": diagnosis.gpu_busy_share,
        "input_share": diagnosis.input_share,
        "latency_known": diagnosis.latency_known,
        "sentence": diagnosis.sentence,
    }


def _print_profile(profile: Profile, placed: Sequence[Placement], diagnosis: Diagnosis) -> None:
    print_profile_warnings(profile)
    steps = "" if profile.steps == 1 else f", the mean of {profile.steps} steps"
    print(f"{profile.source_format}: {len(profile.operations)} operation types{steps}")
    for note in steps_note(profile):
        print(note)
    device_ms, host_ms = profile.device_total_us / US_PER_MS, profile.host_total_us / US_PER_MS
    print(f"device {format_ms(device_ms)}, host {format_ms(host_ms)}")
    for key, value in _known_meta(profile).items():
        print(f"{key}: {value}")
    print(diagnosis.sentence)
    print_table(("operation", "ms", "kind", "class", "known by"), [_text_row(row) for row in placed])


def _text_row(row: Placement) -> tuple[str, ...]:
    time_ms = f"{row.time_us / US_PER_MS:,.3f}"
    return row.operation, time_ms, row.kind or MISSING, row.operation_class or MISSING, _known_by(row)


def _known_by(row: Placement) -> str:
    """How the default method came to an operation's class."""
    if row.class_known:
        return "name"
    if not row.on_device:
        return MISSING
    if row.set_aside:
        return "excluded"
    if row.operation_class is None:
        return "unknown, ignored"
    return "similar kind" if row.stands_in else "kind"
