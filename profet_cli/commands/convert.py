"""`profet convert`: reduces a trace to the totals per operation type, so that the trace itself can stay at home."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from profet_cli.inputs import read_trace
from profet_cli.output import print_json, print_warnings
from profet_core.errors import InputError
from profet_core.prediction.refusals import refusal
from profet_core.prediction.steps import counted, steps_note
from profet_core.profiles import Profile, write_profile
from profet_core.units import positive_number

STDOUT = "-"


def run(options: argparse.Namespace) -> None:
    """Read the trace and write the profile to the file or, as `-`, to stdout."""
    target = None if options.output == STDOUT else Path(options.output)
    if target is not None:
        _check_free(target, Path(options.trace), force=options.force)
    trace = read_trace(options)
    given = {
        "batch_size": options.batch_size,
        "pixels": options.pixels,
        "step_latency_ms": None if options.latency_ms is None else positive_number("--latency-ms", options.latency_ms),
        "precision": options.precision,
        "gpu": options.gpu,
    }
    meta = replace(trace.meta, **{name: value for name, value in given.items() if value is not None})
    source = counted(replace(trace, meta=meta), meta.step_latency_ms)
    data = write_profile(source)
    print_warnings(dict.fromkeys(line for line in (refusal(source), *source.warnings) if line))
    print_warnings(f"ignored: {note}" for note in source.ignored)
    if target is None:
        # One JSON document, with and without --format json.
        sys.stdout.write(data.decode())
        return
    _write(target, data, force=options.force)
    _tell(target, source, as_json=options.format == "json")


def _tell(target: Path, source: Profile, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "written": str(target),
                "format": source.source_format,
                "operations": len(source.operations),
                "steps": source.steps,
                "steps_basis": source.steps_basis,
                "ignored": list(source.ignored),
                "warnings": list(source.warnings),
            }
        )
        return
    steps = "1 step" if source.steps == 1 else f"the mean of {source.steps} steps"
    print(f"{target}: {len(source.operations)} operation types, {steps}, from {source.source_format}")
    if note := steps_note(source):
        print(note)
    print("It holds times per operation type and what you gave: no name of a layer, file or machine.")


def _check_free(target: Path, trace: Path, *, force: bool) -> None:
    if target.is_dir():
        raise InputError(f"{target} is a folder: name a file to write.")
    if target.exists() and trace.exists() and target.samefile(trace):
        raise InputError(f"{target} is the trace itself: name another file to write.")
    if target.exists() and not force:
        raise InputError(f"{target} is there already: name another file, or add --force to replace it.")


def _write(target: Path, data: bytes, *, force: bool) -> None:
    try:
        # "x" also refuses a file that came into being while the trace was read.
        with target.open("wb" if force else "xb") as file:
            file.write(data)
    except FileExistsError:
        raise InputError(f"{target} is there already: name another file, or add --force to replace it.") from None
    except OSError as error:
        raise InputError(f"{target} can't be written: {error.strerror}.") from None
