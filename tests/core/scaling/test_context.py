"""What a profile at the largest size tells of the curve."""

from __future__ import annotations

import pytest

from profet_core import InputError, Profile, ProfileMeta
from profet_core.scaling.context import scale_context


def recorded(**meta: object) -> Profile:
    return Profile({"Device_MatMul": 20.0, "Device_Conv2D": 80.0}, ProfileMeta(**meta))


@pytest.mark.parametrize(
    ("axis", "meta", "other_size"),
    [("batch", {"pixels": 128}, 128), ("batch", {}, None), ("pixels", {"batch_size": 32, "pixels": 256}, 32)],
)
def test_the_other_size_and_the_head_are_read(axis, meta, other_size):
    context = scale_context(axis, recorded(**meta))
    assert context.other_size == other_size
    assert context.head_share == pytest.approx(0.2)


def test_a_profile_at_another_size_has_no_context():
    with pytest.raises(InputError, match="must be recorded at batch 256, not 64"):
        scale_context("batch", recorded(batch_size=64))
