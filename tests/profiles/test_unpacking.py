"""Opening an upload: caps, progress, archives and folders; files that are no profile are named."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import sqlite3
import struct
import tarfile
import threading
import zipfile
import zlib
from pathlib import Path

import pytest

from profet_core import Profile, ProfileError, read_profile
from profet_profiles import read_profile_folder, unpacking
from profet_profiles.reading import other_file
from profet_profiles.unpacking import Content, Watch
from tests.fuzz.damage import hostile_files
from tests.made import odd_files
from tests.made.chrome_traces import cuda_step, tensorflow_trace, tf_step, trace
from tests.made.protobuf import entry
from tests.made.refused import refusal
from tests.made.tensorflow_stats import tensorflow_stats
from tests.made.xplane import gpu_step, gpu_step_2_4, xplane

#: Does not shrink, so that the position in the gzip file moves.
NOISE = os.urandom(3 * 2**20)


def stream_all(content: Content) -> bytes:
    with content.open() as stream:
        return b"".join(iter(lambda: stream.read(100_000), b""))


def test_a_file_is_read_from_its_start_and_a_pipe_unless_it_is_long(monkeypatch):
    file = io.BytesIO(b'{"Device_A": 5.0}')
    file.seek(5)
    assert dict(read_profile(file).operations) == {"Device_A": 2.5}
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(gzip.compress(b'{"Device_A": 5.0}'))
    with os.fdopen(reading, "rb") as pipe:
        assert dict(read_profile(pipe).operations) == {"Device_A": 2.5}
    monkeypatch.setattr(unpacking, "MAX_WHOLE_BYTES", 1000)
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(NOISE[:2000])
    with os.fdopen(reading, "rb") as pipe, pytest.raises(ProfileError, match="through a pipe: use a file instead"):
        Content(pipe)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_progress_rises_to_one_and_is_not_reported_too_often(pack):
    stated: list[float] = []
    content = Content(pack(NOISE), watch=Watch(stated.append))
    content.follow()
    content.read()
    content.read()
    assert stated == sorted(set(stated))
    assert 5 <= len(stated) <= 101
    assert 0 < stated[0] < 0.5 and stated[-1] == 1.0


def test_reading_and_streaming_stop_at_their_caps(monkeypatch):
    content = Content(NOISE)
    assert content.read(len(NOISE)) == NOISE
    with pytest.raises(ProfileError, match="unpacks to more than 2 MB"):
        content.read(2 * 2**20)
    with pytest.raises(ProfileError, match="my line"):
        content.read(100, "my line")
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
    monkeypatch.setattr(unpacking, "MAX_SECONDS", 0.05)
    assert "took more than 0 s of processor time and was stopped: record fewer steps" in refusal(data)


XPLANE = xplane(gpu_step())
TENSORFLOW = gzip.compress(tensorflow_trace(tf_step(0, 0)), mtime=0)
STATISTICS = tensorflow_stats([("Device", "Conv2D", "a", 1, 5.0), ("Device", "IDLE", "IDLE", 0, 5.0)])
TABLE = b"Rank,Host/device,Type,Operation,#Occurrences,Total time (us)\n1,Device,Conv2D,a,1,5\n"
PYTORCH = trace([*cuda_step(1, 0), *cuda_step(2, 1000)])
PROFET = json.dumps({"operations": {"Device_Conv2D": 5}}).encode()
RUN = "plugins/profile/2024_05_06_07_08_09"
#: What is beside the profile in TensorFlow's folder, and says nothing.
OTHERS = {
    f"{RUN}/host.overview_page.pb": b"\x1a\x05hello" * 20,
    f"{RUN}/host.memory_profile.json.gz": gzip.compress(b'{"memoryProfilePerAllocator": {}, "Device_A": 5}'),
    "events.out.tfevents.1.host": bytes([24, *bytes(7), 1, 2, 3, 4, 9, *bytes(8)]) + b"\x1a\x0dbrain.Event:2",
}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w", layout: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=layout) as archive:
        folder = tarfile.TarInfo("plugins")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


PACKINGS = {
    "zip": zipped,
    "zip, stored": lambda files: zipped(files, zipfile.ZIP_STORED),
    "tar": tarred,
    "tar.gz": lambda files: tarred(files, "w:gz"),
    "tar, ustar": lambda files: tarred(files, layout=tarfile.USTAR_FORMAT),
    "tar, pax": lambda files: tarred(files, layout=tarfile.PAX_FORMAT),
}


def folder_of(path: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_packed_profile_reads_as_it_does_alone(packing):
    for content in (gzip.compress(XPLANE), TABLE, PYTORCH):
        assert read_profile(PACKINGS[packing]({"a/profile": content})) == read_profile(content)


def test_of_a_runs_folder_the_xplane_is_read_and_named(tmp_path):
    files = {**OTHERS, f"{RUN}/host.trace.json.gz": TENSORFLOW, f"{RUN}/host.xplane.pb": XPLANE}
    for profile, where in (
        *((read_profile(pack(files)), "archive") for pack in PACKINGS.values()),
        (read_profile_folder(folder_of(tmp_path, files)), "folder"),
    ):
        assert profile.operations == read_profile(XPLANE).operations
        assert profile.ignored == (f"4 of the 5 files in the {where}: {RUN}/host.xplane.pb was read",)


def test_the_file_that_tells_most_is_chosen_by_content():
    formats = {
        "TensorFlow xplane.pb": XPLANE,
        "TensorFlow trace.json": TENSORFLOW,
        "TensorFlow tensorflow_stats.pb": STATISTICS,
        "statistics CSV": TABLE,
        "PyTorch trace": PYTORCH,
        "PROFET JSON, version 2": PROFET,
    }
    while formats:
        files = {f"{number}.txt": content for number, content in enumerate(reversed(formats.values()))}
        assert read_profile(zipped(files)).source_format == next(iter(formats))
        del formats[next(iter(formats))]


def read_names(names: list[str], contents: list[bytes] | None = None) -> tuple[Profile, str]:
    contents = contents or [XPLANE] * len(names)
    profile = read_profile(zipped(dict(zip(names, contents, strict=True))))
    return profile, profile.ignored[0].partition("archive: ")[2]


def test_the_first_of_several_hosts_the_last_run_and_the_lowest_rank_is_read():
    _, note = read_names([f"{RUN}/host{number}.xplane.pb" for number in (10, 9, 11)])
    assert note == f"{RUN}/host9.xplane.pb was read, the first of 3 such files", "numbers as numbers"
    runs = ["2024_05_06_07_08_09", "2024_05_06_07_08_10", "2023_12_31_23_59_59"]
    _, note = read_names([f"logs/plugins/profile/{run}/a.xplane.pb" for run in runs])
    assert note == f"logs/plugins/profile/{runs[1]}/a.xplane.pb was read, of the last of 3 runs"
    traces = [trace(cuda_step(1, 0), distributedInfo={"backend": "nccl", "rank": rank}) for rank in (2, 0, 1)]
    _, note = read_names(["a.json", "b.json", "c.json"], traces)
    assert note == "b.json was read, the first of 3 such files"


def test_a_damaged_best_file_leaves_the_next_one_and_a_changed_byte_is_noticed():
    profile, note = read_names(["a.xplane.pb", "b.json.gz"], [XPLANE[:-3], TENSORFLOW])
    assert (profile.source_format, note) == ("TensorFlow trace.json", "b.json.gz was read")
    assert profile.ignored[1] == "a.xplane.pb, which can't be read"
    alone = {"a.xplane.pb": XPLANE[:-3], "b.txt": b"hello"}
    assert refusal(zipped(alone), "upload").startswith("upload: a.xplane.pb: The trace is damaged or truncated")
    stored = bytearray(zipped({"a.json": PROFET}, zipfile.ZIP_STORED))
    stored[stored.index(b"5}")] = ord("6")
    assert "The archive is damaged" in refusal(bytes(stored))
    # A packing that is not read leaves the file out.
    assert "holds no profile among its 0 files" in refusal(zipped({"a.json": PROFET}, zipfile.ZIP_LZMA))


def test_progress_rises_to_one_over_an_archive():
    noise = random.Random(1).randbytes(400_000).hex().encode()
    files = {"a.bin": noise, "trace.json": PYTORCH[:-1] + b', "x": "' + noise + b'"}'}
    for pack in (zipped, tarred, PACKINGS["tar.gz"]):
        stated: list[float] = []
        assert read_profile(io.BytesIO(pack(files)), progress=stated.append).steps == 2
        assert stated == sorted(set(stated)) and 0 < stated[0] <= stated[-1] == 1.0


def encrypted(data: bytes) -> bytes:
    """The flag alone makes an archive encrypted for whoever reads it."""
    entry = data.rindex(b"PK\x01\x02")
    return data[: entry + 8] + struct.pack("<H", 1) + data[entry + 10 :]


def with_count(data: bytes, count: int, size: int | None = None) -> bytes:
    end = data.rindex(b"PK\x05\x06")
    fields = list(struct.unpack("<4s4H2LH", data[end:]))
    fields[3:6] = [count, count, fields[5] if size is None else size]
    return data[:end] + struct.pack("<4s4H2LH", *fields)


ONE = zipped({"a.json": PROFET})
HOSTILE = {
    "encrypted": (encrypted(ONE), "The zip archive is encrypted: pack it without a password."),
    "a directory beyond the end": (with_count(ONE, 1, 500_000), "The archive is damaged"),
    "a huge directory": (with_count(ONE, 1, 2**31), "The archive is damaged"),
    "many files": (zipped({str(number): b"x" for number in range(2_001)}), "more than 2,000 files: choose the folder"),
    "many files in a tar": (tarred({str(number): b"x" for number in range(2_001)}), "more than 2,000 files"),
    "zip truncated": (ONE[:-30], "The archive is damaged: pack or download it again."),
    "zip in a zip": (zipped({"a.zip": ONE}), "holds no profile among its 1 files"),
    "tar in a zip": (zipped({"a.tar": tarred({"a.json": PROFET})}), "holds no profile among its 1 files"),
    "gzip in gzip in a zip": (zipped({"a": gzip.compress(gzip.compress(PROFET))}), "a: The file is compressed twice"),
    "tar truncated": (tarred({"a.json": PROFET})[:1030], "The archive is damaged"),
    "tar of a negative size": (
        tarred({"a.json": PROFET}).replace(b"%011o" % len(PROFET), b"-0000000010"),
        "holds no profile among its 0 files",
    ),
    "empty tar": (tarred({}), "holds no profile among its 0 files"),
    "empty files": (zipped({"a.json": b"", "b.json": b""}), "holds no profile among its 0 files"),
    "a checkpoint": (
        zipped({"archive/data.pkl": b"\x80\x02}q\x00.", "archive/data/0": bytes(100)}),
        "this is a PyTorch checkpoint, not a profile: upload the trace that torch.profiler writes",
    ),
    "a bomb": (zipped({"trace.json": PYTORCH[:-1] + b" " * (20 * 2**20)}), "unpacks to more than 100 times its size"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_in_one_line(case):
    data, says = HOSTILE[case]
    assert says in refusal(data)


def test_names_are_never_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("../../evil.json", "/evil.json", "a\nb\x1b[31m.json", "x" * 60_000 + ".json"):
        files = {name: PROFET, "other": b"hello"}
        profile = read_profile(zipped(files))
        assert profile.operations == {"Device_Conv2D": 5}
        assert all(note.isprintable() and len(note) < 200 for note in profile.ignored)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_profile_is_refused_and_its_time_is_that_of_all_files(tmp_path, monkeypatch):
    with pytest.raises(ProfileError, match=r"^some run: the folder holds no profile among its 1 files"):
        read_profile_folder(folder_of(tmp_path / "some run", {"a/b.txt": b"hello"}))
    folder = folder_of(tmp_path, {f"{number}.json": PROFET for number in range(3)})
    monkeypatch.setattr(unpacking, "MAX_SECONDS", 0.0)
    with pytest.raises(ProfileError, match="of processor time and was stopped"):
        read_profile_folder(folder)


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table kernels (name text)")
        return connection.serialize()


def event_file() -> bytes:
    """As TensorBoard's writers begin: length, its checksum, and an event with a time and the version."""
    event = b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"
    return struct.pack("<QI", len(event), zlib.crc32(event)) + event + bytes(4)


CASES = (
    (event_file(), "a TensorFlow event file", "upload the xplane.pb or trace.json.gz in plugins/profile"),
    (database(), "a database (such as an Nsight Systems export)", "record the step with TensorFlow's or"),
    (b"\x80\x04\x95\x0a\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94K\x01s.", "a Python pickle", "record the step"),
    (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "a PyTorch checkpoint", "record the step"),
    (b"\n <!DOCTYPE html><html></html>", "a web page or XML", "download the file itself"),
    *((data, "TensorFlow's kernel statistics", "upload the xplane.pb") for data in odd_files.KERNEL_STATISTICS),
    *((data, "a table of NVIDIA's profiler", "record the step with") for data in odd_files.NVIDIA_TABLES),
    *((data, "PyTorch's printed key_averages()", "upload the trace that") for data in odd_files.KEY_AVERAGES),
    *((data, "a list of numbers, such as PyTorch's memory", "upload the trace") for data in odd_files.MEMORY_TIMELINES),
    *((data, what, "") for what, data in odd_files.OTHERS.items()),
    *((data, "a training log", "give it as the log of a network by name") for data in odd_files.LOGS),
    ("Epoch 1/5: 122 ms a step, naïve\n".encode() * 100, "plain text", "upload PROFET JSON, "),
)


def test_a_file_that_is_no_profile_is_named_and_what_to_upload_stated():
    for data, what, instead in CASES:
        message = refusal(data, "upload")
        assert message.startswith(f"upload: this is {what}") and f", not a profile: {instead}" in message
        assert message.endswith(".")
    assert "an NVIDIA Nsight report" in refusal(b"\x00\x01\x02\x03" * 50, "OLD.QDREP")
    assert other_file(bytes(range(128, 256)), "a.bin") is None
    assert "this is not a profile: upload PROFET JSON" in refusal(bytes(range(128, 256)))


RECOMMENDATION = b"type.googleapis.com/tensorflow.profiler.GenericRecommendation"
STEP = b"type.googleapis.com/tensorflow.profiler.PerGenericStepDetails"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (entry(2, entry(4, entry(1, STEP))) + entry(4, entry(6, entry(1, RECOMMENDATION))), "overview_page.pb"),
        (entry(4, entry(1, STEP)), "input_pipeline.pb"),
        (json.dumps({"memoryProfilePerAllocator": {"GPU_0_bfc": {}}, "numHosts": 1}).encode(), "memory profile"),
        (json.dumps({"podStatsSequence": {}}).encode(), "pod_viewer.json"),
    ],
)
def test_a_file_beside_the_trace_is_refused_by_its_name(data, name):
    message = refusal(data, "someones.pb")
    assert name in message and "upload the xplane.pb" in message


@pytest.mark.parametrize(
    "data",
    [
        xplane(gpu_step_2_4()),
        xplane({"GenericRecommendation": {}}),
        tensorflow_stats([("Host", "IDLE", "IDLE", 0, 5.0)]),
        b'{"Device_Conv2D": 5}',
        b"",
        b"\x0a",
    ],
)
def test_profiles_are_none_of_them(data):
    assert other_file(data) is None
