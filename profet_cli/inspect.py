"""`profet inspect` and `convert`: what a profile holds and how the models see it, and a trace reduced to a profile."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path

from profet_cli.files import read_profile_file
from profet_cli.options import add_format, add_models
from profet_cli.output import Column, check_not_read, print_json, print_profile_warnings, print_rows, write_output
from profet_core.answers.predict import Placement, placements
from profet_core.ensemble.operations import load_operation_classes
from profet_core.errors import InputError, NoPredictionError
from profet_core.prediction.checks import check_profile, counted, diagnose, read_as, steps_note
from profet_core.prediction.models import Models, load_models
from profet_core.questions import ProfileQuestion, fields_of
from profet_profiles import write_profile
from profet_profiles.limits import LIMITS
from profet_profiles.record import Profile
from profet_profiles.units import US_PER_MS, format_ms, positive_number

STDOUT = "-"


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Declare the profile."""
    add_format(parser)
    parser.add_argument("trace", metavar="TRACE", nargs="?")
    parser.add_argument("--limits", action="store_true", help="list the limits on files: size, time and memory")
    parser.add_argument("--steps", type=int, metavar="N", help=fields_of(ProfileQuestion)["steps"].help)
    add_models(parser)


def run_inspect(options: argparse.Namespace) -> None:
    """Print the profile's format, operations by time, totals, and what was ignored or unknown."""
    if options.limits:
        if options.format == "json":
            print_json({"limits": [limit._asdict() for limit in LIMITS]})
        else:
            print_rows(LIMITS, [("bound", "what"), ("maximum", "maximum", "{:,.0f}".format), ("unit", "unit")])
        return
    if options.trace is None:
        raise InputError("Name a profile, or list the bounds with --limits.")
    trace = read_as(read_profile_file(options.trace), options.steps)
    profile = counted(trace, trace.meta.step_latency_ms)
    models = load_models(options.models)
    operations, diagnosis = placements(models, profile), diagnose(profile)
    meta = {key: value for key, value in asdict(profile.meta).items() if value is not None}
    if options.format == "json":
        _, (unknown,) = load_operation_classes().encode([profile])
        shown: dict[str, object] = {
            "format": profile.source_format,
            "operations_us": dict(sorted(profile.operations.items(), key=lambda item: (-item[1], item[0]))),
            "device_total_us": profile.device_total_us,
            "host_total_us": profile.host_total_us,
            "steps": profile.steps,
            "steps_basis": profile.steps_basis,
            "framework": profile.meta.framework,
            "meta": meta,
            "refusal": _refusal(models, profile),
            "warnings": list(profile.warnings),
            "ignored": list(profile.ignored),
            "unknown_operations": unknown,
            "kinds": {row.operation: row.kind for row in operations},
            "classes": {row.operation: row.operation_class for row in operations},
            "clusters": {row.operation: row.cluster for row in operations},
            "diagnosis": {
                name: getattr(diagnosis, name)
                for name in ("kind", "gpu_busy_share", "input_share", "latency_known", "sentence")
            },
        }
        print_json(shown)
        return
    print_profile_warnings(profile)
    steps = "" if profile.steps == 1 else f", the mean of {profile.steps} steps"
    print(f"{profile.source_format}: {len(profile.operations)} operation types{steps}")
    for note in steps_note(profile):
        print(note)
    device_ms, host_ms = profile.device_total_us / US_PER_MS, profile.host_total_us / US_PER_MS
    print(f"device {format_ms(device_ms)}, host {format_ms(host_ms)}")
    for key, value in meta.items():
        if key != "work":
            print(f"{key}: {value}")
    print(diagnosis.sentence)
    columns: list[Column] = [
        ("operation", "operation"),
        ("ms", lambda row: f"{row.time_us / US_PER_MS:,.3f}"),
        ("kind", "kind"),
        ("class", "operation_class"),
        ("known by", _known_by),
    ]
    print_rows(operations, columns)


def _refusal(models: Models, profile: Profile) -> str:
    try:
        check_profile(models, profile)
    except NoPredictionError as error:
        return str(error)
    return ""


def _known_by(row: Placement) -> str | None:
    """How the default method came to an operation's class; None for one of the host."""
    if row.class_known:
        return "name"
    if not row.on_device:
        return None
    if row.set_aside:
        return "excluded"
    if row.operation_class is None:
        return "unknown, ignored"
    return "similar kind" if row.is_unseen_kind else "kind"


def add_convert(parser: argparse.ArgumentParser) -> None:
    """Declare the trace, the file to write, and what the user knows of the step."""
    add_format(parser)
    parser.add_argument("trace", metavar="TRACE", help="trace or profile in any supported format")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="profile to write; - for stdout")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--steps", type=int, metavar="N", help=fields_of(ProfileQuestion)["steps"].help)
    parser.add_argument("--batch-size", type=int, metavar="N", help="batch size of the profiled step")
    parser.add_argument("--pixels", type=int, metavar="N", help="height and width of its images")
    parser.add_argument("--latency-ms", type=float, metavar="MS", help="step latency without the profiler")
    parser.add_argument("--precision", metavar="P", help="fp32, tf32, mixed_float16 ...")
    parser.add_argument("--gpu", metavar="NAME", help="GPU that it was recorded on")


def run_convert(options: argparse.Namespace) -> None:
    """Read the trace and write the profile to the file or, as `-`, to stdout."""
    target = None if options.output == STDOUT else Path(options.output)
    if target is not None:
        # Before a long trace is read.
        check_not_read(target, options.trace)
        if target.is_dir():
            raise InputError(f"{target} is a folder: name a file to write.")
        if target.exists() and not options.force:
            raise InputError(f"{target} exists: name another file, or use --force to overwrite it.")
    trace = read_as(read_profile_file(options.trace), options.steps)
    # What the user gives goes before what the trace holds.
    given = {name: getattr(options, name) for name in ("batch_size", "pixels", "precision", "gpu")}
    if options.latency_ms is not None:
        given["step_latency_ms"] = positive_number("--latency-ms", options.latency_ms)
    meta = replace(trace.meta, **{name: value for name, value in given.items() if value is not None})
    profile = counted(replace(trace, meta=meta), meta.step_latency_ms)
    data = write_profile(profile)
    print_profile_warnings(profile)
    if target is None:
        # One JSON document, with and without --format json.
        sys.stdout.write(data.decode())
        return
    write_output(target, data, force=options.force)
    if options.format == "json":
        shown: dict[str, object] = {
            "written": str(target),
            "format": profile.source_format,
            "operations": len(profile.operations),
            "steps": profile.steps,
            "steps_basis": profile.steps_basis,
            "ignored": list(profile.ignored),
            "warnings": list(profile.warnings),
        }
        print_json(shown)
        return
    steps = "1 step" if profile.steps == 1 else f"the mean of {profile.steps} steps"
    print(f"{target}: {len(profile.operations)} operation types, {steps}, from {profile.source_format}")
    for note in steps_note(profile):
        print(note)
    print("It contains times per operation type and your options, but no names of layers, files or machines.")
