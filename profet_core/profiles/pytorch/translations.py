"""Translates PyTorch's operations to TensorFlow's types by a table, `translations.csv`, and by kernels' names.

The table covers 97% of the time of a ResNet's step on a CPU and 96% on a GPU; a kernel whose operation it leaves out
goes by its own name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

from profet_core.profiles.record import UNKNOWN
from profet_core.profiles.trace_events.kernel_names import COLLECTIVE, operation_of_kernel

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


@dataclass(frozen=True, slots=True)
class Kernel:
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


def kernel_of(name: str) -> Kernel:
    """What `name` tells."""
    operation = operation_of_kernel(name)
    if _COMPUTER_COPY.search(name):
        operation = COPY
    elif _PEER_COPY.search(name):
        operation = COLLECTIVE
    of_input, of_filter = bool(_INPUT_GRADIENT.search(name)), bool(_FILTER_GRADIENT.search(name))
    gradient = None if of_input == of_filter else int(of_filter)
    return Kernel(name, operation, gradient, bool(_DEPTHWISE.search(name)))


@dataclass(frozen=True, slots=True)
class Translation:
    """TensorFlow's types of one operation.

    Attributes
    ----------
    types : none if it is left out; the gradients of input and filter if `splits`.
    """

    types: tuple[str, ...]
    splits: bool = False


@dataclass(frozen=True)
class TranslationTable:
    """The table: exact names first, then patterns in their order."""

    exact: Mapping[str, Translation]
    patterns: tuple[tuple[str, Translation], ...]

    def find(self, operation: str) -> Translation:
        """Where an operation goes; one that isn't in the table keeps its name if it is PyTorch's own.

        Any other may be a name of the user's, and is not named.
        """
        found = self.exact.get(operation)
        if found is None:
            found = next((row for pattern, row in self.patterns if fnmatchcase(operation, pattern)), None)
        if found is None:
            found = Translation((operation if _PUBLIC_NAME.fullmatch(operation) else UNKNOWN,))
        return found


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
        return {kernel.operation if kernel.operation in _COPIES_ON_GPU else _COPY_ON_GPU: 1.0}
    if kernel is not None and kernel.depthwise:
        types = tuple(f"DepthwiseConv2dNative{kind[6:]}" if kind.startswith("Conv2D") else kind for kind in types)
    if not translation.splits:
        return dict.fromkeys(types, 1.0)
    if kernel is not None and kernel.gradient is not None:
        return {types[kernel.gradient]: 1.0}
    if mask in ("10", "01"):
        return {types[mask.index("1")]: 1.0}
    return dict.fromkeys(types, 0.5)


@cache
def load_translations() -> TranslationTable:
    """The shipped table."""
    text = resources.files("profet_core.profiles.pytorch").joinpath("translations.csv").read_text(encoding="utf-8")
    exact, patterns = {}, []
    for row in csv.DictReader(text.splitlines()):
        types = tuple(row["types"].split(";")) if row["types"] else ()
        translation = Translation(types, row["share"] == "backward")
        if "*" in row["operation"]:
            patterns.append((row["operation"], translation))
        else:
            exact[row["operation"]] = translation
    return TranslationTable(exact, tuple(patterns))
