"""Files that are no profile: said what they are and what to upload instead."""

from __future__ import annotations

import io
import sqlite3
import struct
import zlib

import numpy as np
import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles.containers.foreign_files import what_it_is


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table kernels (name text)")
        return connection.serialize()


def event_file() -> bytes:
    """As TensorBoard's writers begin: length, its checksum, and an event with a time and the version."""
    event = b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"
    return struct.pack("<QI", len(event), zlib.crc32(event)) + event + bytes(4)


def array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


CASES = {
    "event file": (event_file(), "a TensorFlow event file", "upload the xplane.pb or trace.json.gz in plugins/profile"),
    "database": (database(), "a database (Nsight Systems exports such)", "record the step with TensorFlow's or"),
    "pickle": (
        b"\x80\x04\x95\x0a\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94K\x01s.",
        "a Python pickle",
        "record the step",
    ),
    "array": (array(), "a NumPy array", "upload the trace itself"),
    "checkpoint": (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "a PyTorch checkpoint", "record the step"),
    "saved model": (b"\x08\x01\x12\xa0\x05" + bytes(50), "a TensorFlow saved_model.pb", "record the step"),
    "weights": (b"\x89HDF\r\n\x1a\n" + bytes(50), "a file of weights (HDF5)", "record the step"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "a picture", "upload the trace itself"),
    "page": (b"\n <!DOCTYPE html><html></html>", "a web page or XML", "download the file itself"),
    "text": ("Epoch 1/5: 122 ms a step, naïve\n".encode() * 100, "plain text", "upload PROFET JSON, "),
    "7z": (b"7z\xbc\xaf\x27\x1c" + bytes(50), "a 7z archive", "upload the profile inside, or a zip archive"),
    "xz": (b"\xfd7zXZ\x00" + bytes(50), "packed with xz", "unpack it, or pack it with gzip"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_that_is_no_profile_is_named_and_what_to_upload_said(case):
    data, what, instead = CASES[case]
    with pytest.raises(ProfileError) as caught:
        read_profile(data, "upload")
    message = str(caught.value)
    assert message.startswith(f"upload: this is {what}, no profile that can be read: {instead}")
    assert message.endswith(".") and message.isprintable() and len(message) < 300


@pytest.mark.parametrize("name", ["report1.nsys-rep", "OLD.QDREP", "kernels.ncu-rep"])
def test_reports_of_nsight_are_told_by_their_names(name):
    with pytest.raises(ProfileError, match=r"this is a report of NVIDIA Nsight, no profile that can be read: record"):
        read_profile(b"\x00\x01\x02\x03" * 50, name)


def test_of_other_bytes_nothing_is_known():
    assert what_it_is(bytes(range(128, 256)), "a.bin") is None
    with pytest.raises(ProfileError, match="this is no profile that can be read: upload PROFET JSON"):
        read_profile(bytes(range(128, 256)))
