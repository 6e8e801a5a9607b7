"""`profet manycore`: a training on a many-core processor over threads, by both published models."""

from __future__ import annotations

import argparse

from profet_cli.files import network_file, read_network_file
from profet_cli.options import add_format
from profet_cli.output import print_json, print_table, print_warnings
from profet_core.errors import InputError
from profet_core.training import many_core
from profet_profiles.units import MS_PER_S, positive_number, typed_whole


def add_manycore(parser: argparse.ArgumentParser) -> None:
    """Declare the network, the threads and the training."""
    add_format(parser)
    tip = f"{', '.join(many_core.PUBLISHED)}, a network name such as ResNet50, or a .keras, ONNX or layer table file"
    parser.add_argument("network", nargs="?", metavar="NETWORK|FILE", help=tip)
    parser.add_argument("--pixels", type=int, help="image size (default: the network's, or the file's)")
    parser.add_argument("--flops", type=float, metavar="N", help="forward FLOPs per image, instead of NETWORK")
    for name in ("forward-ms", "backward-ms"):
        parser.add_argument(f"--{name}", type=float, metavar="MS", help="for model (b): per image on one thread")
    usual, tip = map(str, many_core.PUBLISHED_THREADS), f"1 to {many_core.MAX_THREADS} (default: the published numbers)"
    parser.add_argument("--threads", default=",".join(usual), metavar="N,N", help=tip)
    for name in ("images", "test-images", "epochs"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help="default: as published")


def run_manycore(options: argparse.Namespace) -> None:
    """Answer and print."""
    network, times_ms = _network(options), (options.forward_ms, options.backward_ms)
    if times_ms != (None, None):
        if None in times_ms:
            raise InputError("Give both --forward-ms and --backward-ms, measured on one thread.")
        forward_s, backward_s = (positive_number("The time per image", time_ms) / MS_PER_S for time_ms in times_ms)
        network = network._replace(forward_s=forward_s, backward_s=backward_s)
    training = many_core.training_of(network, options.images, options.test_images, options.epochs)
    try:
        given = filter(str.strip, options.threads.split(","))
        threads = [typed_whole(count, 1, many_core.MAX_THREADS) for count in given]
    except InputError as error:
        raise InputError(f"--threads: {error}") from None
    rows = many_core.manycore(network, training, threads)
    asked, notes = many_core.words_of(network, training, threads)
    if options.format == "json":
        names = ("forward_flops", "forward_operations", "backward_operations", "forward_s", "backward_s")
        shown = {"network": network.name, **{name: getattr(network, name) for name in names}, **training._asdict()}
        shown |= {"processor": many_core.PROCESSOR, "cores": many_core.CORES, "rows": rows, "warnings": notes}
        return print_json(shown)
    print(f"{asked}\n")
    print_table(("threads", "(a) min", "speed-up", "(b) min", "speed-up"), many_core.rows_of(rows))
    print("\n(a): from operation counts; (b): from single-thread times. After Viebke et al. 2019, as recalled.")
    print_warnings(notes)


def _network(options: argparse.Namespace) -> many_core.ManyCoreNetwork:
    """Return a published network, one by its FLOPs, one by name, or the one in a file."""
    text, pixels = options.network, options.pixels
    if (text is None) is (options.flops is None):
        raise InputError(f"Name a network ({', '.join(many_core.PUBLISHED)}, ResNet50, ...) or give its --flops.")
    if text is None or text in many_core.PUBLISHED:
        if pixels is not None:
            raise InputError("--pixels is for a network by name or file: remove --pixels.")
        return many_core.scaled_network("own", options.flops) if text is None else many_core.PUBLISHED[text]
    if (path := network_file(text)) is not None:
        network = read_network_file(path, pixels)
        print_warnings(network.caveats)
        return many_core.scaled_network(network.name, network.counts.flops.all)
    # Most questions need no layers.
    from profet_core.layers.networks import counts_of, network_name

    return many_core.scaled_network(network_name(text), counts_of(text, pixels).flops.all)
