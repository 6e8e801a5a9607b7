"""Read the profiles of a request, the only uploads."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

import msgspec

from profet_core.fields.field import PROFILE, Fields
from profet_core.profiles import Profile, read_profile
from profet_core.profiles.guarded import read_guarded
from profet_http.receiving import Received, SentFile


def with_profiles(fields: Fields, received: Received) -> dict[str, object]:
    """The values, each profile among them read. For a thread.

    Raises
    ------
    ProfileError : one line that says what is wrong with which.
    """
    documents = {
        name: _read_document(value, name, quick=received.quick)
        for name, value in _documents(fields, received.values).items()
    }
    files = {name: read_sent(sent) for name, sent in received.files.items()}
    return {**received.values, **documents, **files}


def read_sent(sent: SentFile) -> Profile:
    """The profile in a file, which a process of its own reads."""
    return read_guarded(sent.file, sent.name)


def _documents(fields: Fields, values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if fields[name].kind is PROFILE}


def _read_document(value: object, name: str, *, quick: bool) -> Profile:
    """The profile in a field of a JSON body, read as the file it might as well have been."""
    data = msgspec.json.encode(value)
    return read_profile(data, name) if quick else read_sent(SentFile(BytesIO(data), name))
