"""Check the models on this machine's cores: predicted from one thread, measured on several."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from profet_core.accuracy.manycore import CoresRow, OwnCores, OwnCoresWay
from profet_core.errors import ProfetError
from profet_core.manycore.machine import XEON_PHI_7120P, Machine
from profet_core.manycore.network import Network, Training
from profet_core.manycore.published import SMALL
from profet_core.manycore.times import time_by_images
from profet_lab.manycore.crew import Crew, Run, crews, quiet_before
from profet_lab.manycore.worker import WAYS
from profet_lab.progress import Progress

#: Images of an epoch: as many to train on as take under a second, so that most runs are undisturbed.
IMAGES = Training(images=640, test_images=128, epochs=1)
REPEATS = 15
#: How long quiet moments of the machine are waited for, for each way.
PATIENCE_S = 120.0
#: Fewer undisturbed runs than this tell less than all runs do.
_FEWEST = 3
_US = 1e-6


def own_cores(
    *,
    training: Training = IMAGES,
    ways: Sequence[str] = tuple(WAYS),
    repeats: int = REPEATS,
    patience_s: float = PATIENCE_S,
    progress: Progress | None = None,
) -> OwnCores:
    """Train the small network on 1, 2, 4, ... of the cores that this process may use.

    Parameters
    ----------
    repeats : undisturbed runs for each number of threads. patience_s : how long quiet moments are waited for, for
        each way; with fewer than three undisturbed runs after that, all count.

    Raises
    ------
    ProfetError : the system can't pin processes to cores, or there is only one core.
    """
    if not hasattr(os, "sched_setaffinity") or not Path("/proc/stat").exists():
        raise ProfetError(
            "The check on this machine's cores needs Linux, which pins processes to cores and reports other load."
        )
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        raise ProfetError("The check on this machine's cores needs two of them, and there is one.")
    clock_mhz = _clock_mhz()
    machine = Machine("this machine", cores, (clock_mhz or 1e3) * 1e6, XEON_PHI_7120P.operation_factor, (1.0,))
    found = []
    for way in ways:
        with crews(way, _thread_counts(cores)) as all_crews:
            runs = _measured(all_crews, training, repeats, patience_s, progress)
            found.append(_way(way, all_crews[0].library, machine, training, runs, clock_mhz))
    return OwnCores(processor=_processor(), cores=cores, clock_mhz=clock_mhz, ways=tuple(found))


def _thread_counts(cores: int) -> list[int]:
    return [2**power for power in range(cores.bit_length()) if 2**power <= cores]


def _measured(
    all_crews: Sequence[Crew], training: Training, repeats: int, patience_s: float, progress: Progress | None
) -> dict[int, list[Run]]:
    """Threads -> the runs that count; all numbers of threads in turn, so that a change of the machine meets all."""
    for crew in all_crews:
        crew.run(training)
    runs: dict[int, list[Run]] = {crew.threads: [] for crew in all_crews}
    deadline_s, quiet = time.monotonic() + patience_s, True
    while len(runs[1]) < _FEWEST or (quiet and any(len(_undisturbed(each)) < repeats for each in runs.values())):
        for crew in all_crews:
            quiet = quiet_before(deadline_s)
            runs[crew.threads].append(crew.run(training))
            if progress is not None:
                progress(1)
    return {threads: _counted(each) for threads, each in runs.items()}


def _counted(runs: Sequence[Run]) -> list[Run]:
    undisturbed = _undisturbed(runs)
    return undisturbed if len(undisturbed) >= min(_FEWEST, len(runs)) else list(runs)


def _undisturbed(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.undisturbed]


def _way(
    way: str,
    library: str,
    machine: Machine,
    training: Training,
    runs: dict[int, list[Run]],
    clock_mhz: float | None,
) -> OwnCoresWay:
    alone = [run.taken[0] for run in runs[1]]
    training_s = median(taken.training_s for taken in alone) / training.images
    forward_s = median(taken.forward_s for taken in alone) / (training.images + training.test_images)
    network = here(forward_s, training_s)
    measured = {threads: [run.wall_s for run in each] for threads, each in runs.items()}
    predicted = {threads: time_by_images(network, machine, training, threads).total_s for threads in runs}
    operations = SMALL.forward_operations + SMALL.backward_operations
    return OwnCoresWay(
        way=way,
        library=library,
        images=training.images,
        test_images=training.test_images,
        forward_us=forward_s / _US,
        training_us=training_s / _US,
        operation_factor=None if clock_mhz is None else training_s * machine.clock_hz / operations,
        loss_first=fmean(taken.loss_first for taken in alone),
        loss_last=fmean(taken.loss_last for taken in alone),
        rows=tuple(
            CoresRow(
                threads=threads,
                repeats=len(walls_s),
                undisturbed=all(run.undisturbed for run in runs[threads]),
                measured_s=median(walls_s),
                low_s=min(walls_s),
                high_s=max(walls_s),
                predicted_s=predicted[threads],
                measured_speedup=median(measured[1]) / median(walls_s),
                predicted_speedup=predicted[1] / predicted[threads],
            )
            for threads, walls_s in measured.items()
        ),
    )


def here(forward_s: float, training_s: float) -> Network:
    """The small network where an image takes so long on one thread.

    Nothing is prepared within the measured time, and memory contention is in proportion to an image's time as on the
    published processor.
    """
    faster = training_s / (SMALL.forward_s + SMALL.backward_s)
    return replace(
        SMALL,
        forward_s=forward_s,
        backward_s=max(training_s - forward_s, 0.0),
        preparation_s=0.0,
        contention_s=tuple(contention * faster for contention in SMALL.contention_s),
    )


def _processor() -> str:
    return _cpu_info("model name") or platform.machine()


def _clock_mhz() -> float | None:
    found = _cpu_info("cpu MHz")
    return None if found is None else float(found)


def _cpu_info(name: str) -> str | None:
    path = Path("/proc/cpuinfo")
    found = re.search(rf"^{name}\s*:\s*(.+)$", path.read_text(), re.MULTILINE) if path.exists() else None
    return found and found[1].strip()
