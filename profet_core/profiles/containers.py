"""Unpacks an upload: plain bytes pass through, gzip is inflated under a cap, other archives are refused."""

from __future__ import annotations

import zlib

from profet_core.errors import ProfileError

#: Largest content that is read after unpacking. At 256 MB the parser alone grew a process by half a gigabyte.
MAX_UNPACKED_BYTES = 64 * 1024 * 1024

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"


def unpack(data: bytes) -> bytes:
    """The content of `data`, inflated if it is gzip.

    Raises
    ------
    ProfileError : empty, a zip archive, a damaged or twice-compressed gzip file, or larger than `MAX_UNPACKED_BYTES`.
    """
    if not data:
        raise ProfileError("The file is empty: upload the profile of one training step.")
    if data.startswith(_ZIP_MAGIC):
        raise ProfileError("This is a zip archive: unpack it and upload the profile inside.")
    if data.startswith(_GZIP_MAGIC):
        data = _inflate(data)
        if data.startswith(_GZIP_MAGIC):
            raise ProfileError("The file is compressed twice: unpack it once (gunzip) and upload that.")
    if len(data) > MAX_UNPACKED_BYTES:
        raise ProfileError(_too_large())
    if not data.strip():
        raise ProfileError("The file is empty: upload the profile of one training step.")
    return data


def _inflate(data: bytes) -> bytes:
    # zlib stops at max_length, so a bomb never unfolds beyond the cap.
    inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        content = inflater.decompress(data, MAX_UNPACKED_BYTES + 1)
    except zlib.error:
        raise ProfileError("The gzip file is damaged: compress or download it again.") from None
    if len(content) > MAX_UNPACKED_BYTES:
        raise ProfileError(_too_large())
    if not inflater.eof:
        raise ProfileError("The gzip file is cut short: compress or download it again.")
    if inflater.unused_data.strip(b"\x00"):
        raise ProfileError("The gzip file holds more than one file: unpack it and upload one profile.")
    return content


def _too_large() -> str:
    return (
        f"The file unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MB: upload a profile of one training step only."
    )
