"""Translates PyTorch's operations to TensorFlow's types by a table, `translations.csv`, and by kernels' names.

The table covers 97% of the time of a ResNet's step on a CPU and 96% on a GPU; a kernel whose operation it leaves out
goes by its own name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import NamedTuple

from profet_recorder.profiles.kernel_names import COLLECTIVE, operation_of_kernel
from profet_recorder.profiles.pytorch.events import OPTIMIZER_STEP
from profet_recorder.profiles.record import UNKNOWN

_PUBLIC_NAME = re.compile(r"aten::\w{1,100}", re.ASCII)
_INPUT_GRADIENT = re.compile(r"dgrad|bwd_?data|backward_?data|backward_input|bwdd", re.IGNORECASE)
_FILTER_GRADIENT = re.compile(
    r"wgrad|bwd_?(?:filter|weight)|backward_?(?:filter|weight)|grad_weight|bwdw", re.IGNORECASE
)
_DEPTHWISE = re.compile(r"depthwise|2d_c1_k1", re.IGNORECASE)
_COMPUTER_COPY = re.compile(r"memcpy ?(?:htod|h2d|dtoh|d2h)", re.IGNORECASE)
_PEER_COPY = re.compile(r"memcpy ?(?:ptop|p2p)", re.IGNORECASE)
#: Copies between the computer and the GPU count as what brings a batch there in the training data; those that stay on
#: the GPU change a type or an order.
COPY, _COPY_ON_GPU, _COPIES_ON_GPU = "_Send", "Cast", ("Transpose", "MemcpyDToD")

_ADAM = "ResourceApplyAdam"
#: What the name of an optimizer's class holds, small letters, those that say more first.
_UPDATES = {
    "adagrad": "ResourceApplyAdagradV2",
    "adadelta": "ResourceApplyAdadelta",
    "adamax": "ResourceApplyAdaMax",
    "adam": _ADAM,
    "lamb": _ADAM,
    "adan": _ADAM,
    "rmsprop": "ResourceApplyRMSProp",
    "ftrl": "ResourceApplyFtrl",
}


class Kernel(NamedTuple):
    """What a kernel's name tells.

    Attributes
    ----------
    operation : TensorFlow's type; None if the name does not tell.
    gradient : 0 for that of a convolution's input, 1 for that of its filter, None for neither or either.
    depthwise : it is of a depthwise convolution.
    """

    name: str
    operation: str | None
    gradient: int | None
    depthwise: bool


def parse_kernel(name: str) -> Kernel:
    """What `name` tells."""
    operation = operation_of_kernel(name)
    if _COMPUTER_COPY.search(name):
        operation = COPY
    elif _PEER_COPY.search(name):
        operation = COLLECTIVE
    of_input, of_filter = bool(_INPUT_GRADIENT.search(name)), bool(_FILTER_GRADIENT.search(name))
    gradient = None if of_input == of_filter else int(of_filter)
    return Kernel(name, operation, gradient, bool(_DEPTHWISE.search(name)))


class Translation(NamedTuple):
    """TensorFlow's types of one operation: none if it is left out; the gradients of input and filter if `splits`."""

    types: tuple[str, ...]
    splits: bool = False


@cache
def load_translations() -> dict[str, Translation]:
    """The shipped table: names, and patterns with "*" in their order."""
    text = resources.files("profet_recorder.profiles.pytorch").joinpath("translations.csv").read_text(encoding="utf-8")
    return {
        row["operation"]: Translation(tuple(filter(None, row["types"].split(";"))), row["share"] == "backward")
        for row in csv.DictReader(text.splitlines())
    }


def translate(operation: str) -> Translation:
    """Where an operation goes; one that isn't in the table keeps its name if it is PyTorch's own.

    Any other may be a name of the user's, and is not named.
    """
    table = load_translations()
    if operation in table:
        return table[operation]
    patterns = (row for pattern, row in table.items() if "*" in pattern and fnmatchcase(operation, pattern))
    return next(patterns, None) or Translation((operation if _PUBLIC_NAME.fullmatch(operation) else UNKNOWN,))


def update_operation(label: str, operations: Collection[str]) -> str:
    """TensorFlow's type of the update that an optimizer's step makes."""
    name = label.removeprefix(OPTIMIZER_STEP).partition(".")[0].lower()
    if known := next((kind for part, kind in _UPDATES.items() if part in name), None):
        return known
    parts = [operation.removeprefix("aten::").strip("_").removeprefix("foreach_") for operation in operations]
    if "sgd" not in name and any(part.startswith(("sqrt", "addcdiv", "fused_adam")) for part in parts):
        return _ADAM
    return "ResourceApplyMomentum" if "mul" in parts else "ResourceApplyGradientDescent"


def shares(translation: Translation, kernel: Kernel | None, mask: str | None) -> dict[str, float]:
    """TensorFlow's types of an operation, each with its share of the operation's time.

    Parameters
    ----------
    kernel : the kernel that the time is of; None for the host. Where the operation is left out or unknown, the kernel's
        own name tells.
    mask : of a convolution's gradient, "10" if only the input's was computed, "01" only the filter's, "11" both;
        None if that was not recorded.
    """
    types = translation.types
    if kernel is not None and types in ((), (UNKNOWN,)):
        return {kernel.operation or UNKNOWN: 1.0}
    if kernel is not None and types == (COPY,) and kernel.operation != COPY:
        # No copy starts a convolution: the trace's times of the two are wrong by microseconds.
        believed = kernel.operation in _COPIES_ON_GPU or "Conv" in (kernel.operation or "")
        return {kernel.operation if kernel.operation and believed else _COPY_ON_GPU: 1.0}
    if kernel is not None and kernel.depthwise:
        types = tuple(f"DepthwiseConv2dNative{kind[6:]}" if kind.startswith("Conv2D") else kind for kind in types)
    if not translation.splits:
        return dict.fromkeys(types, 1.0)
    if kernel is not None and kernel.gradient is not None:
        return {types[kernel.gradient]: 1.0}
    if mask in ("10", "01"):
        return {types[mask.index("1")]: 1.0}
    return dict.fromkeys(types, 0.5)
