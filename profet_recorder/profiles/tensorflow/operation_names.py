"""Tells the operation type in TensorFlow's event names, as XProf does, and lets no other part of a name through."""

from __future__ import annotations

import re
from string import whitespace

from profet_recorder.profiles.kernel_names import cached_by_name
from profet_recorder.profiles.record import UNKNOWN

DATASET = "Dataset"
#: A path in a network is shorter; a cut name is no operation's.
MAX_NAME_CHARACTERS = 4096

# How XProf 2.24 tells operations from other events, found by giving it made-up traces.
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*", re.ASCII)
_TYPE = re.compile(r"[A-Z_][A-Za-z0-9_]*", re.ASCII)
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(?:\[.*\])?", re.ASCII)
_COPY = re.compile(r"memcpy([HD])to([HD])", re.ASCII | re.IGNORECASE)
#: Labels without a type, of work that has no operation of its own; the statistics show them as names of unknown type.
_LABELS = {"MakeTensorFromProto": "MemcpyHToD"}
#: What TensorFlow calls an operation's run outside of any graph; XProf counts none of them.
_EAGER = "EagerLocalExecute"
#: What oneDNN's kernels of an operation are called: "_MklNativeConv2DBackpropFilterWithBias", "_MklMatMul".
_ONEDNN = re.compile(r"_Mkl(?:Native)?(?:PadWith)?([A-Z]\w*?)(?:WithBias)?", re.ASCII)
#: Fused operations have a leading "_", but for this one, which is an operation of its own.
_PLAIN_FUSED = re.compile(r"FusedBatchNorm(?:Grad)?(?:V[23])?")
#: A type that may be shown. Function names ("__inference_my_layer_12") and a person's own labels pass for types too.
_PUBLIC_TYPE = re.compile(r"_?[A-Z][A-Za-z0-9_]{0,99}", re.ASCII)

#: The line of steps that a GPU's trace marks, and the lines that repeat what stands in others.
STEPS_LINE = "Steps"
_DERIVED_LINES = frozenset(
    {
        "Async XLA Ops",
        "Framework Name Scope",
        "Framework Ops",
        "Launch Stats",
        "Source",
        "Source code",
        STEPS_LINE,
        "TensorFlow Name Scope",
        "TensorFlow Ops",
        "XLA Modules",
        "XLA Ops",
        "XLA TraceMe",
    }
)


@cached_by_name(4096)
def operation_type(full_name: str) -> str | None:
    """The type that a name tells; "Dataset" for iterators; None if XProf counts no such operation.

    >>> operation_type("model/layer/Conv2D:Conv2D"), operation_type("Iterator::Root"), operation_type("Session")
    ('Conv2D', 'Dataset', None)

    A type that might be a name of the user's own is "Unknown", so that a profile never tells it; XProf calls so the
    kernels whose `tf_op` it can't read.
    """
    name, colon, kind = full_name.partition(":")
    if not colon:
        copy = _COPY.match(full_name)
        return f"Memcpy{copy[1].upper()}To{copy[2].upper()}" if copy else None
    if name == "Iterator":
        return DATASET
    if _TYPE.fullmatch(kind) and _NAME.fullmatch(name):
        return public_type(kind)
    if not kind or _JAX_TYPE.fullmatch(kind):
        return UNKNOWN
    return None


def eager_type(full_name: str) -> str | None:
    """The type of an operation that runs as Python calls it; None for a function's call, which holds others, too.

    >>> eager_type("EagerLocalExecute: Conv2D"), eager_type("EagerLocalExecute: __inference_step_12")
    ('Conv2D', None)
    """
    name, _, kind = full_name.partition(": ")
    return public_type(kind) if name == _EAGER and _PUBLIC_TYPE.fullmatch(kind) else None


@cached_by_name(4096)
def kernel_operation(label: str) -> str:
    """The type that a kernel's label names, "Unknown" if it names none.

    A label is `name:Type`, or as TensorFlow 2.2 to 2.5 write it: levels joined by "::", each perhaps with a tail of
    "#key=value,...#"; the first level with a type is the operation.
    """
    for level in label.split("::"):
        kind = operation_type(level.partition("#")[0])
        if kind not in (None, UNKNOWN):
            return kind
    return label_type(label.partition("#")[0], UNKNOWN)


def label_type(name: str, kind: str) -> str:
    """`kind`, or what an operation without a type does if its name is one of TensorFlow's own labels."""
    return _LABELS.get(name, UNKNOWN) if kind == UNKNOWN else kind


def public_type(kind: str) -> str:
    """`kind` if it is written as TensorFlow writes operation types, without oneDNN's additions, else "Unknown".

    >>> public_type("_MklNativeFusedConv2D"), public_type("Relu"), public_type("my_layer")
    ('_FusedConv2D', 'Relu', 'Unknown')
    """
    if not _PUBLIC_TYPE.fullmatch(kind):
        return UNKNOWN
    onednn = _ONEDNN.fullmatch(kind)
    if onednn is None:
        return kind
    plain = onednn[1]
    return f"_{plain}" if plain.startswith("Fused") and not _PLAIN_FUSED.fullmatch(plain) else plain


def is_derived_line(name: str) -> bool:
    """True for the name of a derived line; XProf tells of which stream: "Framework Ops - from #14(Compute)"."""
    return name.partition(" - from #")[0].partition("(")[0].strip(whitespace) in _DERIVED_LINES
