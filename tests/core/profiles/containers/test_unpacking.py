"""Opening an upload: what a reader sees of it, the caps, the progress."""

from __future__ import annotations

import gzip
import io
import os
import threading

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles.containers import unpacking
from profet_core.profiles.containers.unpacking import Content, Watch
from tests.fuzz.hostile import hostile_files

#: Does not shrink, so that the position in the gzip file moves.
NOISE = os.urandom(3 * 2**20)


def stream_all(content: Content) -> bytes:
    with content.open() as stream:
        return b"".join(iter(lambda: stream.read(100_000), b""))


def test_a_file_is_streamed_from_its_start_wherever_it_stood():
    file = io.BytesIO(b'{"Device_A": 5.0}')
    file.seek(5)
    assert dict(read_profile(file).operations) == {"Device_A": 2.5}


def test_a_pipe_is_read():
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(gzip.compress(b'{"Device_A": 5.0}'))
    with os.fdopen(reading, "rb") as pipe:
        assert dict(read_profile(pipe).operations) == {"Device_A": 2.5}


def test_a_long_pipe_is_refused(monkeypatch):
    monkeypatch.setattr(unpacking, "MAX_WHOLE_BYTES", 1000)
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(NOISE[:2000])
    with os.fdopen(reading, "rb") as pipe, pytest.raises(ProfileError, match="through a pipe: use a file instead"):
        Content(pipe)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_progress_rises_to_one_and_is_not_told_too_often(pack):
    stated: list[float] = []
    content = Content(pack(NOISE), watch=Watch(stated.append))
    content.follow()
    content.read()
    content.read()
    assert stated == sorted(set(stated))
    assert 5 <= len(stated) <= 101
    assert 0 < stated[0] < 0.5 and stated[-1] == 1.0


def test_reading_whole_stops_at_its_cap():
    content = Content(NOISE)
    assert content.read(len(NOISE)) == NOISE
    with pytest.raises(ProfileError, match="unpacks to more than 2 MB"):
        content.read(2 * 2**20)
    with pytest.raises(ProfileError, match="my line"):
        content.read(100, "my line")


def test_streaming_stops_at_its_cap(monkeypatch):
    monkeypatch.setattr(unpacking, "MAX_STREAMED_BYTES", 2 * 2**20)
    for pack in (bytes, gzip.compress):
        with pytest.raises(ProfileError, match="unpacks to more than 2 MB"):
            stream_all(Content(pack(NOISE)))


@pytest.mark.parametrize(("change", "says"), [(lambda end: b"", "truncated"), (lambda end: end[::-1], "damaged")])
def test_a_damaged_end_of_gzip_is_noticed(change, says):
    packed = gzip.compress(NOISE)
    content = Content(packed[:-8] + change(packed[-8:]))
    assert content.head == NOISE[: 2**20]
    with pytest.raises(ProfileError, match=says):
        stream_all(content)


def test_what_other_threads_do_and_waiting_does_not_count(monkeypatch):
    monkeypatch.setattr(unpacking, "MAX_SECONDS", 0.2)
    content = Content(NOISE)
    other = threading.Thread(target=lambda: sum(range(20_000_000)))
    other.start()
    other.join()
    content.check_time()
    assert content.read() == NOISE


@pytest.mark.parametrize("name", ["xplane, operations on one thread", "TensorFlow trace, empty events"])
def test_a_slow_file_is_stopped(monkeypatch, name):
    """Each reader has to ask for the time while it reads, not only at its start."""
    data = hostile_files()[name][0]()
    monkeypatch.setattr(unpacking, "MAX_SECONDS", 0.3)
    with pytest.raises(ProfileError, match="took more than 0 s of processor time and was stopped: record fewer steps"):
        read_profile(data)
