"""Kinds of operations, from a table; nothing is learned from data.

`operation_kinds.csv` holds a kind for every TensorFlow and PyTorch operation of a training
(`python -m profet_lab.kinds.operation_kinds` writes it). `kinds.csv` holds the model class of each kind. A kind absent
from the training data gets the class with the most similar bottleneck, mostly "elementwise", which is bound by memory
bandwidth. Four rules map names to the table: oneDNN's prefix, a version, PyTorch's underscores for "in place", and
"Grad" or "_backward" for the gradient of a listed operation.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from types import MappingProxyType

from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX

#: Communication between GPUs: no class predicts its time on another instance, and it is not unknown time either.
COMMUNICATION = "communication"
SET_ASIDE = frozenset({COMMUNICATION})
#: Maximum length of an operation's name; patterns are slow on longer, made-up ones.
LONGEST_NAME = 200

_TENSORFLOW_STEM = re.compile(r"_*(?:Mkl(?:Native|Dummy)?)?(.*?)(?:[Vv]\d)?")
_PYTORCH_STEM = re.compile(r"(\w+::)_*(.*?)_*")
_GRADIENT = re.compile(r"(.+?)(?:(?:Grad(?:ient)?)+|_backward)")
_GRADIENT_ENDS = ("Grad", "Gradient", "_backward")
#: Kernels of the communication libraries, and TensorFlow's and Horovod's names for them.
_TALK = re.compile(r"_?(?:[nr]ccl|horovod|collective)\w*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of operations.

    Attributes
    ----------
    operation_class : the models' class for operations of this kind on a GPU; None if there is none.
    gradient : kind of their gradients.
    """

    name: str
    operation_class: str | None
    gradient: str


@dataclass(frozen=True)
class OperationKinds:
    """The tables.

    Attributes
    ----------
    kinds : by name, in the order of the table.
    operations : operation type without its prefix -> name of its kind.
    """

    kinds: Mapping[str, Kind]
    operations: Mapping[str, str]

    def kind_of(self, operation: str) -> Kind | None:
        """Kind of an operation, with or without "Device_" or "Host_"; None if unknown."""
        if found := self.shipped.get(operation):
            return found
        bare = operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX)
        if len(bare) > LONGEST_NAME:
            return None
        kind = self.operations.get(bare) or self._by_stem.get(short := stem(bare))
        # Test patterns only where they may match: a thousand unknown names are looked up per answer.
        if kind is None and short.endswith(_GRADIENT_ENDS) and (gradient := _GRADIENT.fullmatch(short)):
            of = self._by_stem.get(stem(gradient[1]))
            kind = of and self.kinds[of].gradient
        if kind is None and _TALK.fullmatch(bare):
            kind = COMMUNICATION
        return None if kind is None else self.kinds[kind]

    @cached_property
    def shipped(self) -> Mapping[str, Kind]:
        """Kinds of the table's operations, with and without prefixes; names from uploaded files are not cached."""
        prefixes = ("", DEVICE_PREFIX, HOST_PREFIX)
        return {prefix + name: self.kinds[kind] for name, kind in self.operations.items() for prefix in prefixes}

    @cached_property
    def _by_stem(self) -> Mapping[str, str]:
        return {stem(name): kind for name, kind in self.operations.items()}


def stem(name: str) -> str:
    """Name of an operation without the parts that only identify the author of its kernel.

    >>> stem("_MklNativeFusedBatchNormV3"), stem("aten::_softmax_")
    ('FusedBatchNorm', 'aten::softmax')
    """
    if "::" in name and (found := _PYTORCH_STEM.fullmatch(name)):
        return found[1] + found[2]
    found = _TENSORFLOW_STEM.fullmatch(name)
    return found[1] if found else name


@cache
def load_operation_kinds() -> OperationKinds:
    """Load the shipped tables; read once, because they never change."""
    kinds = {
        row["kind"]: Kind(row["kind"], row["class"] or None, row["gradient"] or row["kind"])
        for row in csv.DictReader(_text("kinds.csv").splitlines())
    }
    rows = csv.DictReader(_text("operation_kinds.csv").splitlines())
    return OperationKinds(MappingProxyType(kinds), MappingProxyType({row["operation"]: row["kind"] for row in rows}))


def kind_of(operation: str) -> Kind | None:
    """Kind of an operation in the shipped tables; None if unknown.

    >>> kind_of("Device_Conv2DBackpropFilter").operation_class, kind_of("Device_MyLayer")
    ('convolution filter gradient', None)
    """
    return load_operation_kinds().kind_of(operation)


def is_set_aside(operation: str) -> bool:
    """Whether an operation's time is excluded deliberately, rather than unknown."""
    kind = kind_of(operation)
    return kind is not None and kind.name in SET_ASIDE


def _text(name: str) -> str:
    return resources.files("profet_core.operations").joinpath(name).read_text(encoding="utf-8")
