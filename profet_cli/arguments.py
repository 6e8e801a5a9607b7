"""Arguments that several commands take; what reads them is in `inputs` and `questions`."""

from __future__ import annotations

import argparse

from profet_core.catalog.narrowing import SURENESS_WORDS
from profet_core.catalog.offers import MARKET_CHOICES
from profet_core.errors import InputError
from profet_core.typed_numbers import typed_count

#: Of the flag that shows what `cheapest_by_gpu` hides.
EVERY_OFFER_HELP = (
    "a row for each offer (default: the cheapest of each GPU, unless offers are narrowed by more than market and "
    "sureness)"
)
_PROVIDER_HELP = "only these clouds: aws, azure, gcp, lambda, nebius, runpod, vast, verda; own: your own"


def add_format(parser: argparse.ArgumentParser, default: str = "text") -> None:
    """`--format`; `default` is `argparse.SUPPRESS` where a word before has set it."""
    parser.add_argument("--format", choices=["text", "json"], default=default, help="json: one document on stdout")


def add_profile(parser: argparse.ArgumentParser) -> None:
    """TRACE, its anchor and how to predict from it."""
    parser.add_argument("trace", metavar="TRACE", help="profile of training steps")
    parser.add_argument(
        "--anchor",
        metavar="INSTANCE|GPU",
        help="what it was recorded on: an instance, or a GPU by its name (default: the GPU that TRACE names)",
    )
    add_steps(parser)
    parser.add_argument("--latency-ms", type=float, help="measured step latency on the anchor, milliseconds")
    parser.add_argument("--without-latency", action="store_true", help="ignore the latency in the profile's meta")
    parser.add_argument("--trust-latency", action="store_true", help="use the latency even if it looks wrong")
    parser.add_argument("--method", default="default", help="default, or profet: the documented ensemble")
    parser.add_argument(
        "--fp32",
        action="store_true",
        help="without TF32 on Ampere and later (frameworks use it for convolutions unasked)",
    )
    add_models(parser)


def add_training(parser: argparse.ArgumentParser) -> None:
    """The profile and the training that `cost` and `advise` are about."""
    add_profile(parser)
    parser.add_argument("--images", required=True, type=int, help="training images per epoch")
    parser.add_argument("--validation-images", type=int, default=0)
    parser.add_argument("--profiled-batch", type=int, help="batch size the profile was recorded at")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument(
        "--price",
        action="append",
        type=instance_number,
        default=[],
        metavar="INSTANCE=USD",
        help="a price of your own, an hour",
    )
    parser.add_argument("--profiled-pixels", type=int, metavar="N", help="pixel size the profile was recorded at")
    parser.add_argument("--at-batch", type=int, metavar="N", help="at another batch size than the profiled one")
    parser.add_argument("--at-pixels", type=int, metavar="N", help="at another pixel size than the profiled one")
    parser.add_argument(
        "--second", metavar="TRACE", help="profile of the same network at another size: narrows --at-batch, --at-pixels"
    )
    parser.add_argument("--second-batch", type=int, metavar="N", help="batch size it was recorded at")
    parser.add_argument("--second-pixels", type=int, metavar="N", help="pixel size it was recorded at")
    parser.add_argument("--second-latency-ms", type=float, help="its anchor latency")


def add_narrowing(parser: argparse.ArgumentParser, *, market: str | None = None, **default: str) -> None:
    """Which offers: by cloud, region, market, GPU and memory; `default=argparse.SUPPRESS` where words before set them.

    Parameters
    ----------
    market : the one without a word about it; None: each instance's usual price.
    """
    unset = default.get("default")
    add = parser.add_argument_group("offers").add_argument
    add("--provider", "--cloud", type=names, metavar="A,B", default=default.get("default", ()), help=_PROVIDER_HELP)
    add("--region", default=unset, help="offers there only: us-east-1, or a part of it such as US")
    add(
        "--market",
        choices=MARKET_CHOICES,
        default=default.get("default", market),
        help=f"offers of this market (default: {market or 'the usual one of each instance'})",
    )
    add("--gpu", type=names, metavar="A,B", default=default.get("default", ()), help="only these GPUs: V100,T4")
    add("--gpu-count", type=int, metavar="N", default=unset, help="only offers of so many GPUs: 1, 2, 4 or 8")
    add("--min-memory-gib", type=float, metavar="GIB", default=unset, help="GPUs with at least as much memory")


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """`--whole-nodes`, with `--network` or `--parameters`."""
    add = parser.add_argument
    add(
        "--whole-nodes",
        action="store_true",
        help="nodes of several GPUs with all of them training, each at the batch of one (default: the speed of one)",
    )
    add("--network", metavar="NAME", help="whole nodes, of the network of that name: ResNet50")
    add("--parameters", type=count, metavar="N", help="or by its parameters: 25.6M (default: what TRACE tells)")


def add_sureness(parser: argparse.ArgumentParser) -> None:
    """`--sureness`, where something is predicted."""
    parser.add_argument("--sureness", choices=SURENESS_WORDS, help="only numbers at least as sure")


def add_steps(parser: argparse.ArgumentParser) -> None:
    """`--steps`: how many training steps TRACE covers."""
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="training steps TRACE covers (default: what it tells, else what its latency tells, else one; two for "
        "PROFET's own files)",
    )


def add_models(parser: argparse.ArgumentParser) -> None:
    """`--models`: the folder to predict with."""
    parser.add_argument("--models", metavar="DIR", help="models folder (default: PROFET_HOME or the shipped one)")


def add_data(parser: argparse.ArgumentParser) -> None:
    """`--data`: the measurements, of one folder or of several."""
    parser.add_argument(
        "--data",
        action="append",
        metavar="DIR",
        help="measurements (default: PROFET_DATA or ../shared/data); several times: published ones and your own",
    )


def add_dask(parser: argparse.ArgumentParser) -> None:
    """`--dask`: who does the fits and folds."""
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="a Dask scheduler, tcp://host:8786: its workers do the fits and folds"
    )


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """`--anchor`: a choice among the measurements' anchors, which may be given several times."""
    parser.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs from this anchor")


def names(text: str) -> list[str]:
    """Names, of "A,B"."""
    return [name.strip() for name in text.split(",") if name.strip()]


def count(text: str) -> float:
    """A large number, of "25.6M"."""
    try:
        return typed_count(text).value
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def instance_number(text: str) -> tuple[str, float]:
    """An instance and a number, of "INSTANCE=NUMBER"."""
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4") from None
