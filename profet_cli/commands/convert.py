"""`profet convert`: reduces a trace to the totals per operation type, so that the trace itself can stay at home."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from profet_cli.arguments import add_format, add_steps
from profet_cli.inputs import read_trace
from profet_cli.output import print_json, print_profile_warnings, write_output
from profet_core.documents.records import Document
from profet_core.errors import InputError
from profet_core.prediction.checks import counted, steps_note
from profet_core.profiles import Profile, ProfileMeta, write_profile
from profet_core.units import positive_number

STDOUT = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def run(options: argparse.Namespace) -> None:
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
