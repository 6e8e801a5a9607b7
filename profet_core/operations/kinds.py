"""What an operation does, by a table of TensorFlow's and PyTorch's operations; nothing is learned from data here.

`operation_kinds.csv` holds a kind for every operation that training can show
(`python -m profet_lab.kinds.operation_kinds` writes it), `kinds.csv` the class of the models that serves each kind. A
kind that the training data lack is served by the nearest by what bounds it, mostly by "elementwise", which memory
bandwidth bounds. An operation's name says nothing beyond the table but by four rules: oneDNN's prefix, a version,
PyTorch's underscores for "in place", and "Grad" or "_backward" for the gradient of an operation of the table.
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

#: Time between GPUs: no class tells what it takes elsewhere, and it is not unknown time either.
COMMUNICATION = "communication"
SET_ASIDE = frozenset({COMMUNICATION})
#: No operation of any framework has a longer name; patterns take long over one that somebody made up.
LONGEST_NAME = 200

_TENSORFLOW_STEM = re.compile(r"_*(?:Mkl(?:Native|Dummy)?)?(.*?)(?:[Vv]\d)?")
_PYTORCH_STEM = re.compile(r"(\w+::)_*(.*?)_*")
_GRADIENT = re.compile(r"(.+?)(?:(?:Grad(?:ient)?)+|_backward)")
_GRADIENT_ENDS = ("Grad", "Gradient", "_backward")
#: Kernels of the libraries that GPUs talk through, and what TensorFlow and Horovod call them.
_TALK = re.compile(r"_?(?:[nr]ccl|horovod|collective)\w*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """What operations do.

    Attributes
    ----------
    operation_class : the models' class that serves operations of this kind on a GPU; None if none does.
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
        """The kind of an operation, with or without "Device_" or "Host_"; None if nothing is known of it."""
        if found := self.shipped.get(operation):
            return found
        bare = operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX)
        if len(bare) > LONGEST_NAME:
            return None
        kind = self.operations.get(bare) or self._by_stem.get(short := stem(bare))
        # Patterns are tried where they may fit: a thousand unknown names are looked up for every answer.
        if kind is None and short.endswith(_GRADIENT_ENDS) and (gradient := _GRADIENT.fullmatch(short)):
            of = self._by_stem.get(stem(gradient[1]))
            kind = of and self.kinds[of].gradient
        if kind is None and _TALK.fullmatch(bare):
            kind = COMMUNICATION
        return None if kind is None else self.kinds[kind]

    @cached_property
    def shipped(self) -> Mapping[str, Kind]:
        """Kinds of the table's operations, with and without prefixes; no name that came with a file is kept."""
        prefixes = ("", DEVICE_PREFIX, HOST_PREFIX)
        return {prefix + name: self.kinds[kind] for name, kind in self.operations.items() for prefix in prefixes}

    @cached_property
    def _by_stem(self) -> Mapping[str, str]:
        return {stem(name): kind for name, kind in self.operations.items()}


def stem(name: str) -> str:
    """An operation's name without what says who wrote its kernel, not what it does.

    >>> stem("_MklNativeFusedBatchNormV3"), stem("aten::_softmax_")
    ('FusedBatchNorm', 'aten::softmax')
    """
    if "::" in name and (found := _PYTORCH_STEM.fullmatch(name)):
        return found[1] + found[2]
    found = _TENSORFLOW_STEM.fullmatch(name)
    return found[1] if found else name


@cache
def load_operation_kinds() -> OperationKinds:
    """The shipped tables; read once, as they never change."""
    kinds = {
        row["kind"]: Kind(row["kind"], row["class"] or None, row["gradient"] or row["kind"])
        for row in csv.DictReader(_text("kinds.csv").splitlines())
    }
    rows = csv.DictReader(_text("operation_kinds.csv").splitlines())
    return OperationKinds(MappingProxyType(kinds), MappingProxyType({row["operation"]: row["kind"] for row in rows}))


def kind_of(operation: str) -> Kind | None:
    """What an operation does, by the shipped tables; None if nothing is known of it.

    >>> kind_of("Device_Conv2DBackpropFilter").operation_class, kind_of("Device_MyLayer")
    ('convolution filter gradient', None)
    """
    return load_operation_kinds().kind_of(operation)


def is_set_aside(operation: str) -> bool:
    """Whether an operation's time is left out on purpose, and is no unknown operation's."""
    kind = kind_of(operation)
    return kind is not None and kind.name in SET_ASIDE


def _text(name: str) -> str:
    return resources.files("profet_core.operations").joinpath(name).read_text(encoding="utf-8")
