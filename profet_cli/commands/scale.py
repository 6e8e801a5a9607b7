"""`profet scale`: latency at a size between two known ones."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

from profet_cli.inputs import open_models, read_profile_file
from profet_cli.output import print_json
from profet_core.catalog import load_catalog
from profet_core.scaling.context import ScaleContext, scale_context
from profet_core.scaling.scale import scale
from profet_core.units import format_ms


def run(options: argparse.Namespace) -> None:
    """Scale and print."""
    models = open_models(options)
    # An instance of the catalogue that nobody profiled follows the curve that all measured ones share.
    known = options.instance in load_catalog()
    scaled = scale(
        models,
        models.profiled(options.instance) if known else options.instance,
        options.axis,
        options.min_ms,
        options.max_ms,
        options.at,
        method=options.method,
        context=_context(options),
    )
    if options.format == "json":
        print_json({**asdict(scaled), "instance": options.instance})
    else:
        print(f"{options.instance} at {scaled.axis} {scaled.at}: {format_ms(scaled.latency_ms)} a step")


def _context(options: argparse.Namespace) -> ScaleContext:
    """What is known besides both latencies; a size typed goes before the one in the profile."""
    context = ScaleContext(other_size=options.other_size, fixed_classes=options.fixed_classes)
    if options.largest is None:
        return context
    told = scale_context(options.axis, read_profile_file(options.largest), fixed_classes=options.fixed_classes)
    return told if options.other_size is None else replace(told, other_size=options.other_size)
