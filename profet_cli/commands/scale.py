"""`profet scale`: latency at a size between two known ones."""

from __future__ import annotations

import argparse
from dataclasses import replace

from profet_cli.arguments import add_format, add_models
from profet_cli.inputs import open_catalog, open_models, own_gpus, read_profile_file
from profet_cli.output import print_json
from profet_core.catalog import load_gpus
from profet_core.catalog.own_gpus import with_offers_of
from profet_core.scaling.context import ScaleContext, scale_context
from profet_core.scaling.scale import scale
from profet_core.units import format_ms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The instance, the axis with both ends, the size between them, and what else is known."""
    add_format(parser)
    parser.add_argument("--instance", required=True, metavar="INSTANCE|GPU")
    parser.add_argument("--axis", required=True, choices=["batch", "pixels"])
    parser.add_argument("--min-ms", required=True, type=float, help="latency at batch 16 or 32 pixels, milliseconds")
    parser.add_argument("--max-ms", required=True, type=float, help="latency at batch 256 or 256 pixels, milliseconds")
    parser.add_argument("--at", required=True, type=int, help="batch size 16-256 or pixel size 32-256")
    parser.add_argument(
        "--method", choices=["default", "profet"], default="default", help="default; profet: the documented polynomial"
    )
    parser.add_argument(
        "--other-size", type=int, metavar="N", help="the size that stays: pixels along batch, batch size along pixels"
    )
    parser.add_argument("--largest", metavar="TRACE", help="profile at the largest size: sharpens the curve")
    parser.add_argument(
        "--fixed-classes",
        action="store_true",
        help="along pixels: the number of classes stays (in the data it grows from 10 to 1000)",
    )
    add_models(parser)


def run(options: argparse.Namespace) -> None:
    """Scale and print."""
    models = open_models(options)
    own = own_gpus(options)
    catalog, gpus = with_offers_of(open_catalog(options), own), load_gpus().with_own(row.gpu for row in own)
    # An instance of the catalogue, or a GPU, that nobody profiled follows the curve that all measured ones share.
    known = options.instance in catalog or bool(gpus.named(options.instance))
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
        print_json(
            {
                "instance": options.instance,
                "axis": scaled.axis,
                "at": scaled.at,
                "latency_ms": scaled.latency_ms,
            }
        )
    else:
        print(f"{options.instance} at {scaled.axis} {scaled.at}: {format_ms(scaled.latency_ms)} a step")


def _context(options: argparse.Namespace) -> ScaleContext:
    """What is known besides both latencies; a size typed goes before the one in the profile."""
    if options.largest is None:
        return ScaleContext(other_size=options.other_size, fixed_classes=options.fixed_classes)
    context = scale_context(options.axis, read_profile_file(options.largest), fixed_classes=options.fixed_classes)
    return context if options.other_size is None else replace(context, other_size=options.other_size)
