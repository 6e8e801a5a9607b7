"""Decode an unpickled frame's columns or a run's step times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

import numpy as np

from profet_core.errors import ProfileError
from profet_lab.datasets.sources.pickles.unpickler import (
    ALLOWED,
    Array,
    ArrowArray,
    ArrowBuffer,
    ArrowType,
    Block,
    BufferedArray,
    Dtype,
    Encoded,
    Frame,
    Index,
    Manager,
    Rebuilt,
    Recorded,
    Scalar,
    Slice,
    Texts,
    recorded,
)

#: Elements of a frame, and of one array: PROFET's largest has 880,000.
MAX_ELEMENTS = 20_000_000
MAX_TEXT = 200
_NUMBERS = {
    f"{kind}{size}" for kind, sizes in (("f", "48"), ("i", "1248"), ("u", "1248"), ("b", "1")) for size in sizes
}
_OBJECTS = {"O", "O4", "O8"}


class _UnknownError(Exception):
    """The pickle is not a known frame."""


def frame_columns(data: bytes) -> dict[str, list]:
    """Column -> values of all rows, texts or numbers, of a pickled DataFrame.

    Raises
    ------
    ProfileError : one line: it is none, or it holds anything but texts and numbers.
    """
    held = recorded(data, ALLOWED)
    try:
        return _columns(_kind(held, Frame))
    except (_UnknownError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
        raise ProfileError(
            "it holds no DataFrame of texts and numbers that this program knows: get it again."
        ) from None


def epoch_times(data: bytes) -> tuple[float, float]:
    """Seconds of the second epoch, and the median of its steps, seconds, of PROFET's `times-*.pickle`.

    The file is a list: seconds of an epoch, a list of its steps' seconds, and so on. The first epoch holds start-up.

    Raises
    ------
    ProfileError : one line.
    """
    times = recorded(data, {})
    if not isinstance(times, list) or len(times) < 4:
        raise ProfileError("it holds no times of two epochs: get it again.")
    epoch_s, steps_s = times[2], times[3]
    if not isinstance(steps_s, list) or not steps_s or not all(_is_time(value) for value in (epoch_s, *steps_s)):
        raise ProfileError("it holds no times of two epochs: get it again.")
    return float(epoch_s), float(median(steps_s))


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _columns(frame: Recorded) -> dict[str, list]:
    state = frame.state
    manager = _kind(state["_mgr"] if "_mgr" in state else state["_data"], Manager)
    names, blocks = _parts(manager)
    columns: dict[str, list] = {}
    elements = 0
    for values, places in blocks:
        rows = _rows(values)
        taken = _places(places, len(names))
        if len(taken) != len(rows):
            raise _UnknownError
        elements += sum(map(len, rows))
        if elements > MAX_ELEMENTS:
            raise _UnknownError
        columns |= {names[place]: row for place, row in zip(taken, rows, strict=True)}
    if set(columns) != set(names) or len(set(map(len, columns.values()))) != 1:
        raise _UnknownError
    return columns


def _kind(held: object, kind: type[Recorded]) -> Recorded:
    """The record, if it is of that kind."""
    if isinstance(held, Recorded) and _is(held, kind):
        return held
    raise _UnknownError


def _is(held: object, kind: type[Recorded]) -> bool:
    """Whether it is a record of that kind; protocols before 2 have some rebuilt."""
    return isinstance(held, kind) or (isinstance(held, Rebuilt) and held.args[0] is kind)


def _parts(manager: Recorded) -> tuple[list[str], Iterator[tuple[object, object]]]:
    """Names of the columns; of each block its values and which columns they are."""
    if isinstance(manager.state, tuple):
        # pandas before 1.3
        state = manager.state[3]["0.14.1"]
        axes, blocks = state["axes"], [(block["values"], block["mgr_locs"]) for block in state["blocks"]]
    else:
        held, axes = manager.args
        blocks = [(block.args[0], block.args[1]) for block in held if _kind(block, Block)]
    names = _texts(_kind(axes[0], Index).args[1]["data"])
    if len(axes) != 2 or len(set(names)) != len(names):
        raise _UnknownError
    return names, iter(blocks)


def _texts(data: object) -> list[str]:
    rows = _rows(data)
    if len(rows) != 1 or not all(isinstance(text, str) for text in rows[0]):
        raise _UnknownError
    return rows[0]


def _places(places: object, count: int) -> Sequence[int]:
    """Which columns a block has: a slice, or an array of numbers."""
    if isinstance(places, Slice):
        return range(count)[slice(*(None if part is None else int(part) for part in places.args))]
    taken = _rows(places)[0]
    if not all(isinstance(place, int) and 0 <= place < count for place in taken):
        raise _UnknownError
    return taken


def _rows(values: object) -> list[list]:
    """An array of one or two dimensions as rows of texts and numbers."""
    if _is(values, Texts):
        return [_arrow_texts(_kind(values, Texts).state)]
    if isinstance(values, BufferedArray):
        buffer, dtype, shape, order = values.args
        return _numbers(_bytes(buffer), dtype, shape, order == "F")
    if not isinstance(values, Array):
        raise _UnknownError
    _, shape, dtype, in_columns, data = values.state
    if isinstance(data, list):
        return _objects(data, dtype, shape, bool(in_columns))
    return _numbers(_bytes(data), dtype, shape, bool(in_columns))


def _shape(shape: object, length: int) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or len(shape) not in (1, 2) or not all(isinstance(size, int) for size in shape):
        raise _UnknownError
    if math.prod(shape) != length or min(shape) < 0 or length > MAX_ELEMENTS:
        raise _UnknownError
    return shape


def _numbers(data: bytes, dtype: object, shape: object, in_columns: bool) -> list[list]:
    numbers = np.frombuffer(data, _dtype(dtype))
    return np.atleast_2d(numbers.reshape(_shape(shape, len(numbers)), order="F" if in_columns else "C")).tolist()


def _dtype(dtype: object) -> np.dtype:
    code = _kind(dtype, Dtype).args[0]
    order = dtype.state[1] if isinstance(dtype, Recorded) and dtype.state else "<"
    if code not in _NUMBERS or order not in ("<", ">", "|", "="):
        raise _UnknownError
    return np.dtype(f"{'>' if order == '>' else '<'}{code}")


def _objects(data: list, dtype: object, shape: object, in_columns: bool) -> list[list]:
    if _kind(dtype, Dtype).args[0] not in _OBJECTS:
        raise _UnknownError
    shape = _shape(shape, len(data))
    elements = [_element(value) for value in data]
    if len(shape) == 1:
        return [elements]
    rows, columns = shape
    if in_columns:
        return [elements[row::rows] for row in range(rows)]
    return [elements[row * columns : (row + 1) * columns] for row in range(rows)]


def _element(value: object) -> str | int | float:
    if isinstance(value, Scalar):
        dtype, data = value.args
        value = np.frombuffer(_bytes(data), _dtype(dtype))[0].item()
    if value is None:
        return math.nan
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        return value
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    raise _UnknownError


def _bytes(data: object) -> bytes:
    if isinstance(data, ArrowBuffer):
        data = data.args[0]
    if isinstance(data, Encoded):
        if not data.args:
            return b""
        data = data.args[0].encode("latin1") if isinstance(data.args[0], str) else _bytes(data.args[0])
    if not isinstance(data, bytes | bytearray):
        raise _UnknownError
    return bytes(data)


def _arrow_texts(state: Mapping | tuple) -> list[str]:
    """Texts of an Arrow array: where each ends, and all of them one behind the other."""
    held = state[0] if isinstance(state, tuple) and not isinstance(state[0], Array) else state
    if isinstance(held, tuple):
        held = held[1]
    array = held["_pa_array"]
    if not isinstance(array, ArrowArray):
        raise _UnknownError
    kind, length, unset, offset, buffers = array.args[0][:5]
    widths = {"string": "<i4", "large_string": "<i8"}
    if not isinstance(kind, ArrowType) or unset or not 0 <= length <= MAX_ELEMENTS:
        raise _UnknownError
    ends = np.frombuffer(_bytes(buffers[1]), widths[kind.args[0]])[offset : offset + length + 1]
    if len(ends) != length + 1 or (np.diff(ends) < 0).any() or (np.diff(ends) > MAX_TEXT).any() or ends[0] < 0:
        raise _UnknownError
    data = _bytes(buffers[2]) if buffers[2] is not None else b""
    if ends[-1] > len(data):
        raise _UnknownError
    return [data[start:end].decode() for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
