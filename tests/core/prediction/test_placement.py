"""What each operation does and where its time goes: class, cluster, another kind's class, or nowhere."""

from __future__ import annotations

import pytest

from profet_core import Profile
from profet_core.prediction.placement import placements


def test_known_near_and_foreign_operations(models):
    found = {
        row.operation: row
        for row in placements(
            models,
            Profile(
                {
                    "Device_Conv2D": 600.0,
                    "Device_Conv3D": 300.0,
                    "Device_" + "Q" * 40: 100.0,
                    "Device_IDLE": 50.0,
                    "Device_TopKV2": 0.0,
                    "Device_NcclAllReduce": 0.0,
                    "Host_Quux": 0.0,
                    "Host_DecodeJpeg": 0.0,
                    "Host_IDLE": 9e5,
                }
            ),
        )
    }
    known, near, foreign = (found[f"Device_{name}"] for name in ("Conv2D", "Conv3D", "Q" * 40))
    assert known.class_known and known.cluster_known
    assert "Conv2D" in known.cluster.removeprefix("Device_").split("&")
    assert (near.class_known, near.operation_class) == (False, known.operation_class)
    assert (foreign.operation_class, foreign.cluster) == (None, None)
    assert (known.kind, near.kind, foreign.kind) == ("convolution", "convolution", None)
    assert (known.stands_in, near.stands_in, foreign.stands_in) == (False, False, True)
    assert found["Device_TopKV2"].stands_in and found["Device_TopKV2"].operation_class == "elementwise"
    communication = found["Device_NcclAllReduce"]
    assert (communication.kind, communication.operation_class) == ("communication", None)
    assert [name for name, row in found.items() if row.set_aside] == ["Device_NcclAllReduce"]
    assert (found["Host_DecodeJpeg"].kind, found["Host_DecodeJpeg"].operation_class) == ("input pipeline", None)
    assert not found["Host_DecodeJpeg"].stands_in
    assert [row.share for row in (known, near, foreign)] == pytest.approx([0.6, 0.3, 0.1])
    assert found["Device_IDLE"].idle and found["Device_IDLE"].share is None
    assert not found["Host_Quux"].on_device and found["Host_Quux"].operation_class is None


def test_the_longest_comes_first_and_nothing_is_lost(models, samples):
    for sample in samples.values():
        rows = placements(models, sample.profile)
        assert {row.operation: row.time_us for row in rows} == dict(sample.profile.operations)
        assert [row.time_us for row in rows] == sorted((row.time_us for row in rows), reverse=True)
        assert sum(row.share for row in rows if row.share is not None) == pytest.approx(1.0)
