"""`profet inspect` and `convert`: what a profile holds and how the models see it, and a trace reduced to a profile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from profet_cli.arguments import add_format, add_models, add_steps, read_trace
from profet_cli.output import MISSING, print_json, print_profile_warnings, print_table, write_output
from profet_core.answers.documents import UNKNOWN_OPERATIONS
from profet_core.answers.predict import Placement, placements
from profet_core.answers.schema import Document
from profet_core.ensemble.classes import load_operation_classes
from profet_core.errors import InputError
from profet_core.prediction.checks import Diagnosis, counted, diagnose, refusal_by, steps_note
from profet_core.prediction.models import load_models
from profet_core.units import US_PER_MS, format_ms, positive_number
from profet_recorder.profiles import Profile, ProfileMeta, write_profile
from profet_recorder.profiles.limits import LIMITS

STDOUT = "-"


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """The profile."""
    add_format(parser)
    parser.add_argument("trace", metavar="TRACE", nargs="?")
    parser.add_argument("--limits", action="store_true", help="list the limits on files: size, time and memory")
    add_steps(parser)
    add_models(parser)


def run_inspect(options: argparse.Namespace) -> None:
    """Print the profile's format, operations by time, totals, and what was ignored or unknown."""
    if options.limits:
        _print_limits(options.format)
        return
    if options.trace is None:
        raise InputError("Name a profile, or list the bounds with --limits.")
    trace = read_trace(options)
    profile = counted(trace, trace.meta.step_latency_ms)
    models = load_models(options.models)
    placed, diagnosis = placements(models, profile), diagnose(profile)
    if options.format == "json":
        print_json(_profile_document(profile, placed, diagnosis, refusal_by(models, profile)))
    else:
        _print_profile(profile, placed, diagnosis)


def _print_limits(output: str) -> None:
    if output == "json":
        print_json({"limits": [limit._asdict() for limit in LIMITS]})
    else:
        print_table(("bound", "maximum", "unit"), [(each.what, f"{each.maximum:,.0f}", each.unit) for each in LIMITS])


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


def add_convert(parser: argparse.ArgumentParser) -> None:
    """The trace, the file to write, and what the user knows of the step."""
    add_format(parser)
    parser.add_argument("trace", metavar="TRACE", help="trace or profile in any supported format")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="profile to write; - for stdout")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    add_steps(parser)
    parser.add_argument("--batch-size", type=int, metavar="N", help="batch size of the profiled step")
    parser.add_argument("--pixels", type=int, metavar="N", help="height and width of its images")
    parser.add_argument("--latency-ms", type=float, metavar="MS", help="step latency without the profiler")
    parser.add_argument("--precision", metavar="P", help="fp32, tf32, mixed_float16 ...")
    parser.add_argument("--gpu", metavar="NAME", help="GPU that it was recorded on")


def run_convert(options: argparse.Namespace) -> None:
    """Read the trace and write the profile to the file or, as `-`, to stdout."""
    target = None if options.output == STDOUT else Path(options.output)
    if target is not None:
        _check_free(target, Path(options.trace), force=options.force)
    trace = read_trace(options)
    meta = _with_given(trace.meta, options)
    profile = counted(replace(trace, meta=meta), meta.step_latency_ms)
    data = write_profile(profile)
    print_profile_warnings(profile)
    if target is None:
        # One JSON document, with and without --format json.
        sys.stdout.write(data.decode())
        return
    write_output(target, data, force=options.force)
    if options.format == "json":
        print_json(_written_document(target, profile))
    else:
        _print_written(target, profile)


def _with_given(meta: ProfileMeta, options: argparse.Namespace) -> ProfileMeta:
    """What the user gives goes before what the trace holds."""
    given = {name: getattr(options, name) for name in ("batch_size", "pixels", "precision", "gpu")}
    if options.latency_ms is not None:
        given["step_latency_ms"] = positive_number("--latency-ms", options.latency_ms)
    return replace(meta, **{name: value for name, value in given.items() if value is not None})


def _written_document(target: Path, profile: Profile) -> Document:
    return {
        "written": str(target),
        "format": profile.source_format,
        "operations": len(profile.operations),
        "steps": profile.steps,
        "steps_basis": profile.steps_basis,
        "ignored": list(profile.ignored),
        "warnings": list(profile.warnings),
    }


def _print_written(target: Path, profile: Profile) -> None:
    steps = "1 step" if profile.steps == 1 else f"the mean of {profile.steps} steps"
    print(f"{target}: {len(profile.operations)} operation types, {steps}, from {profile.source_format}")
    for note in steps_note(profile):
        print(note)
    print("It contains times per operation type and your options, but no names of layers, files or machines.")


def _check_free(target: Path, trace: Path, *, force: bool) -> None:
    """Refuse early, before a long trace is read."""
    if target.is_dir():
        raise InputError(f"{target} is a folder: name a file to write.")
    if target.exists() and trace.exists() and target.samefile(trace):
        raise InputError(f"{target} is the input trace: name another output file.")
    if target.exists() and not force:
        raise InputError(f"{target} exists: name another file, or use --force to overwrite it.")
