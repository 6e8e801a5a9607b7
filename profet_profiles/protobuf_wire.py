"""Walks protobuf's wire format in a stream: finds fields without holding the messages they are in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import BinaryIO

from profet_profiles.errors import ProfileError

#: At most this much of a stream is held; a field inside a repeated one may not be larger.
PIECE_BYTES = 2**20
#: Fields that are walked one by one: lines and names, of which the readers take half a million.
MAX_FIELDS = 1_000_000

#: Wire types: a number, so many bytes, and what is always as long.
VARINT, LENGTH, FIXED_32 = 0, 2, 5
_FIXED_64 = 1
_MAX_VARINT_BYTES = 10
_WINDOW_BYTES = 64 * 2**10


class WireStream:
    """Fields of nested messages, in order; forwards only."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        # The bytes that were read from the stream and not passed yet start at `_at`.
        self._window = b""
        self._at = 0
        self._window_end = 0
        self._fields_left = MAX_FIELDS

    @property
    def _position(self) -> int:
        return self._window_end - len(self._window) + self._at

    def fields(self, size: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the number and size of each length-delimited field in the next `size` bytes (None: up to the end).

        The caller may read the field, or go through its own fields; what it leaves is skipped, and so are numbers.
        """
        return ((number, length) for number, kind, length in self.entries(size) if kind == LENGTH)

    def entries(self, size: int | None = None) -> Iterator[tuple[int, int, int]]:
        """Yield the number, wire type, and value or size of every field; a fixed one's value is that of its bits.

        The caller may read the content of a length-delimited field; what it leaves is skipped.
        """
        end = None if size is None else self._position + size
        while True:
            if end is None:
                self._fill()
            if self._at == len(self._window) if end is None else self._position >= end:
                return
            tag = self._varint()
            self._fields_left -= 1
            if self._fields_left < 0:
                raise ProfileError(f"The trace has more than {MAX_FIELDS:,} parts beside its events: record it again.")
            kind = tag & 7
            if kind == LENGTH:
                length = self._varint()
                field_end = self._position + length
                self._check_inside(field_end, end)
                yield tag >> 3, kind, length
                self.skip(field_end - self._position)
            elif kind == VARINT:
                yield tag >> 3, kind, self._varint()
            elif kind in (_FIXED_64, FIXED_32):
                yield tag >> 3, kind, int.from_bytes(self.read(8 if kind == _FIXED_64 else 4), "little")
            else:
                raise damaged()
            self._check_inside(self._position, end)

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes, a message, in pieces of whole fields: each is a message with a part of them."""
        data = b""
        while size > 0:
            more = self.read(min(size, PIECE_BYTES))
            size -= len(more)
            data += more
            whole = len(data) if size == 0 else whole_fields(data)
            if whole == 0 and len(data) > PIECE_BYTES:
                raise damaged()
            yield data[:whole]
            data = data[whole:]

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes."""
        data = self._window[self._at : self._at + size]
        self._at += len(data)
        if len(data) < size:
            more = self._stream.read(size - len(data))
            self._window_end += len(more)
            self._window, self._at = b"", 0
            data += more
            if len(data) < size:
                raise damaged()
        return data

    def skip(self, size: int) -> None:
        """Pass over `size` bytes."""
        while size > 0:
            size -= len(self.read(min(size, PIECE_BYTES)))

    def _fill(self) -> None:
        """See to it that a whole number stands in the window, if the stream goes on."""
        if self._at + _MAX_VARINT_BYTES > len(self._window):
            more = self._stream.read(_WINDOW_BYTES)
            self._window_end += len(more)
            self._window, self._at = self._window[self._at :] + more, 0

    def _varint(self) -> int:
        self._fill()
        try:
            value, self._at = varint_at(self._window, self._at)
        except IndexError:
            raise damaged() from None
        return value

    @staticmethod
    def _check_inside(position: int, end: int | None) -> None:
        if end is not None and position > end:
            raise damaged()


def whole_fields(data: bytes) -> int:
    """Length of the whole fields that `data` opens with; the field after them is cut."""
    position, length = 0, len(data)
    try:
        while True:
            after = position
            # Nearly always an event: a tag of one byte, a length of one or two.
            tag = data[after]
            after += 1
            if tag & 0x80 or tag & 7 != LENGTH:
                after = _after_other(data, position)
            elif data[after] < 0x80:
                after += 1 + data[after]
            elif data[after + 1] < 0x80:
                after += 2 + (data[after] & 0x7F) + (data[after + 1] << 7)
            else:
                after = _after_other(data, position)
            if after > length:
                return position
            position = after
    except IndexError:
        return position


def _after_other(data: bytes, position: int) -> int:
    """Find the end of the field at `position`; IndexError if its tag or length is cut."""
    tag, position = varint_at(data, position)
    match tag & 7:
        case 0:
            return varint_at(data, position)[1]
        case 1:
            return position + 8
        case 2:
            length, position = varint_at(data, position)
            return position + length
        case 5:
            return position + 4
    raise damaged()


def varint_at(data: bytes, position: int) -> tuple[int, int]:
    """Return the number at `position` and where it ends; IndexError if it is cut."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    value = byte & 0x7F
    for index in range(1, _MAX_VARINT_BYTES):
        byte = data[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise damaged()


def damaged() -> ProfileError:
    """Make the error for bytes that are not the format."""
    return ProfileError("The trace is damaged or truncated: record or download it again.")


#: message -> its fields, as a .proto file has them.
Description = Mapping[str, str]


def fields_of(message: str) -> list[tuple[str, str, int, bool]]:
    """Type, name, number and whether it is repeated of each field; a type may be another message of the description.

    >>> fields_of("int64 id = 1; repeated Event events = 4")
    [('int64', 'id', 1, False), ('Event', 'events', 4, True)]
    """
    declared = re.findall(r"(repeated )?(\w+) (\w+) = (\d+)", message)
    return [(kind, name, int(number), bool(repeated)) for repeated, kind, name, number in declared]


def message_classes(name: str, description: Description) -> SimpleNamespace:
    """Return the message classes by name, `classes.Line.FromString(data)`; `name` is the format's, one word."""
    # Here, because every command loads this module and few read such a trace: protobuf takes 50 ms.
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    package = f"profet.{name}"
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=f"profet/{name}.proto", package=package, syntax="proto3")
    for message, fields in description.items():
        described = file.message_type.add(name=message)
        for kind, field_name, number, is_repeated in fields_of(fields):
            label = kinds.LABEL_REPEATED if is_repeated else kinds.LABEL_OPTIONAL
            field = described.field.add(name=field_name, number=number, label=label)
            if kind in description:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    descriptors = {message: pool.FindMessageTypeByName(f"{package}.{message}") for message in description}
    return SimpleNamespace(
        **{message: message_factory.GetMessageClass(descriptor) for message, descriptor in descriptors.items()}
    )
