"""Files of a TensorBoard folder that hold no operation's times: each is refused by its name, in one line."""

from __future__ import annotations

import json

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles.containers.foreign_files import refused_sibling
from tests.made.tensorflow_stats import tensorflow_stats
from tests.made.xplane import gpu_step_2_4, xplane


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
