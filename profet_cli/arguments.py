"""Arguments that several commands take; what reads them is in `inputs` and `questions`."""

from __future__ import annotations

import argparse

from profet_core.catalog.narrowing import SURENESS_WORDS
from profet_core.catalog.offers import MARKET_CHOICES
from profet_core.errors import InputError
from profet_core.precision.names import AS_PROFILED, PRECISIONS
from profet_core.typed_numbers import typed_count

#: Of the flag that shows what `cheapest_by_gpu` hides.
EVERY_OFFER_HELP = (
    "show every offer (default: the cheapest of each GPU, unless you filter by more than market and confidence)"
)
_PROVIDER_HELP = "only these clouds: aws, azure, gcp, lambda, nebius, runpod, vast, verda; own: your custom offers"


def add_format(parser: argparse.ArgumentParser, default: str = "text") -> None:
    """`--format`; `default` is `argparse.SUPPRESS` where a word before has set it."""
    parser.add_argument(
        "--format", choices=["text", "json"], default=default, help="output format; json prints one document"
    )


def add_profile(parser: argparse.ArgumentParser) -> None:
    """TRACE, its anchor and how to predict from it."""
    parser.add_argument("trace", metavar="TRACE", help="profile of the training step")
    parser.add_argument(
        "--anchor",
        metavar="INSTANCE|GPU",
        help="instance or GPU that TRACE was recorded on (default: the GPU named in TRACE)",
    )
    add_steps(parser)
    parser.add_argument("--latency-ms", type=float, help="measured step latency on the anchor, in milliseconds")
    parser.add_argument("--without-latency", action="store_true", help="ignore the latency in the profile's metadata")
    parser.add_argument(
        "--trust-latency", action="store_true", help="use the latency even if it doesn't fit the profile"
    )
    parser.add_argument("--method", default="default", help="default or profet (the documented ensemble)")
    add_precision(parser)
    parser.add_argument(
        "--measured",
        action="append",
        type=instance_number,
        default=[],
        metavar="INSTANCE=MS",
        help="latency you measured on a target with the same network, in milliseconds",
    )
    parser.add_argument(
        "--measured-trace", metavar="TRACE", help="anchor profile of the workload in --measured, if not TRACE"
    )
    parser.add_argument(
        "--measured-trace-latency-ms", type=float, help="latency of that profile on the anchor, in milliseconds"
    )
    parser.add_argument("--profiled-batch", type=int, metavar="N", help="batch size of TRACE")
    parser.add_argument("--profiled-pixels", type=int, metavar="N", help="pixel size of TRACE")
    add_models(parser)


def add_precision(parser: argparse.ArgumentParser) -> None:
    """`--precision`."""
    parser.add_argument(
        "--precision",
        choices=PRECISIONS[1:],
        default=AS_PROFILED,
        help="precision of the training (default: as profiled, with TF32 on Ampere and later; fp32 is without TF32)",
    )


def add_training(parser: argparse.ArgumentParser) -> None:
    """The profile and the training that `cost` and `advise` are about."""
    add_profile(parser)
    parser.add_argument("--images", required=True, type=int, help="training images per epoch")
    parser.add_argument("--validation-images", type=int, default=0, help="validation images per epoch (default: 0)")
    parser.add_argument("--epochs", type=int, default=1, help="number of epochs (default: 1)")
    add_prices(parser)
    parser.add_argument(
        "--at-batch", type=int, metavar="N", help="predict at this batch size instead of the profiled one"
    )
    parser.add_argument(
        "--at-pixels", type=int, metavar="N", help="predict at this pixel size instead of the profiled one"
    )
    parser.add_argument(
        "--second",
        metavar="TRACE",
        help="profile of the same network at another size; makes --at-batch and --at-pixels more accurate",
    )
    parser.add_argument("--second-batch", type=int, metavar="N", help="batch size of the second profile")
    parser.add_argument("--second-pixels", type=int, metavar="N", help="pixel size of the second profile")
    parser.add_argument(
        "--second-latency-ms", type=float, help="latency of that profile on the anchor, in milliseconds"
    )


def add_narrowing(parser: argparse.ArgumentParser, *, market: str | None = None, **default: str) -> None:
    """Which offers: by cloud, region, market, GPU and memory; `default=argparse.SUPPRESS` where words before set them.

    Parameters
    ----------
    market : the one without a word about it; None: each instance's usual price.
    """
    unset = default.get("default")
    add = parser.add_argument_group("offers").add_argument
    add("--provider", "--cloud", type=names, metavar="A,B", default=default.get("default", ()), help=_PROVIDER_HELP)
    add("--region", default=unset, help="only offers in this region: us-east-1, or a part of the name such as US")
    add(
        "--market",
        choices=MARKET_CHOICES,
        default=default.get("default", market),
        help=f"only offers of this market (default: {market or 'the default offer of each instance'})",
    )
    add("--gpu", type=names, metavar="A,B", default=default.get("default", ()), help="only these GPUs: V100,T4")
    add("--gpu-count", type=int, metavar="N", default=unset, help="only offers with this number of GPUs: 1, 2, 4 or 8")
    add("--min-memory-gib", type=float, metavar="GIB", default=unset, help="only GPUs with at least this much memory")


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """`--whole-nodes`, with `--network` or `--parameters`."""
    add = parser.add_argument
    add(
        "--whole-nodes",
        action="store_true",
        help="train on all GPUs of each machine, each with the batch size of one GPU (default: train on one GPU)",
    )
    add("--network", metavar="NAME", help="network name for --whole-nodes, such as ResNet50")
    add(
        "--parameters",
        type=count,
        metavar="N",
        help="number of parameters for --whole-nodes, such as 25.6M (default: from TRACE)",
    )


def add_prices(parser: argparse.ArgumentParser) -> None:
    """`--price`, once for each instance."""
    parser.add_argument(
        "--price",
        action="append",
        type=instance_number,
        default=[],
        metavar="INSTANCE=USD",
        help="your own price per hour",
    )


def add_spot_discount(parser: argparse.ArgumentParser) -> None:
    """`--spot-discount`, where offers are of a market."""
    parser.add_argument(
        "--spot-discount",
        type=float,
        metavar="SHARE",
        help="assumed spot discount, 0 to 1, for offers without a spot price in the catalog",
    )


def add_sureness(parser: argparse.ArgumentParser) -> None:
    """`--sureness`, where something is predicted."""
    parser.add_argument("--sureness", choices=SURENESS_WORDS, help="only predictions with at least this confidence")


def add_steps(parser: argparse.ArgumentParser) -> None:
    """`--steps`: how many training steps TRACE covers."""
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="number of training steps in TRACE (default: from TRACE, else from its latency, else one; two for "
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
        help="folder of measurements (default: PROFET_DATA, else data/); repeat to combine published ones and yours",
    )


def add_dask(parser: argparse.ArgumentParser) -> None:
    """`--dask`: who does the fits and folds."""
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run the fits and folds on this Dask scheduler, such as tcp://host:8786"
    )


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """`--anchor`: a choice among the measurements' anchors, which may be given several times."""
    parser.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs with this anchor")


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
