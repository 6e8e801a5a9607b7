"""`profet manycore`: a training on a many-core processor over threads, by both published models."""

from __future__ import annotations

import argparse
from dataclasses import replace

from profet_cli.arguments import add_format, network_file, read_network_file
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.answers.documents import Document
from profet_core.errors import InputError
from profet_core.questions import names
from profet_core.training.many_core import (
    MAX_THREADS,
    MIN_THREADS,
    PUBLISHED,
    PUBLISHED_THREADS,
    PUBLISHED_TRAINING,
    ManycoreAnswer,
    Network,
    TrainingTime,
    manycore,
    nearest_published,
    scaled_network,
)
from profet_profiles.units import MS_PER_S, format_significant, positive_number, typed_whole

_S_PER_MIN = 60


def add_manycore(parser: argparse.ArgumentParser) -> None:
    """The network, the threads and the training."""
    add_format(parser)
    parser.add_argument(
        "network",
        nargs="?",
        metavar="NETWORK|FILE",
        help=f"{', '.join(PUBLISHED)} (published networks), a network name such as ResNet50, or a .keras, ONNX or "
        "layer table file",
    )
    parser.add_argument(
        "--pixels", type=int, help="height and width of the image (default: the network's, or the file's)"
    )
    parser.add_argument("--flops", type=float, metavar="N", help="forward FLOPs per image, instead of NETWORK")
    parser.add_argument(
        "--forward-ms", type=float, metavar="MS", help="for model (b): forward time per image on one thread"
    )
    parser.add_argument(
        "--backward-ms", type=float, metavar="MS", help="for model (b): backward time per image, including the update"
    )
    parser.add_argument(
        "--threads",
        type=thread_counts,
        default=list(PUBLISHED_THREADS),
        metavar="N,N",
        help=f"{MIN_THREADS} to {MAX_THREADS} (default: the published numbers)",
    )
    as_published = "(default: as published)"
    parser.add_argument("--images", type=int, help=f"training images per epoch {as_published}")
    parser.add_argument("--test-images", type=int, help=f"test images per epoch {as_published}")
    parser.add_argument("--epochs", type=int, help=as_published)


def thread_counts(text: str) -> list[int]:
    """Numbers of threads, of "1,60,240"."""
    try:
        return [typed_whole(each, MIN_THREADS, MAX_THREADS) for each in names(text)]
    except InputError:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!a} are not numbers from {MIN_THREADS} to {MAX_THREADS}, such as 1,60,240"
        ) from None


def run_manycore(options: argparse.Namespace) -> None:
    """Answer and print."""
    network = _with_measured_times(_network(options), options)
    # The training of the nearest published network, but for what is given.
    published = PUBLISHED_TRAINING[nearest_published(network.forward_flops).name]
    given = {name: getattr(options, name) for name in ("images", "test_images", "epochs")}
    training = replace(published, **{name: value for name, value in given.items() if value is not None})
    answer = manycore(network, training, options.threads)
    if options.format == "json":
        print_json(_document(answer))
    else:
        _print_answer(answer)


def _document(answer: ManycoreAnswer) -> Document:
    network, training = answer.network, answer.training
    flops = ("forward_flops", "forward_operations", "backward_operations", "forward_s", "backward_s")
    rows = [
        {
            "threads": row.threads,
            "cpi": row.cpi,
            "contention_s": row.contention_s,
            "extrapolated": row.extrapolated,
            "model_a": {**_times(row.a), "speedup": row.speedup_a},
            "model_b": {**_times(row.b), "speedup": row.speedup_b},
        }
        for row in answer.rows
    ]
    return {
        "network": network.name,
        **{name: getattr(network, name) for name in flops},
        **{name: getattr(training, name) for name in ("images", "test_images", "epochs")},
        "processor": answer.machine.name,
        "cores": answer.machine.cores,
        "rows": rows,
        "warnings": answer.notes,
    }


def _times(time: TrainingTime) -> Document:
    return {name: getattr(time, name) for name in ("total_s", "preparation_s", "images_s", "contention_s")}


def _network(options: argparse.Namespace) -> Network:
    """A published network, one by its FLOPs, one by name, or the one in a file."""
    if (options.network is None) is (options.flops is None):
        raise InputError(f"Name a network ({', '.join(PUBLISHED)}, ResNet50, ...) or give its --flops.")
    if options.flops is not None:
        if options.pixels is not None:
            raise InputError("--flops already covers the image size: remove --pixels.")
        return scaled_network("own", options.flops)
    if options.network in PUBLISHED:
        if options.pixels is not None:
            raise InputError(f"The {options.network} network has 29 pixels: remove --pixels.")
        return PUBLISHED[options.network]
    text, pixels = options.network, options.pixels
    if (path := network_file(text)) is not None:
        read = read_network_file(path, pixels)
        print_warnings(read.caveats)
        return scaled_network(read.name, read.counts.flops.all)
    # Most questions need no layers.
    from profet_core.layers.networks import counts_of, network_name

    return scaled_network(network_name(text), counts_of(text, pixels).flops.all)


def _with_measured_times(network: Network, options: argparse.Namespace) -> Network:
    """With what was measured of an image on one thread, which only model (b) uses."""
    forward_ms, backward_ms = options.forward_ms, options.backward_ms
    if forward_ms is None and backward_ms is None:
        return network
    if forward_ms is None or backward_ms is None:
        raise InputError("Give both --forward-ms and --backward-ms, measured on one thread.")
    return replace(
        network,
        forward_s=positive_number("The forward time per image", forward_ms) / MS_PER_S,
        backward_s=positive_number("The backward time per image", backward_ms) / MS_PER_S,
    )


def _print_answer(answer: ManycoreAnswer) -> None:
    network, training, machine = answer.network, answer.training, answer.machine
    print(
        f"{network.name}: {format_significant(network.forward_flops / 1e6)} million forward FLOPs per image; "
        f"{training.images:,} images, {training.test_images:,} test images, {training.epochs:,} epochs on "
        f"{machine.name}, {machine.cores} cores\n"
    )
    print_table(
        ("threads", "(a) min", "speed-up", "(b) min", "speed-up", "CPI", "contention s"),
        [
            (
                f"{row.threads:,}",
                minutes(row.a.total_s),
                f"{row.speedup_a:.1f}",
                minutes(row.b.total_s),
                f"{row.speedup_b:.1f}",
                f"{row.cpi:g}",
                format_significant(row.contention_s),
            )
            for row in answer.rows
        ],
    )
    print("\n(a): from operation counts; (b): from measured times per image. After Viebke et al. 2019, as recalled.")
    print_warnings(answer.notes)


def minutes(seconds: float) -> str:
    """As published: one decimal; more below a minute."""
    value = seconds / _S_PER_MIN
    return f"{value:,.1f}" if value >= 1 else format_significant(value, 2)
