"""Decode an unpickled frame's columns; run by a limited process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from profet_core.errors import ProfileError
from profet_core.sandbox.process import Progress
from profet_lab.datasets.sources.pickles.unpickler import (
    Array,
    Block,
    BufferedArray,
    Dtype,
    Frame,
    Index,
    Manager,
    Recorded,
    Scalar,
    Slice,
    recorded,
)

MAX_TEXT = 200
#: Kinds of numbers; "O": objects.
_KINDS = "fiubO"


def work(file: BinaryIO, _arguments: Sequence[str], _progress: Progress) -> dict[str, list]:
    """`frame_columns` of a file."""
    return frame_columns(file.read())


def frame_columns(data: bytes) -> dict[str, list]:
    """Column -> values of all rows, texts or numbers, of a pickled DataFrame.

    Raises
    ------
    ProfileError : one line: it is none, or it holds anything but texts and numbers.
    """
    held = recorded(data)
    try:
        return _columns(held)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise ProfileError(
            "it holds no DataFrame of texts and numbers that this program knows: get it again."
        ) from None


def _columns(frame: object) -> dict[str, list]:
    state = _kind(frame, Frame).state
    manager = _kind(state["_mgr"] if "_mgr" in state else state["_data"], Manager)
    if isinstance(manager.state, tuple):
        # pandas before 1.3
        whole = manager.state[3]["0.14.1"]
        axes, blocks = whole["axes"], [(block["values"], block["mgr_locs"]) for block in whole["blocks"]]
    else:
        held, axes = manager.args
        blocks = [_kind(block, Block).args[:2] for block in held]
    (names,) = _rows(_kind(axes[0], Index).args[1]["data"])
    columns: dict[str, list] = {}
    for values, places in blocks:
        taken = range(len(names))[slice(*places.args)] if isinstance(places, Slice) else _rows(places)[0]
        columns |= {names[place]: row for place, row in zip(taken, _rows(values), strict=True)}
    if sorted(columns) != sorted(names) or len(set(map(len, columns.values()))) != 1:
        raise ValueError("columns are missing, or of several lengths")
    return columns


def _kind(held: object, kind: type[Recorded]) -> Recorded:
    """The record, if it is of that kind."""
    if isinstance(held, kind):
        return held
    raise TypeError(kind.__name__)


def _rows(values: object) -> list[list]:
    """An array of one or two dimensions as rows of texts and numbers."""
    if isinstance(values, BufferedArray):
        data, dtype, shape, order = values.args
    else:
        _, shape, dtype, in_columns, data = _kind(values, Array).state
        order = "F" if in_columns else "C"
    if isinstance(data, list):
        found = np.empty(len(data), object)
        found[:] = [_element(value) for value in data]
    else:
        found = np.frombuffer(_bytes(data), _dtype(dtype))
    if len(shape) not in (1, 2):
        raise ValueError("dimensions")
    return np.atleast_2d(found.reshape(shape, order=order)).tolist()


def _dtype(dtype: object) -> np.dtype:
    record = _kind(dtype, Dtype)
    found = np.dtype(record.args[0] if isinstance(record.args[0], str) else None)
    if found.kind not in _KINDS:
        raise TypeError(found.kind)
    return found.newbyteorder(">") if record.state and record.state[1] == ">" else found


def _element(value: object) -> str | int | float:
    if isinstance(value, Scalar):
        dtype, data = value.args
        value = np.frombuffer(_bytes(data), _dtype(dtype))[0].item()
    if value is None:
        return math.nan
    if (isinstance(value, str) and len(value) <= MAX_TEXT) or isinstance(value, float):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    raise TypeError(type(value).__name__)


def _bytes(data: object) -> bytes:
    if isinstance(data, Recorded) and len(data.args) == 1:
        # A bytearray, as protocol 5 has it.
        data = data.args[0]
    if not isinstance(data, bytes | bytearray):
        raise TypeError(type(data).__name__)
    return bytes(data)
