"""Opening an upload: what a reader sees of it, the caps, the progress."""

from __future__ import annotations

import gzip
import io
import os
import zlib

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles import containers
from profet_core.profiles.containers import Content

#: Does not shrink, so that the position in the gzip file moves.
NOISE = os.urandom(3 * 2**20)


def stream_all(content: Content) -> bytes:
    with content.open() as stream:
        return b"".join(iter(lambda: stream.read(100_000), b""))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_head_read_and_stream_give_the_unpacked_bytes(pack):
    content = Content(pack(NOISE))
    assert content.head == NOISE[: 2**20]
    assert content.read() == NOISE
    assert stream_all(content) == NOISE


def test_two_streams_of_one_content_do_not_disturb_each_other():
    content = Content(gzip.compress(NOISE))
    with content.open() as one, content.open() as other:
        assert one.read(1000) == NOISE[:1000]
        assert other.read() == NOISE
        assert one.read(1000) == NOISE[1000:2000]


def test_a_file_is_streamed_from_its_start_wherever_it_stood():
    file = io.BytesIO(b'{"Device_A": 2.5}')
    file.seek(5)
    assert dict(read_profile(file).operations) == {"Device_A": 2.5}


def test_a_pipe_is_read():
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(gzip.compress(b'{"Device_A": 2.5}'))
    with os.fdopen(reading, "rb") as pipe:
        assert dict(read_profile(pipe).operations) == {"Device_A": 2.5}


def test_a_long_pipe_is_refused(monkeypatch):
    monkeypatch.setattr(containers, "MAX_WHOLE_BYTES", 1000)
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(NOISE[:2000])
    with os.fdopen(reading, "rb") as pipe, pytest.raises(ProfileError, match="through a pipe: name a file instead"):
        Content(pipe)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_progress_rises_to_one_and_is_not_told_too_often(pack):
    told: list[float] = []
    content = Content(pack(NOISE), told.append)
    content.read()
    content.read()
    assert told == sorted(set(told))
    assert 5 <= len(told) <= 101
    assert 0 < told[0] < 0.5 and told[-1] == 1.0


def test_reading_whole_stops_at_its_cap():
    content = Content(NOISE)
    assert content.read(len(NOISE)) == NOISE
    with pytest.raises(ProfileError, match="unpacks to more than 2 MB"):
        content.read(2 * 2**20)
    with pytest.raises(ProfileError, match="my line"):
        content.read(100, "my line")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_streaming_stops_at_its_cap(monkeypatch, pack):
    monkeypatch.setattr(containers, "MAX_STREAMED_BYTES", 2 * 2**20)
    with pytest.raises(ProfileError, match="unpacks to more than 2 MB"):
        stream_all(Content(pack(NOISE)))


def test_what_shrinks_too_well_is_refused_while_streaming():
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"a" * 2**20) for _ in range(70)) + packer.flush()
    with pytest.raises(ProfileError, match="more than 200 times its size"):
        stream_all(Content(bomb))


def test_a_small_file_may_shrink_well():
    assert Content(gzip.compress(b"a" * 2**21)).read() == b"a" * 2**21


def test_a_truncated_gzip_file_is_noticed_at_its_end():
    content = Content(gzip.compress(NOISE)[:-10])
    assert content.head == NOISE[: 2**20]
    with pytest.raises(ProfileError, match="cut short"):
        stream_all(content)


def test_a_wrong_checksum_is_noticed():
    packed = bytearray(gzip.compress(NOISE))
    packed[-8] ^= 1
    with pytest.raises(ProfileError, match="damaged"):
        stream_all(Content(bytes(packed)))


def test_reading_stops_when_it_took_too_long(monkeypatch):
    content = Content(NOISE)
    monkeypatch.setattr(containers.time, "monotonic", lambda: content._until + 1)
    with pytest.raises(ProfileError, match="took more than 120 s and was stopped"):
        content.read()
