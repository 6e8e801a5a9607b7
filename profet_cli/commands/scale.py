"""`profet scale`: latency at a size between two known ones."""

from __future__ import annotations

import argparse

from profet_cli.arguments import add_format, add_models
from profet_cli.inputs import open_context, read_profile_file
from profet_cli.output import print_json
from profet_core.answers.sizes import ScaleQuestion, answer_scale
from profet_core.documents.answers import SCALED
from profet_core.units import format_ms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The instance, the axis with both ends, the size between them, and what else is known."""
    add_format(parser)
    parser.add_argument("--instance", required=True, metavar="INSTANCE|GPU")
    parser.add_argument("--axis", required=True, choices=["batch", "pixels"])
    parser.add_argument("--min-ms", required=True, type=float, help="latency at batch 16 or 32 pixels, in milliseconds")
    parser.add_argument(
        "--max-ms", required=True, type=float, help="latency at batch 256 or 256 pixels, in milliseconds"
    )
    parser.add_argument("--at", required=True, type=int, help="batch size 16-256 or pixel size 32-256")
    parser.add_argument(
        "--method",
        choices=["default", "profet"],
        default="default",
        help="default or profet (the documented polynomial)",
    )
    parser.add_argument(
        "--other-size",
        type=int,
        metavar="N",
        help="fixed size: pixels with --axis batch, batch size with --axis pixels",
    )
    parser.add_argument("--largest", metavar="TRACE", help="profile at the largest size; makes the curve more accurate")
    parser.add_argument(
        "--fixed-classes",
        action="store_true",
        help="with --axis pixels: fixed number of classes (in the data it grows from 10 to 1000)",
    )
    add_models(parser)


def run(options: argparse.Namespace) -> None:
    """Scale and print."""
    question = ScaleQuestion(
        instance=options.instance,
        axis=options.axis,
        min_ms=options.min_ms,
        max_ms=options.max_ms,
        at=options.at,
        method=options.method,
        other_size=options.other_size,
        largest=None if options.largest is None else read_profile_file(options.largest),
        fixed_classes=options.fixed_classes,
    )
    scaled = answer_scale(open_context(options), question).scaled
    if options.format == "json":
        print_json(SCALED.document(scaled))
    else:
        print(f"{scaled.instance} at {scaled.axis} {scaled.at}: {format_ms(scaled.latency_ms)} per step")
