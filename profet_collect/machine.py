"""What is known of the machine at hand: GPU, driver, frameworks, host."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from profet_collect.cells.process import look
from profet_collect.cells.task import Device, Seen, Task
from profet_core.collected.record import FRAMEWORKS, Framework
from profet_core.errors import InputError

_MODULES: Mapping[Framework, str] = {"pytorch": "torch", "tensorflow": "tensorflow"}
#: A framework starts within it, on a slow disk too.
_START_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine, and each framework on it.

    Attributes
    ----------
    gpu : name of the GPU, or of the processor that stands in for one.
    driver : NVIDIA's, "" without one.
    seen, start_s : by framework: what it sees, and how long its process took for that.
    """

    device: Device
    gpu: str
    capability: float | None
    driver: str
    threads: int | None
    seen: Mapping[Framework, Seen]
    start_s: Mapping[Framework, float]

    def manifest(self) -> dict[str, Any]:
        """Its part of a collection's manifest, without the host's name."""
        return {
            "device": self.device,
            "gpu": self.gpu,
            "driver": self.driver,
            "threads": self.threads,
            "frameworks": {name: " ".join(filter(None, (one.version, one.keras))) for name, one in self.seen.items()},
            "host": {
                "processor": processor_name(),
                "cores": os.cpu_count(),
                "memory_bytes": _memory_bytes(),
                "system": f"{platform.system()} {platform.release()}",
                "python": platform.python_version(),
            },
        }


def installed_frameworks() -> tuple[Framework, ...]:
    """Frameworks that Python finds."""
    return tuple(name for name in FRAMEWORKS if find_spec(_MODULES[name]))


def machine_at_hand(frameworks: Sequence[Framework], device: Device, threads: int | None) -> Machine:
    """Start each framework once and ask it.

    Raises
    ------
    InputError : none is installed, one can't be started, sees no GPU, or sees another one than the first does.
    """
    missing = [name for name in frameworks if name not in installed_frameworks()]
    if missing or not frameworks:
        raise InputError(f"Install {' and '.join(missing) or 'PyTorch or TensorFlow'} for this Python first.")
    seen: dict[Framework, Seen] = {}
    start_s: dict[Framework, float] = {}
    for name in frameworks:
        began = perf_counter()
        seen[name] = look(Task(name, None, device, threads), _START_TIMEOUT_S)
        start_s[name] = perf_counter() - began
        if device == "gpu" and seen[name].gpu is None:
            raise InputError(
                f"{name} {seen[name].version} sees no GPU: install its GPU build and the driver, exclude it with "
                "--frameworks, or use --device cpu for a test run."
            )
    first = next(iter(seen.values()))
    if other := next((name for name, one in seen.items() if one.gpu != first.gpu), None):
        raise InputError(
            f"{frameworks[0]} sees {first.gpu!r}, {other} {seen[other].gpu!r}: choose one with CUDA_VISIBLE_DEVICES."
        )
    gpu = _processor(threads) if device == "cpu" else str(first.gpu)
    return Machine(device, gpu, first.capability, _driver(device), threads, seen, start_s)


def processor_name() -> str:
    """As Linux has it, else as Python does."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def _processor(threads: int | None) -> str:
    """What stands in for a GPU; with other threads it is another one."""
    return processor_name() if threads is None else f"{processor_name()} on {threads} thread{'s' * (threads > 1)}"


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _driver(device: Device) -> str:
    tool = shutil.which("nvidia-smi")
    if device == "cpu" or tool is None:
        return ""
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip().partition("\n")[0]
    return ""
