"""tensorflow_stats.pb: its records, both tables, the number of steps, damaged files."""

from __future__ import annotations

import gzip

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles.tensorflow import statistics as reader
from tests.made.tensorflow_stats import tensorflow_stats

ROWS = [
    ("Device", "IDLE", "IDLE", 0, 300.0),
    ("Device", "Conv2D", "secret_net/a/Conv2D", 2, 100.5),
    ("Device", "Conv2D", "secret_net/b/Conv2D", 4, 20.0),
    ("Device", "ResourceApplyAdam", "Adam/Adam/update/ResourceApplyAdam", 2, 8.0),
    ("Device", "Unknown", "MakeTensorFromProto", 2, 4.0),
    ("Host", "Dataset", "Iterator::Root", 17, 50.0),
    ("Host", "IDLE", "IDLE", 0, 7.0),
]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_times_are_those_of_one_step(pack):
    profile = read_profile(pack(tensorflow_stats(ROWS)))
    assert dict(profile.operations) == {
        "Device_Conv2D": 60.25,
        "Device_IDLE": 150.0,
        "Device_MemcpyHToD": 2.0,
        "Device_ResourceApplyAdam": 4.0,
        "Host_Dataset": 25.0,
        "Host_IDLE": 3.5,
    }
    assert (profile.steps, profile.steps_basis) == (2, "counted")
    assert (profile.source_format, profile.meta.framework) == ("TensorFlow tensorflow_stats.pb", "TensorFlow")
    assert profile.refusal == "" and "secret" not in repr(profile)


def test_the_table_without_idle_time_is_read_where_there_is_no_other():
    database = reader.messages().Database.FromString(tensorflow_stats(ROWS))
    database.ClearField("with_idle")
    profile = read_profile(database.SerializeToString())
    assert profile.operations["Device_Conv2D"] == 60.25 and "Device_IDLE" not in profile.operations
    assert any("exclude idle time" in warning for warning in profile.warnings)


def test_a_bomb_of_empty_records_is_refused():
    database = tensorflow_stats([("Host", "Mul", "a", 1, 1.0)])
    record = database[2 : 2 + database[1]]
    table = record + b"\x0a\x00" * 100_000
    size, length = len(table), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    with pytest.raises(ProfileError, match="neither Host nor Device"):
        read_profile(bytes([0x22, *length, size]) + table)


@pytest.mark.parametrize("kind", ["TPUExecute", "_TPUCompileMlir", "InfeedEnqueueTuple"])
def test_a_tpus_statistics_are_refused_by_name(kind):
    with pytest.raises(ProfileError, match="TPU"):
        read_profile(tensorflow_stats([("Device", "Conv2D", "c", 1, 50.0), ("Host", kind, "t", 1, 9.0)]))
