"""Unpickle without building or calling anything; the only module that opens pickles.

A pickle is a program that calls what it names. Here a name is looked up in a list of exact names, those that frames of
numbers and texts are made of by pandas 0.25 to 2, and each stands for a record that takes what it is called with and
does nothing. What the records mean is read afterwards, in `frames`. Any other name ends the reading.

A record can't protect against a pickle that asks for gigabytes: `guarded` runs this in a limited process.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from profet_core.errors import ProfileError


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
        """The record of a known name.

        Raises
        ------
        ProfileError : any other name.
        """
        if (module, name) not in ALLOWED:
            shown = f"{module}.{name}"[:80]
            raise ProfileError(f"it refers to {shown!r}, which measurements don't need: it is not opened.")
        return ALLOWED[module, name]


def recorded(data: bytes) -> object:
    """What a pickle holds; MemoryError goes on to the caller.

    Raises
    ------
    ProfileError : it refers to a name that is not known, or is damaged; one line.
    """
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except (ProfileError, MemoryError):
        raise
    except Exception:
        # Opcodes raise whatever their operands do, and their messages don't help.
        raise ProfileError("it is damaged, or not a pickle: get it again.") from None
