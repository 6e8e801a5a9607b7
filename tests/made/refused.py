"""What `read_profile` says of a file that it refuses."""

from __future__ import annotations

import pytest

from profet_core import ProfileError, read_profile


def refusal(data: bytes, name: str = "upload.json") -> str:
    """The message: one line that begins with the file's name, and nothing that a terminal would act on."""
    with pytest.raises(ProfileError) as caught:
        read_profile(data, name)
    message = str(caught.value)
    assert message.startswith(f"{name}: ") or not name.isprintable() or not 0 < len(name) < 60
    assert message.isprintable() and len(message) < 300
    return message
