"""What a cell's recording says, whichever framework trained."""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profet_collect.cells.task import Measured, Task
from profet_core.profiles import read_profile
from profet_recorder.engine import BYTES_PER_MIB
from profet_recorder.plan import RecordPlan
from profet_recorder.recording import Recording


@contextmanager
def plan_of(task: Task) -> Iterator[RecordPlan]:
    """The recorder's plan of a task; its profile lives as long as the block."""
    assert task.cell is not None
    with tempfile.TemporaryDirectory(prefix="profet-cell-") as folder:
        yield RecordPlan(
            Path(folder) / "profile.json",
            warm_up=task.warm_up,
            timed=task.timed,
            profiled=1,
            batch_size=task.cell.batch_size,
            pixels=task.cell.pixels,
            as_device=task.device == "cpu",
        )


def measured(recording: Recording, task: Task) -> Measured:
    """What a finished recording found."""
    timed = recording.timed
    with recording.plan.output.open("rb") as file:
        operations = dict(read_profile(file, "the recorded profile").operations)
    is_cpu = task.device == "cpu"
    peak_mib = timed.peak_memory_mib
    return Measured(
        "ok",
        latencies_ms=tuple(round(ms, 4) for ms in timed.latencies_ms),
        peak_memory_bytes=_peak_of_process() if is_cpu or peak_mib is None else round(peak_mib * BYTES_PER_MIB),
        operations_us=operations,
    )


def _peak_of_process() -> int:
    """Most memory the process held so far, its framework included; macOS counts in bytes, others in KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
