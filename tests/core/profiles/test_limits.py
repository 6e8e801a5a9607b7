"""Each format's files stop at the bounds that `profet inspect --limits` lists, in one line."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles import limits
from profet_core.profiles.limits import LIMITS
from tests.made.xplane import kernel, xplane

CSV = "rank,Host/device,Type,Operation,#Occurrences,Total time (us),Self\n"
EVENT = b'{"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":%d,"tid":1,"ts":%d,"dur":1},'


def trace(events: bytes) -> bytes:
    return b'{"traceEvents":[' + events + b"{}]}"


def archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for number in range(limits.MAX_FILES + 1):
            file.writestr(f"{number}.txt", "x")
    return packed.getvalue()


def statistics(rows: int) -> bytes:
    return (CSV + "1,Device,Conv2D,a,1,5,5\n" * rows).encode()


def many_lines(count: int) -> bytes:
    return xplane({"/device:GPU:0": {f"Stream #{at}": [kernel("a:Conv2D", at, 1)] for at in range(count)}})


#: Format, a file just over one of its bounds, and what is said.
OVER: dict[str, tuple[Callable[[], bytes], str]] = {
    "PROFET JSON, time": (lambda: b'{"Device_Conv2D": 1e13}', "too large"),
    "PROFET JSON, steps": (
        lambda: b'{"operations": {"Device_Conv2D": 1}, "meta": {"steps": 10001}}',
        "says 10,001: record fewer",
    ),
    "statistics CSV, bytes": (lambda: statistics(1) + b" " * limits.MAX_TABLE_BYTES, "more than 4 MB"),
    "framework_op_stats, bytes": (
        lambda: b'{"cols": [{"id": "host_or_device"}]}' + b" " * limits.MAX_TABLE_BYTES,
        "more than 4 MB",
    ),
    "xplane.pb, lines": (lambda: many_lines(limits.MAX_LINES + 1), "damaged or truncated"),
    "PyTorch trace, operations": (
        lambda: trace(b"".join(EVENT % (1, 1, at) for at in range(limits.MAX_KEPT_EVENTS + 1))),
        "more than 1,000,000 operations",
    ),
    "PyTorch trace, names": (
        lambda: trace(b"".join(EVENT % (at, 1, at) for at in range(limits.MAX_NAMES + 1))),
        "more than 20,000 different names",
    ),
}


@pytest.mark.parametrize("name", OVER)
def test_a_file_over_a_bound_is_refused(name):
    make, says = OVER[name]
    with pytest.raises(ProfileError, match=says):
        read_profile(make())


def test_every_bound_is_listed_once():
    assert len({limit.what for limit in LIMITS}) == len(LIMITS)
    assert all(limit.most > 0 and limit.unit for limit in LIMITS)


def test_a_small_upload_has_less_time(monkeypatch):
    monkeypatch.setattr("profet_core.profiles.containers.unpacking.MAX_SMALL_SECONDS", -1.0)
    with pytest.raises(ProfileError, match="of processor time and was stopped"):
        read_profile(trace(EVENT % (1, 1, 1)))
    monkeypatch.setattr("profet_core.profiles.containers.unpacking.SMALL_BYTES", 10)
    assert read_profile(trace(EVENT % (1, 1, 1))).steps == 1
