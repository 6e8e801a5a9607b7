"""Hostile shapes of every format, read as the command and as the app read a file.

`FUZZ_SEED` draws others. Nothing here measures time: the readers' own deadline and the memory of their process end what
takes too much, and that is one line too.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from profet_cli.inputs import read_profile_file
from profet_core import Profile, ProfileError
from profet_core.profiles import READERS
from profet_core.profiles.guarded import read_guarded
from tests.fuzz.fuzz_profiles import MAX_GROWTH_MIB, MAX_MESSAGE, check, peak_mib
from tests.fuzz.shapes import SHAPES, hostile_file, smallest_files

SEED = int(os.environ.get("FUZZ_SEED", "101"))
#: What only the limited process says.
STOPPED = ("MB of memory to read", "of processor time and was stopped", "s to read: ")


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return smallest_files()


def test_there_are_enough_of_every_format(files):
    assert len(files) == len(READERS) and len(files) * len(SHAPES) >= 200


def guarded(data: bytes, path: Path, in_app: bool) -> tuple[Profile | None, str]:
    """The profile, or the line, as the app or the command says it."""
    try:
        if in_app:
            return read_guarded(data, "trace"), ""
        path.write_bytes(data)
        return read_profile_file(str(path)), ""
    except ProfileError as error:
        message = str(error)
        assert message.startswith("trace: ") and message.isprintable() and len(message) <= MAX_MESSAGE, message
        assert "ended without a result" not in message, message
        return None, message


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_file_is_a_profile_or_one_line(files, tmp_path, shape):
    before = peak_mib()
    for number, (name, sound) in enumerate(files.items()):
        data = hostile_file(sound, shape, SEED)
        profile, message = check(data)
        there, line = guarded(data, tmp_path / "trace", in_app=number % 2 == 0)
        if not any(text in message + line for text in STOPPED):
            assert (there, line) == (profile, message), name
    assert peak_mib() - before < MAX_GROWTH_MIB
