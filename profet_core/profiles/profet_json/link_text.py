"""A profile as text that a link can carry: PROFET JSON, compressed, in letters that an address takes as they are."""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.profet_json.reader import VERSION_1, read
from profet_core.profiles.profet_json.writer import write_profile
from profet_core.profiles.record import Profile

#: Addresses beyond this are cut short by what they are sent with; a profile takes 600 to 1,100 letters.
MAX_LETTERS = 4_000
#: Of the JSON; what unpacks to more is no profile of ours.
_MAX_BYTES = 64 * 2**10

_CUT_SHORT = "The profile in this link can't be read: the link is truncated or changed. Ask for it again."


def profile_to_link_text(profile: Profile) -> str | None:
    """The profile's totals and meta in the version it was read in, 2 at last; None if they are too long for a link.

    Raises
    ------
    ProfileError : the profile has operations or meta that can't be read back.
    """
    data = _as_version_1(profile) if profile.source_format == VERSION_1 else write_profile(profile)
    text = base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")
    return text if len(text) <= MAX_LETTERS else None


def profile_of_link_text(text: str) -> Profile:
    """The profile that `profile_to_link_text` wrote.

    Raises
    ------
    ProfileError : the text holds none; one line.
    """
    if len(text) > MAX_LETTERS:
        raise ProfileError(_CUT_SHORT)
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(packed, _MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise ProfileError(_CUT_SHORT) from None
    if not unpacking.eof or unpacking.unused_data:
        raise ProfileError(_CUT_SHORT)
    return read(Content(data))


def _as_version_1(profile: Profile) -> bytes:
    """Version 1 tells nothing but operations, and its reader takes them for so many steps again."""
    return json.dumps({name: time_us * profile.steps for name, time_us in profile.operations.items()}).encode()
