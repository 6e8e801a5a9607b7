"""Unpickle without building or calling anything; the only module that opens pickles.

A pickle is a program that calls what it names. Here a name is looked up in a list of exact names, those that frames of
numbers and texts are made of by any pandas and numpy, and each stands for a record that takes what it is called with
and does nothing. What the records mean is read afterwards, in `frames`. Any other name ends the reading.

A record can't protect against a pickle that asks for gigabytes: `child` is where this runs.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

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


class Frame(Recorded):
    """A DataFrame."""

    __slots__ = ()


class Manager(Recorded):
    """What holds a frame's columns, in blocks."""

    __slots__ = ()


class Block(Recorded):
    """Columns of one type: values, which columns they are, dimensions."""

    __slots__ = ()


class Index(Recorded):
    """Names of columns or rows: the kind of index, and its data."""

    __slots__ = ()


class IndexKind(Recorded):
    """A kind of index."""

    __slots__ = ()


class Array(Recorded):
    """An array of numbers or objects; its state has shape, type and data."""

    __slots__ = ()


class BufferedArray(Recorded):
    """An array of numbers as protocol 5 has them: data, type, shape, order."""

    __slots__ = ()


class ArrayKind(Recorded):
    """The kind of an array, which is always the same."""

    __slots__ = ()


class Dtype(Recorded):
    """The type of an array's elements: a code such as f8, and byte order in its state."""

    __slots__ = ()


class Scalar(Recorded):
    """One number of numpy's: type and bytes."""

    __slots__ = ()


class Slice(Recorded):
    """Start, stop and step."""

    __slots__ = ()


class Encoded(Recorded):
    """Bytes, as protocols before 3 have them: a text, and how it is encoded."""

    __slots__ = ()


class Rebuilt(Recorded):
    """An object, as protocols before 2 have them: its kind comes first."""

    __slots__ = ()


class ObjectKind(Recorded):
    """The kind of any object."""

    __slots__ = ()


class Texts(Recorded):
    """A column of texts as pandas 3 has them; its state has an Arrow array."""

    __slots__ = ()


class TextsKind(Recorded):
    """The type of such a column."""

    __slots__ = ()


class ArrowArray(Recorded):
    """An array of Arrow: type, length, unset elements, offset, buffers."""

    __slots__ = ()


class ArrowBuffer(Recorded):
    """Bytes of an array of Arrow."""

    __slots__ = ()


class ArrowType(Recorded):
    """A type of Arrow by its name."""

    __slots__ = ()


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
#: What a file of PROFET's step times names: nothing, it is a list.
NOTHING: dict[tuple[str, str], type[Recorded]] = {}


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
    """Looks every name up in the list."""

    allowed: ClassVar[dict[tuple[str, str], type[Recorded]]] = NOTHING

    def find_class(self, module: str, name: str, /) -> Any:
        """The record of a known name.

        Raises
        ------
        ProfileError : any other name.
        """
        if (module, name) not in self.allowed:
            shown = f"{module}.{name}"[:80]
            raise ProfileError(f"it refers to {shown!r}, which measurements don't need: it is not opened.")
        return self.allowed[module, name]


class _FrameUnpickler(_Unpickler):
    allowed = ALLOWED


def recorded_frame(data: bytes) -> object:
    """What a pickle of a frame recorded; MemoryError goes on to the caller.

    Raises
    ------
    ProfileError : it names anything that a frame doesn't, or is damaged; one line.
    """
    return _loaded(_FrameUnpickler, data)


def plain(data: bytes) -> object:
    """What a pickle holds that names nothing: lists, numbers and texts.

    Raises
    ------
    ProfileError : as above.
    """
    return _loaded(_Unpickler, data)


def _loaded(unpickler: type[_Unpickler], data: bytes) -> object:
    file = io.BytesIO(data)
    try:
        found = unpickler(file).load()
    except ProfileError:
        raise
    except _DAMAGED:
        # Their messages don't help.
        raise ProfileError("it is damaged, or not a pickle: get it again.") from None
    if file.read(1):
        raise ProfileError("something follows the pickle in it: get it again.")
    return found
