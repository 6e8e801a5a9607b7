"""Unpickle without building or calling anything; the only module that opens pickles.

A pickle is a program that calls what it names. Here a name is looked up in a list of exact names, those that frames of
numbers and texts are made of by any pandas and numpy, and each stands for a record that takes what it is called with
and does nothing. What the records mean is read afterwards, in `frames`. Any other name ends the reading.

A record can't protect against a pickle that asks for gigabytes: `child` is where this runs.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any, BinaryIO

from profet_core.errors import ProfileError


class Recorded:
    """What a pickle called, and what with.

    Attributes
    ----------
    args : what it was called with.
    state : what was then set, or None.
    """

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
    """A kind of record."""
    return type(name, (Recorded,), {"__slots__": ()})


#: A DataFrame, what holds its columns, and columns of one type: values, which columns they are, dimensions.
Frame, Manager, Block = _kind("Frame"), _kind("Manager"), _kind("Block")
#: Names of columns or rows: the kind of index, and its data.
Index, IndexKind = _kind("Index"), _kind("IndexKind")
#: Numbers or objects: state has shape, type and data. Protocol 5 has data, type, shape and order of numbers.
Array, BufferedArray, ArrayKind = _kind("Array"), _kind("BufferedArray"), _kind("ArrayKind")
#: Type of an array's elements: a code such as f8, and byte order in its state. One number: type and bytes.
Dtype, Scalar = _kind("Dtype"), _kind("Scalar")
Slice = _kind("Slice")
#: Bytes, as protocols before 3 have them: a text, and how it is encoded.
Encoded = _kind("Encoded")
#: An object, as protocols before 2 have them: its kind comes first.
Rebuilt, ObjectKind = _kind("Rebuilt"), _kind("ObjectKind")
#: A column of texts as pandas 3 has them, with an Arrow array: type, length, unset elements, offset, buffers.
Texts, TextsKind = _kind("Texts"), _kind("TextsKind")
ArrowArray, ArrowBuffer, ArrowType = _kind("ArrowArray"), _kind("ArrowBuffer"), _kind("ArrowType")

#: Every name that is known, as (module, name); pandas and numpy moved some of them over time.
ALLOWED: dict[tuple[str, str], type[Recorded]] = {
    ("pandas", "DataFrame"): Frame,
    ("pandas.core.frame", "DataFrame"): Frame,
    ("pandas.core.internals", "BlockManager"): Manager,
    ("pandas.core.internals.managers", "BlockManager"): Manager,
    ("pandas._libs.internals", "_unpickle_block"): Block,
    ("pandas.core.indexes.base", "_new_Index"): Index,
    ("pandas", "Index"): IndexKind,
    ("pandas", "RangeIndex"): IndexKind,
    ("pandas.core.indexes.base", "Index"): IndexKind,
    ("pandas.core.indexes.range", "RangeIndex"): IndexKind,
    ("pandas.core.indexes.numeric", "Int64Index"): IndexKind,
    ("pandas.core.indexes.numeric", "UInt64Index"): IndexKind,
    ("pandas.core.indexes.numeric", "Float64Index"): IndexKind,
    ("pandas.arrays", "ArrowStringArray"): Texts,
    ("pandas.core.arrays.string_arrow", "ArrowStringArray"): Texts,
    ("pandas", "StringDtype"): TextsKind,
    ("pandas.core.arrays.string_", "StringDtype"): TextsKind,
    ("pyarrow.lib", "_restore_array"): ArrowArray,
    ("pyarrow.lib", "py_buffer"): ArrowBuffer,
    ("pyarrow.lib", "type_for_alias"): ArrowType,
    ("numpy", "ndarray"): ArrayKind,
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
    ("_codecs", "encode"): Encoded,
    **{
        (f"{builtins}", name): kind
        for builtins in ("builtins", "__builtin__")
        for name, kind in (("slice", Slice), ("object", ObjectKind), ("bytes", Encoded), ("bytearray", Encoded))
    },
    ("copyreg", "_reconstructor"): Rebuilt,
    ("copy_reg", "_reconstructor"): Rebuilt,
}
#: How a pickle can fail, by the standard library's words and by the types that its opcodes raise.
_DAMAGED = (
    pickle.PickleError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Unpickler(pickle.Unpickler):
    """Looks every name up in a list."""

    def __init__(self, file: BinaryIO, allowed: Mapping[tuple[str, str], type[Recorded]]) -> None:
        super().__init__(file)
        self._allowed = allowed

    def find_class(self, module: str, name: str, /) -> Any:
        """The record of a known name.

        Raises
        ------
        ProfileError : any other name.
        """
        if (module, name) not in self._allowed:
            shown = f"{module}.{name}"[:80]
            raise ProfileError(f"it refers to {shown!r}, which measurements don't need: it is not opened.")
        return self._allowed[module, name]


def recorded(data: bytes, allowed: Mapping[tuple[str, str], type[Recorded]]) -> object:
    """What a pickle holds; MemoryError goes on to the caller.

    Parameters
    ----------
    allowed : names that it may refer to: `ALLOWED` of a frame, none of lists, numbers and texts.

    Raises
    ------
    ProfileError : it refers to any other name, or is damaged; one line.
    """
    file = io.BytesIO(data)
    try:
        found = _Unpickler(file, allowed).load()
    except ProfileError:
        raise
    except _DAMAGED:
        # Their messages don't help.
        raise ProfileError("it is damaged, or not a pickle: get it again.") from None
    if file.read(1):
        raise ProfileError("something follows the pickle in it: get it again.")
    return found
