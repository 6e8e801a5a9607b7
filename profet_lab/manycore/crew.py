"""Time workers that train together, each pinned to a core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import numpy as np

from profet_core.accuracy.manycore import OWN_IMAGES
from profet_core.errors import ProfetError
from profet_core.manycore.network import Training
from profet_lab.manycore.small_network import first_weights
from profet_lab.manycore.worker import Share, Taken

_ROOT = Path(__file__).resolve().parents[2]
#: Numbers of threads that numeric libraries read from their environment.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: Share of the machine's cores that other programs may have before a run counts as disturbed.
QUIET_SHARE = 0.06
#: How long it is looked whether the machine is quiet.
_LOOK_S = 0.3


@dataclass(frozen=True, slots=True)
class Run:
    """One epoch of a crew.

    Attributes
    ----------
    wall_s : from the first image to the last, of the slowest worker.
    others_share : of the machine's cores, what other programs had.
    taken : of each worker.
    """

    wall_s: float
    others_share: float
    taken: tuple[Taken, ...]

    @property
    def undisturbed(self) -> bool:
        """Whether nothing else ran to speak of."""
        return self.others_share <= QUIET_SHARE


@dataclass(frozen=True, slots=True)
class Load:
    """CPU time of the machine.

    Attributes
    ----------
    busy_s : CPU seconds of its cores since boot, for any program. at_s : time of the reading.
    """

    busy_s: float
    at_s: float

    @classmethod
    def now(cls) -> Load:
        """Until now."""
        with Path("/proc/stat").open() as file:
            user, nice, system, _idle, _iowait, *rest = map(int, file.readline().split()[1:9])
        return cls((user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK"), time.monotonic())

    def others_share(self, before: Load, own_s: float) -> float:
        """Of all cores since then, what was had by others than those that had `own_s`."""
        had_s = max(self.busy_s - before.busy_s - own_s, 0.0)
        return had_s / ((self.at_s - before.at_s) * (os.cpu_count() or 1))


def quiet_before(deadline_s: float) -> bool:
    """Wait until the machine is quiet; false where it isn't before the deadline, a time of `time.monotonic`."""
    while True:
        start = Load.now()
        time.sleep(_LOOK_S)
        if Load.now().others_share(start, 0.0) <= QUIET_SHARE:
            return True
        if time.monotonic() > deadline_s:
            return False


class Crew:
    """Processes that train one network together; use `crew`, which ends them."""

    def __init__(self, way: str, cores: Sequence[int], folder: Path) -> None:
        self._weights = folder / f"{len(cores)}.weights"
        self._reset()
        # Threads with images of their own are processes with a core each; threads that share batches are one process.
        own_cores = [[core] for core in cores] if way == OWN_IMAGES else [list(cores)]
        self._workers = [_start(way, own, self._weights) for own in own_cores]
        self.threads = len(cores)
        self.library = ""

    def ready(self) -> None:
        """Wait until all can begin."""
        for worker in self._workers:
            self.library = str(_answer(worker)["library"])

    def run(self, training: Training) -> Run:
        """One epoch from the first weights, its images dealt out evenly."""
        self._reset()
        workers, start = len(self._workers), Load.now()
        for number, worker in enumerate(self._workers):
            share = Share(_part(training.images, number, workers), _part(training.test_images, number, workers), number)
            _tell(worker, json.dumps(asdict(share)))
        taken = tuple(Taken(**_answer(worker)) for worker in self._workers)
        wall_s = max(each.training_s + each.forward_s for each in taken)
        return Run(wall_s, Load.now().others_share(start, sum(each.processor_s for each in taken)), taken)

    def end(self) -> None:
        """Let all workers go."""
        for worker in self._workers:
            worker.kill()
            worker.communicate()

    def _reset(self) -> None:
        if not self._weights.exists():
            first_weights().tofile(self._weights)
            return
        # In place: the workers have the file open.
        np.memmap(self._weights, np.float32, "r+")[:] = first_weights()


@contextmanager
def crews(way: str, thread_counts: Sequence[int]) -> Iterator[list[Crew]]:
    """A crew for each number of threads, on the first of the cores that this process may use; ended afterwards.

    Raises
    ------
    ProfetError : a worker ended.
    """
    cores = sorted(os.sched_getaffinity(0))
    started: list[Crew] = []
    with TemporaryDirectory(prefix="profet-manycore-") as folder:
        try:
            for threads in thread_counts:
                started.append(Crew(way, cores[:threads], Path(folder)))
            for one in started:
                one.ready()
            yield started
        finally:
            for one in started:
                one.end()


def _start(way: str, cores: Sequence[int], weights: Path) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        **dict.fromkeys(_THREADS, str(len(cores))),
        "PYTHONPATH": str(_ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "profet_lab.manycore.worker", way, ",".join(map(str, cores)), str(weights)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _tell(worker: subprocess.Popen[str], line: str) -> None:
    stream = _stream(worker.stdin)
    stream.write(f"{line}\n")
    stream.flush()


def _answer(worker: subprocess.Popen[str]) -> dict:
    line = _stream(worker.stdout).readline()
    if not line:
        raise ProfetError("A worker of the check on this machine's cores ended: try again with more free memory.")
    return json.loads(line)


def _stream(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise TypeError("no pipe")
    return stream


def _part(count: int, number: int, workers: int) -> int:
    """The share of one of several, whose shares add up to all."""
    return count * (number + 1) // workers - count * number // workers
