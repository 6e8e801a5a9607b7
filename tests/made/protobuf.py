"""Fields as protobuf writes them."""

from __future__ import annotations


def varint(number: int) -> bytes:
    """A number, seven bits a byte; negative ones as 64 bits."""
    number %= 2**64
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def entry(number: int, value: int | bytes | str) -> bytes:
    """One field: a number, or what has a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data
