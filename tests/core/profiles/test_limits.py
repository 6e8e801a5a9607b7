"""Bounds that `profet inspect --limits` lists; files over them are in `tests/fuzz/hostile.py`."""

from __future__ import annotations

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles.limits import LIMITS
from tests.made.chrome_traces import op, tensorflow_trace, tf_event, trace
from tests.made.xplane import xplane

ONE = trace([op("aten::mm", 0, 1)])


def test_every_bound_is_listed_once():
    assert len({limit.what for limit in LIMITS}) == len(LIMITS)
    assert all(limit.most > 0 and limit.unit for limit in LIMITS)


@pytest.mark.parametrize(
    ("module", "data"),
    [
        ("pytorch.events", trace([op("aten::mm", at, 1) for at in range(11)])),
        ("tensorflow.trace_json", tensorflow_trace([tf_event("a:Mul", at, 1) for at in range(11)])),
        ("tensorflow.xplane", xplane({"/host:CPU": {"t": [("a:Mul", at, 1, {}) for at in range(11)]}})),
    ],
)
def test_operations_of_a_trace_have_a_bound(monkeypatch, module, data):
    monkeypatch.setattr(f"profet_core.profiles.{module}.MAX_KEPT_EVENTS", 10)
    with pytest.raises(ProfileError, match="more than 10 operations"):
        read_profile(data)


def test_a_small_upload_has_less_time(monkeypatch):
    monkeypatch.setattr("profet_core.profiles.unpacking.MAX_SMALL_SECONDS", -1.0)
    with pytest.raises(ProfileError, match="of processor time and was stopped"):
        read_profile(ONE)
    monkeypatch.setattr("profet_core.profiles.unpacking.SMALL_BYTES", 10)
    assert read_profile(ONE).steps == 1
