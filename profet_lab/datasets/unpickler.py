"""Unpickle without building or calling anything; the only module that opens pickles.

A pickle is a program that calls what it names. Here a name is looked up in a list of exact names, those that frames of
numbers and texts are made of by pandas 0.25 to 2, and each stands for a record that takes what it is called with and
does nothing. What the records mean is read afterwards. Any other name ends the reading.

A record can't protect against a pickle that asks for gigabytes: `sources` runs this in a limited process.
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from profet_core.errors import ProfileError
from profet_core.sandbox.process import Progress

MAX_TEXT = 200
#: Kinds of numbers; "O": objects.
_KINDS = "fiubO"


class Recorded:
    """What a pickle called: the arguments, and the state that was then set, or None."""

    __slots__ = ("args", "state")
    args: tuple
    state: Any

    def __new__(cls, *args: object) -> Recorded:
        """A record; whatever it is called with."""
        record = object.__new__(cls)
        record.args, record.state = args, None
        return record

    def __setstate__(self, state: object) -> None:
        """Keep what is set."""
        self.state = state


def _kind(name: str) -> type[Recorded]:
    return type(name, (Recorded,), {"__slots__": ()})


#: A DataFrame, what holds its columns, and columns of one type: values, which columns they are, dimensions.
Frame, Manager, Block = _kind("Frame"), _kind("Manager"), _kind("Block")
#: Names of columns or rows.
Index = _kind("Index")
#: Numbers or objects: state has shape, type and data. Protocol 5 has data, type, shape and order of numbers.
Array, BufferedArray = _kind("Array"), _kind("BufferedArray")
#: Type of an array's elements: a code such as f8, and byte order in its state. One number: type and bytes.
Dtype, Scalar = _kind("Dtype"), _kind("Scalar")
Slice = _kind("Slice")
#: Kinds that are named beside these.
Named = _kind("Named")

#: Every name that is known, as (module, name); pandas and numpy moved some of them over time.
ALLOWED: dict[tuple[str, str], type[Recorded]] = {
    ("pandas", "DataFrame"): Frame,
    ("pandas.core.frame", "DataFrame"): Frame,
    ("pandas.core.internals", "BlockManager"): Manager,
    ("pandas.core.internals.managers", "BlockManager"): Manager,
    ("pandas._libs.internals", "_unpickle_block"): Block,
    ("pandas.core.indexes.base", "_new_Index"): Index,
    ("pandas", "Index"): Named,
    ("pandas", "RangeIndex"): Named,
    ("pandas.core.indexes.base", "Index"): Named,
    ("pandas.core.indexes.range", "RangeIndex"): Named,
    ("pandas.core.indexes.numeric", "Int64Index"): Named,
    ("numpy", "ndarray"): Named,
    ("numpy", "dtype"): Dtype,
    **{
        (f"numpy.{core}.{module}", name): kind
        for core in ("core", "_core")
        for module, name, kind in (
            ("multiarray", "_reconstruct", Array),
            ("multiarray", "scalar", Scalar),
            ("numeric", "_frombuffer", BufferedArray),
        )
    },
    ("builtins", "slice"): Slice,
    ("builtins", "bytearray"): Named,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        """The record of a known name."""
        if (module, name) not in ALLOWED:
            shown = f"{module}.{name}"[:80]
            raise ProfileError(f"it refers to {shown!r}, which measurements don't need: it is not opened.")
        return ALLOWED[module, name]


def recorded(data: bytes) -> object:
    """What a pickle holds; MemoryError goes on to the caller."""
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except (ProfileError, MemoryError):
        raise
    except Exception:
        # Opcodes raise whatever their operands do, and their messages don't help.
        raise ProfileError("it is damaged, or not a pickle: get it again.") from None


def work(file: BinaryIO, _arguments: Sequence[str], _progress: Progress) -> dict[str, list]:
    """`frame_columns` of a file."""
    return frame_columns(file.read())


def frame_columns(data: bytes) -> dict[str, list]:
    """Column -> values of all rows, texts or numbers, of a pickled DataFrame."""
    held = recorded(data)
    try:
        return _columns(held)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise ProfileError(
            "it holds no DataFrame of texts and numbers that this program knows: get it again."
        ) from None


def _columns(frame: object) -> dict[str, list]:
    state = _of_kind(frame, Frame).state
    manager = _of_kind(state["_mgr"] if "_mgr" in state else state["_data"], Manager)
    if isinstance(manager.state, tuple):
        # pandas before 1.3
        whole = manager.state[3]["0.14.1"]
        axes, blocks = whole["axes"], [(block["values"], block["mgr_locs"]) for block in whole["blocks"]]
    else:
        held, axes = manager.args
        blocks = [_of_kind(block, Block).args[:2] for block in held]
    (names,) = _rows(_of_kind(axes[0], Index).args[1]["data"])
    columns: dict[str, list] = {}
    for values, places in blocks:
        taken = range(len(names))[slice(*places.args)] if isinstance(places, Slice) else _rows(places)[0]
        columns |= {names[place]: row for place, row in zip(taken, _rows(values), strict=True)}
    if sorted(columns) != sorted(names) or len(set(map(len, columns.values()))) != 1:
        raise ValueError("columns are missing, or of several lengths")
    return columns


def _of_kind(held: object, kind: type[Recorded]) -> Recorded:
    """The record, if it is of that kind."""
    if isinstance(held, kind):
        return held
    raise TypeError(kind.__name__)


def _rows(values: object) -> list[list]:
    """An array of one or two dimensions as rows of texts and numbers."""
    if isinstance(values, BufferedArray):
        data, dtype, shape, order = values.args
    else:
        _, shape, dtype, in_columns, data = _of_kind(values, Array).state
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
    record = _of_kind(dtype, Dtype)
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
