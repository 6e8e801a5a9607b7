"""Tells the operation type in TensorFlow's event names, as XProf does, and lets no other part of a name through."""

from __future__ import annotations

import re
from functools import lru_cache

DATASET = "Dataset"
#: What is counted but not named: XProf's own word for kernels whose `tf_op` it can't read.
UNKNOWN = "Unknown"

# How XProf 2.24 tells operations from other events, found by giving it made-up traces.
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*", re.ASCII)
_TYPE = re.compile(r"[A-Z_][A-Za-z0-9_]*", re.ASCII)
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(?:\[.*\])?", re.ASCII)
_COPY = re.compile(r"memcpy(HToD|DToH|DToD|HToH)", re.ASCII | re.IGNORECASE)
#: A type that may be shown. Function names ("__inference_my_layer_12") and a person's own labels pass for types too.
_PUBLIC_TYPE = re.compile(r"_?[A-Z][A-Za-z0-9_]{0,99}", re.ASCII)


@lru_cache(maxsize=4096)
def operation_type(full_name: str) -> str | None:
    """The type in "model/layer/Conv2D:Conv2D"; "Dataset" for iterators; None if XProf counts no such operation.

    A type that might be a name of the user's own is "Unknown", so that a profile never tells it.
    """
    name, colon, kind = full_name.partition(":")
    if not colon:
        copy = _COPY.match(full_name)
        return f"Memcpy{_COPY_NAMES[copy[1].lower()]}" if copy else None
    if name == "Iterator":
        return DATASET
    if _TYPE.fullmatch(kind) and _NAME.fullmatch(name):
        return public_type(kind)
    if not kind or _JAX_TYPE.fullmatch(kind):
        return UNKNOWN
    return None


def public_type(kind: str) -> str:
    """`kind` if it is written as TensorFlow writes operation types, else "Unknown"."""
    return kind if _PUBLIC_TYPE.fullmatch(kind) else UNKNOWN


_COPY_NAMES = {"htod": "HToD", "dtoh": "DToH", "dtod": "DToD", "htoh": "HToH"}
