"""Collects the events of a PyTorch trace that matter, as compact arrays."""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from profet_core.errors import ProfileError
from profet_core.profiles.decoding.chrome_trace import Event, Thread, event_thread, event_time_us
from profet_core.profiles.limits import MAX_KEPT_EVENTS, MAX_STEPS, MAX_THREADS
from profet_core.profiles.pytorch.optimiser_updates import OPTIMIZER_STEP

#: Different names of operations; of kernels, of which each is searched for what it tells. A large network has hundreds.
MAX_NAMES, MAX_KERNEL_NAMES = 20_000, 5_000
MAX_NAME_CHARACTERS = 500
_MAX_DEVICE = 1_000

#: What stands for every label of `record_function` but an optimizer's.
LABEL = "user_annotation"
_DATA_LOADER = "enumerate(DataLoader)"

#: What autograd calls its nodes: the backward pass of one operation each.
BACKWARD_NODE = re.compile(
    r"autograd::engine::evaluate_function: (?!torch::autograd::)|\w{1,200}Backward\d{0,3}$", re.ASCII
)
_STEP = re.compile(r"ProfilerStep#(\d{1,15})", re.ASCII)
#: What PyTorch calls its events, now and in 2021.
_HOST = frozenset({"cpu_op", "operator"})
_NOTES = frozenset({"user_annotation"})
_CALLS = frozenset({"cuda_runtime", "cuda_driver", "runtime", "driver"})
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
#: What PyTorch writes with `profile_memory` at each allocation, and the number that it has for CUDA's devices.
_MEMORY, _CUDA = "[memory]", 1
_MOST_BYTES = 2**50
#: Processes of the export of PyTorch's first profiler, up to 1.8.
_OLD_PROCESSES = frozenset({"CPU functions", "CUDA functions"})
_OF_INTEREST = _HOST | _NOTES | _CALLS | _DEVICE

Name = TypeVar("Name", bound=Hashable)


@dataclass(slots=True)
class Spans:
    """Events of one kind in the file's order: start and duration in microseconds, and what `keys` numbers.

    Attributes
    ----------
    keys : index of the name.
    threads : index of the process and thread (host and calls); number of the GPU, -1 if it is not known (device).
    links : correlation of a call and what it started, -1 if there is none (calls and device).
    """

    begins_us: array[float] = field(default_factory=lambda: array("d"))
    durations_us: array[float] = field(default_factory=lambda: array("d"))
    keys: array[int] = field(default_factory=lambda: array("i"))
    threads: array[int] = field(default_factory=lambda: array("i"))
    links: array[int] = field(default_factory=lambda: array("q"))

    def rows(self, rows: Iterable[int]) -> Spans:
        """Some of the events."""
        kept = {name: getattr(self, name) for name in self.__slots__}
        return Spans(**{name: array(values.typecode, (values[row] for row in rows)) for name, values in kept.items()})


class Names(Generic[Name]):
    """Numbers what it is given in the order they are seen, each once."""

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._numbers: dict[Name, int] = {}

    def number(self, name: Name) -> int:
        """The number of `name`."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            if number >= self._at_most:
                raise ProfileError(
                    f"The trace has more than {self._at_most:,} different names or threads: record fewer steps."
                )
        return number

    def __iter__(self) -> Iterator[Name]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class PyTorchEvents:
    """What is kept of a trace while its events pass by.

    Attributes
    ----------
    host, calls, device : operations on CPU threads, calls of the CUDA runtime, and what ran on the GPU.
    operations : (name, mask) of `host.keys`; the mask is which gradients of a convolution were computed, "10", "01" or
        "11", and None for anything else.
    kernels : names of `device.keys`.
    labels : names given to parts of the step with `record_function`.
    steps : number of a ProfilerStep -> its start and end, microseconds.
    input_types : types of the tensors that convolutions and matrix products took, where they were recorded.
    first_input : shape of the first convolution's input, (batch, channels, height, width), if recorded.
    peak_bytes : number of a GPU -> the most that tensors held on it at once, if the trace was told to say.
    old_exports : events as PyTorch's first profiler exported them.
    untimed : events without a valid time.
    """

    def __init__(self) -> None:
        self.host, self.calls, self.device = Spans(), Spans(), Spans()
        self.operations: Names[tuple[str, str | None]] = Names(MAX_NAMES)
        self.kernels: Names[str] = Names(MAX_KERNEL_NAMES)
        self.labels: Names[str] = Names(MAX_NAMES)
        self.steps: dict[int, tuple[float, float]] = {}
        self.input_types: set[str] = set()
        self.first_input: tuple[int, ...] | None = None
        self.first_input_us = float("inf")
        self.peak_bytes: dict[int, int] = {}
        self.old_exports = 0
        self.untimed = 0
        self._threads: Names[Thread] = Names(MAX_THREADS)

    def add(self, event: Event) -> None:
        """Keep what matters of one event."""
        category = event.get("cat")
        if category is None and isinstance(process := event.get("pid"), str) and process in _OLD_PROCESSES:
            self.old_exports += 1
        if event.get("name") == _MEMORY:
            self._add_memory(event.get("args"))
        if not isinstance(category, str) or event.get("ph") != "X" or (kind := category.lower()) not in _OF_INTEREST:
            return
        begin_us, duration_us = event_time_us(event.get("ts")), event_time_us(event.get("dur"))
        name = event.get("name")
        if begin_us is None or duration_us is None or duration_us < 0 or not isinstance(name, str):
            self.untimed += 1
            return
        if begin_us == duration_us == 0:
            # PyTorch 2.12 has written such times for part of a trace.
            self.untimed += 1
            return
        args = event.get("args")
        if not isinstance(args, dict):
            args = {}
        if kind in _DEVICE:
            spans = self._add_device(name, args)
        elif kind in _CALLS:
            if (link := _correlation(args)) < 0:
                return
            spans = self._add_call(link, event)
        elif step := _STEP.fullmatch(name):
            self._add_step(int(step[1]), begin_us, duration_us)
            return
        else:
            spans = self._add_host(kind, name, event, args, begin_us)
        spans.begins_us.append(begin_us)
        spans.durations_us.append(duration_us)
        if len(spans.keys) > MAX_KEPT_EVENTS:
            raise ProfileError(f"The trace has more than {MAX_KEPT_EVENTS:,} operations: record fewer steps.")

    def _add_device(self, name: str, args: dict[str, object]) -> Spans:
        device = args.get("device")
        self.device.keys.append(self.kernels.number(name[:MAX_NAME_CHARACTERS]))
        self.device.links.append(_correlation(args))
        self.device.threads.append(device if type(device) is int and 0 <= device < _MAX_DEVICE else -1)
        return self.device

    def _add_call(self, link: int, event: Event) -> Spans:
        self.calls.keys.append(0)
        self.calls.links.append(link)
        self.calls.threads.append(self._threads.number(event_thread(event)))
        return self.calls

    def _add_host(self, kind: str, name: str, event: Event, args: dict[str, object], begin_us: float) -> Spans:
        if kind in _NOTES and not name.startswith((_DATA_LOADER, OPTIMIZER_STEP)):
            # A person's own label: it may tell what the network is, and only a compiler's is looked for.
            self.labels.number(name[:MAX_NAME_CHARACTERS])
            name = LABEL
        self.host.keys.append(self.operations.number((name[:MAX_NAME_CHARACTERS], self._mask(name, args))))
        self.host.threads.append(self._threads.number(event_thread(event)))
        if args:
            self._look_at_inputs(name, args, begin_us)
        return self.host

    def _add_memory(self, args: object) -> None:
        if not isinstance(args, dict):
            return
        kind, device, held = (args.get(name) for name in ("Device Type", "Device Id", "Total Allocated"))
        if type(kind) is not int or kind != _CUDA:
            return
        # Allocations of a CPU are counted from the profiler's start: no peak of a step.
        if type(device) is int and 0 <= device < _MAX_DEVICE and type(held) is int and 0 < held < _MOST_BYTES:
            self.peak_bytes[device] = max(self.peak_bytes.get(device, 0), held)

    def _add_step(self, number: int, begin_us: float, duration_us: float) -> None:
        if len(self.steps) >= MAX_STEPS:
            raise ProfileError(f"The trace has more than {MAX_STEPS:,} steps: record fewer.")
        self.steps.setdefault(number, (begin_us, begin_us + duration_us))

    @staticmethod
    def _mask(name: str, args: dict[str, object]) -> str | None:
        if "convolution_backward" not in name and "conv2d_backward" not in name:
            return None
        inputs = args.get("Concrete Inputs")
        last = inputs[-1] if isinstance(inputs, list) and inputs else None
        flags = re.findall(r"\b(true|1|false|0)\b", last.lower()[:100]) if isinstance(last, str) else []
        return "".join("1" if word in ("true", "1") else "0" for word in flags[:2]) if len(flags) == 3 else None

    def _look_at_inputs(self, name: str, args: dict[str, object], begin_us: float) -> None:
        is_convolution = "convolution" in name or "conv2d" in name
        if not is_convolution and name not in ("aten::mm", "aten::addmm", "aten::bmm"):
            return
        # PyTorch 1.8 wrote them with a small letter.
        types, shapes = args.get("Input type"), args.get("Input Dims", args.get("Input dims"))
        if isinstance(types, list) and types and isinstance(types[0], str) and len(self.input_types) < 100:
            self.input_types.add(types[0][:MAX_NAME_CHARACTERS])
        if is_convolution and begin_us < self.first_input_us and isinstance(shapes, list) and shapes:
            shape = shapes[0]
            if isinstance(shape, list) and len(shape) == 4 and all(type(n) is int and 0 < n < 10**6 for n in shape):
                self.first_input, self.first_input_us = tuple(shape), begin_us


def _correlation(args: dict[str, object]) -> int:
    link = args.get("correlation")
    return link if type(link) is int and 0 <= link < 2**62 else -1
