"""Opening an upload: what a reader sees of it, the caps, the progress."""

from __future__ import annotations

import gzip
import io
import os
import threading
import zlib

import pytest

from benchmarks.slow_files import slow_files
from profet_core import ProfileError, read_profile
from profet_core.profiles.containers import unpacking, watch
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.containers.watch import Watch

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
    with os.fdopen(reading, "rb") as pipe, pytest.raises(ProfileError, match="through a pipe: name a file instead"):
        Content(pipe)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_progress_rises_to_one_and_is_not_told_too_often(pack):
    told: list[float] = []
    content = Content(pack(NOISE), watch=Watch(told.append))
    content.follow()
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
    monkeypatch.setattr(unpacking, "MAX_STREAMED_BYTES", 2 * 2**20)
    with pytest.raises(ProfileError, match="unpacks to more than 2 MB"):
        stream_all(Content(pack(NOISE)))


def test_what_shrinks_too_well_is_refused_while_streaming():
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"a" * 2**20) for _ in range(20)) + packer.flush()
    with pytest.raises(ProfileError, match="more than 100 times its size"):
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


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_reading_stops_when_it_took_too_long(monkeypatch, pack):
    monkeypatch.setattr(watch, "MAX_SECONDS", 0.02)
    content = Content(pack(bytes(range(256)) * 4096 * 16))
    with pytest.raises(ProfileError, match="took more than 0 s of processor time and was stopped: record fewer steps"):
        while True:
            stream_all(content)


def test_what_other_threads_do_and_waiting_does_not_count(monkeypatch):
    monkeypatch.setattr(watch, "MAX_SECONDS", 0.2)
    content = Content(NOISE)
    other = threading.Thread(target=lambda: sum(range(20_000_000)))
    other.start()
    other.join()
    content.check_time()
    assert content.read() == NOISE


def test_a_stream_may_start_anywhere():
    for pack in (bytes, gzip.compress):
        with Content(pack(NOISE)).open(2_000_000) as stream:
            assert stream.read(100) == NOISE[2_000_000:2_000_100]


def test_a_checksum_is_checked_at_the_end():
    assert Content(NOISE, checksum=zlib.crc32(NOISE)).read() == NOISE
    content = Content(NOISE, checksum=zlib.crc32(NOISE) ^ 1)
    with pytest.raises(ProfileError, match="archive is damaged"):
        content.read()


#: Readers whose files take long: each has to ask for the time while it reads, not only at its start.
SLOW = ("xplane, tiny fields: empty events", "PyTorch trace, empty events", "TensorFlow trace, short events")


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_file_is_stopped(monkeypatch, name):
    data = slow_files()[name]()
    monkeypatch.setattr(watch, "MAX_SECONDS", 0.3)
    with pytest.raises(ProfileError, match="of processor time and was stopped"):
        read_profile(data)
