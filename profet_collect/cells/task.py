"""What a cell's process is asked for, and what it answers: both go through JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from profet_core.collected.record import Cell, Framework, Status

Device = Literal["gpu", "cpu"]


@dataclass(frozen=True, slots=True)
class Task:
    """How a cell is measured.

    Attributes
    ----------
    cell : None: nothing is measured, only what the framework sees is answered.
    device : "cpu" takes the processor for the device: its operations count as the device's.
    threads : of a CPU; None: as many as the framework takes.
    warm_up, timed : steps before and while the latency is taken.
    seed : of images, labels and weights.
    """

    framework: Framework
    cell: Cell | None
    device: Device
    threads: int | None = None
    warm_up: int = 5
    timed: int = 10
    seed: int = 0

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))


def task_of(text: str) -> Task:
    """The task of a text that `Task.text` made."""
    fields = json.loads(text)
    cell = fields.pop("cell")
    return Task(cell=None if cell is None else Cell(**cell), **fields)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a framework sees of the machine.

    Attributes
    ----------
    version : the framework's. keras : Keras' and its version; "" for PyTorch.
    gpu : its name; None: it sees none. capability : NVIDIA's number of it, such as 7.5.
    """

    version: str
    keras: str = ""
    gpu: str | None = None
    capability: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a cell's process found out."""

    status: Status
    why: str = ""
    latencies_ms: tuple[float, ...] = ()
    peak_memory_bytes: int | None = None
    operations_us: Mapping[str, float] | None = None


def measured_of(document: Mapping[str, Any]) -> Measured:
    """The answer of a document that `asdict` made of it."""
    return Measured(**{**document, "latencies_ms": tuple(document["latencies_ms"])})


#: Names of the errors that say so, of either framework and of Python.
_NAMES = frozenset({"OutOfMemoryError", "ResourceExhaustedError", "MemoryError"})
#: What errors of another name say, and processes that end without one: TensorFlow and C++ abort.
_WORDS = (
    "out of memory",
    "out_of_memory",
    "OOM when allocating",
    "RESOURCE_EXHAUSTED",
    "STATUS_ALLOC_FAILED",
    "cudaErrorMemoryAllocation",
    "failed to allocate",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "std::bad_alloc",
)


def is_full_memory(error: BaseException) -> bool:
    """Whether an error of any framework is about memory that was too small."""
    return bool(_NAMES.intersection(kind.__name__ for kind in type(error).__mro__)) or says_full_memory(str(error))


def says_full_memory(text: str) -> bool:
    """Whether a message or a log is.

    >>> says_full_memory("Check failed: status == OK: CUDA_ERROR_OUT_OF_MEMORY"), says_full_memory("Xid 79")
    (True, False)
    """
    lower = text.lower()
    return any(word.lower() in lower for word in _WORDS)
