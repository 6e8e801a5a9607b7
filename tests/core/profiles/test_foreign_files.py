"""Files that are no profile: said what they are and what to upload instead."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles.reading import refused_sibling, what_it_is
from tests.made.tensorflow_stats import tensorflow_stats
from tests.made.xplane import gpu_step_2_4, xplane


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
    ("Epoch 1/5: 122 ms a step, naïve\n".encode() * 100, "plain text", "upload PROFET JSON, "),
)


def test_a_file_that_is_no_profile_is_named_and_what_to_upload_said():
    for data, what, instead in CASES:
        with pytest.raises(ProfileError) as caught:
            read_profile(data, "upload")
        message = str(caught.value)
        assert message.startswith(f"upload: this is {what}, not a supported profile: {instead}")
        assert message.endswith(".") and message.isprintable() and len(message) < 300


def test_reports_of_nsight_are_told_by_their_names():
    with pytest.raises(ProfileError, match="an NVIDIA Nsight report"):
        read_profile(b"\x00\x01\x02\x03" * 50, "OLD.QDREP")


def test_of_other_bytes_nothing_is_known():
    assert what_it_is(bytes(range(128, 256)), "a.bin") is None
    with pytest.raises(ProfileError, match="this is not a supported profile: upload PROFET JSON"):
        read_profile(bytes(range(128, 256)))


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


RECOMMENDATION = b"type.googleapis.com/tensorflow.profiler.GenericRecommendation"
STEP = b"type.googleapis.com/tensorflow.profiler.PerGenericStepDetails"
KERNEL = field(1, b"volta_sgemm_128x64_nt") + b"\x10\x7f\x18\x00"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (field(2, field(4, field(1, STEP))) + field(4, field(6, field(1, RECOMMENDATION))), "overview_page.pb"),
        (field(4, field(1, STEP)), "input_pipeline.pb"),
        (field(1, KERNEL) * 5, "kernel_stats.pb"),
        (b"\x0a\x95\x02" + b"\x0a\x90\x02" + b"k" * 272 + b"\x10\x20", "kernel_stats.pb"),
        (json.dumps({"memoryProfilePerAllocator": {"GPU_0_bfc": {}}, "numHosts": 1}).encode(), "memory profile"),
        (json.dumps({"podStatsSequence": {}}).encode(), "pod_viewer.json"),
    ],
)
def test_a_file_beside_the_trace_is_refused_by_its_name(data, name):
    with pytest.raises(ProfileError) as caught:
        read_profile(data, "someones.pb")
    message = str(caught.value)
    assert name in message and "upload the xplane.pb" in message
    assert message.isprintable() and len(message) <= 250


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
    assert refused_sibling(data) == ""
