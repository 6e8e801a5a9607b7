"""`profet scale`: latency at a size between two known ones."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.inputs import open_models
from profet_cli.output import print_json
from profet_core.scaling import scale
from profet_core.units import format_ms


def run(options: argparse.Namespace) -> None:
    """Scale and print."""
    scaled = scale(open_models(options), options.instance, options.axis, options.min_ms, options.max_ms, options.at)
    if options.format == "json":
        print_json(asdict(scaled))
    else:
        print(f"{scaled.instance} at {scaled.axis} {scaled.at}: {format_ms(scaled.latency_ms)} a step")
