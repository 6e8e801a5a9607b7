"""Collects the events of a PyTorch trace that matter, and translates their operations to TensorFlow's types.

The table of translations, `pytorch_operations.csv`, covers 97% of the time of a ResNet's step on a CPU and 96% on a
GPU; a kernel whose operation it leaves out goes by its own name.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypedDict

from profet_profiles.chrome_trace import MAX_TIME_US, Event, Where
from profet_profiles.kernel_names import COLLECTIVE, operation_of_kernel
from profet_profiles.limits import (
    MAX_NAMES,
    MAX_STEPS,
    MAX_THREADS,
    Spans,
    TraceNames,
    TraceTooLargeError,
)
from profet_profiles.pytorch_shapes import ShapeRows, tells_work
from profet_profiles.record import UNKNOWN
from profet_profiles.whole_files import read_signed

#: PyTorch labels the call of every optimizer: "Optimizer.step#SGD.step".
OPTIMIZER_STEP = "Optimizer.step#"
#: What stands for its label of the call that clears the gradients.
ZERO_GRAD = "Optimizer.zero_grad"
#: Different kernels, each of which is searched for what it tells; a large network has hundreds.
MAX_KERNEL_NAMES = 5_000
MAX_NAME_CHARACTERS = 500
#: Channels of an image.
RGB = 3
_MAX_DEVICE = 1_000
#: What stands for every label of `record_function` but an optimizer's.
LABEL = "user_annotation"
_DATA_LOADER = "enumerate(DataLoader)"

#: What autograd calls its nodes: the backward pass of one operation each.
BACKWARD_NODE = re.compile(
    r"autograd::engine::evaluate_function: (?!torch::autograd::)|\w{1,200}Backward\d{0,3}$", re.ASCII
)
_STEP_NAMES = "ProfilerStep#", "ProfileStep#"
_STEP = re.compile(r"Profiler?Step#(\d{1,15})", re.ASCII)
#: What PyTorch calls its events, now and in 2021, in small letters.
_HOST, _CALLS, _DEVICE = "host", "calls", "device"
_KINDS = {
    LABEL: LABEL,
    **dict.fromkeys(("cpu_op", "operator"), _HOST),
    **dict.fromkeys(("cuda_runtime", "cuda_driver", "xpu_runtime", "cudaruntime", "runtime", "driver"), _CALLS),
    **dict.fromkeys(("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"), _DEVICE),
    "profilestep": LABEL,
}
#: How categories of events begin that ran on no GPU.
_ACCELERATORS = {"mtia_": "Meta's MTIA", "hpu_": "an Intel Gaudi", "gcu_": "an Enflame GCU"}
#: PaddlePaddle writes the duration behind each name.
_DURATION = re.compile(r"\[\d{1,9}\.\d{3} [mu]s\]$", re.ASCII)
#: What PyTorch writes with `profile_memory` at each allocation, and the number that it has for CUDA's devices.
_MEMORY, _CUDA = "[memory]", 1
_MAX_BYTES = 2**50
#: One dimension of a convolution's input is less.
_MAX_SIZE = 10**6
_PRODUCTS = frozenset({"aten::mm", "aten::addmm", "aten::bmm"})

#: The arguments of events that are looked at; any of them may hold anything.
Args = TypedDict(
    "Args",
    {
        "correlation": object,
        "correlation id": object,
        "device": object,
        "Concrete Inputs": object,
        "Input type": object,
        "Input Dims": object,
        "Input dims": object,
        "Input Strides": object,
        "Device Type": object,
        "Device Id": object,
        "Total Allocated": object,
    },
    total=False,
)
_NO_ARGS: Args = {}
TraceEvent: TypeAlias = Event[Args]


class PyTorchEvents:
    """Columns kept of a trace while its events pass by.

    Attributes
    ----------
    host, calls, device : operations on CPU threads, calls of the CUDA runtime, and what ran on the GPU.
    operations : (name, mask) of the keys of `host`; the mask is which gradients of a convolution were computed, "10",
        "01" or "11", and None for anything else.
    kernels : names of the keys of `device`.
    threads : process and thread of the threads of `host` and `calls`.
    streams : (number of the GPU, -1 if it is not known; process and thread) of the threads of `device`.
    labels : names given to parts of the step with `record_function`.
    steps : number of a ProfilerStep -> its start and end, microseconds.
    input_types : types of the tensors that convolutions and matrix products took, where they were recorded.
    channels_last : convolutions whose first tensor is NHWC in memory, less those whose is NCHW; None if no trace event
        has strides.
    inputs : start of each convolution of the forward pass, where shapes were recorded.
    shapes : four numbers of each of these: batch, channels, height and width of its input.
    work : what the shapes of operations tell.
    peak_bytes : number of a GPU -> the most that tensors held on it at once, if the trace recorded memory.
    accelerator : what other device than a GPU the trace is of, if any.
    untimed : events of the host without a valid time.
    """

    def __init__(self) -> None:
        self.host, self.calls, self.device = Spans(), Spans(), Spans()
        self.operations: TraceNames[tuple[str, str | None]] = TraceNames(MAX_NAMES)
        self.kernels: TraceNames[str] = TraceNames(MAX_KERNEL_NAMES)
        self.threads: TraceNames[Where] = TraceNames(MAX_THREADS)
        self.streams: TraceNames[tuple[int, Where]] = TraceNames(MAX_THREADS)
        self.labels: TraceNames[str] = TraceNames(MAX_NAMES)
        self.steps: dict[int, tuple[float, float]] = {}
        self.input_types: set[str] = set()
        self.channels_last: int | None = None
        self.inputs, self.shapes = array("d"), array("i")
        self.work = ShapeRows()
        self.peak_bytes: dict[int, int] = {}
        self.untimed = 0
        self.accelerator = ""
        # Operations whose arguments tell nothing: name -> number in `operations`.
        self._plain: dict[str | None, int] = {}

    def add(self, events: Iterable[TraceEvent]) -> None:
        """Keep what matters of some events."""
        by_kind: dict[str, list[TraceEvent]] = {_HOST: [], _CALLS: [], _DEVICE: []}
        for event in events:
            kind = _KINDS.get(event.cat or "") or _KINDS.get((event.cat or "").lower())
            if kind is not None and event.ph == "X":
                if event.name and event.name.endswith("s]"):
                    event.name = _DURATION.sub("", event.name)
                own = event.name if kind == LABEL else None
                if own and own.startswith(ZERO_GRAD):
                    event.name = ZERO_GRAD
                elif own and not own.startswith((_DATA_LOADER, OPTIMIZER_STEP, *_STEP_NAMES)):
                    # It may tell what the network is, and only a compiler's label is looked for.
                    self.labels.number(own[:MAX_NAME_CHARACTERS])
                    event.name = LABEL
                by_kind[_HOST if kind == LABEL else kind].append(event)
            elif event.name == _MEMORY:
                self._add_memory(event.args or _NO_ARGS)
            elif kind is None and event.cat and (other := _ACCELERATORS.get(event.cat[: event.cat.find("_") + 1])):
                self.accelerator = other
        host = [(event, key) for event in self._timed(by_kind[_HOST]) if (key := self._operation(event)) >= 0]
        self.host.add([event.ts for event, _ in host], [event.dur for event, _ in host])
        self.host.keys.extend(key for _, key in host)
        self.host.threads.extend(self._thread(event) for event, _ in host)
        calls = [event for event in self._timed(by_kind[_CALLS]) if _correlation(event) >= 0]
        self.calls.add([event.ts for event in calls], [event.dur for event in calls])
        self.calls.threads.extend(map(self._thread, calls))
        self.calls.links.extend(map(_correlation, calls))
        device = [event for event in by_kind[_DEVICE] if event.name]
        for event in device:
            if not _has_time(event):
                # What a kernel took that the profiler lost is estimated later: it was no idle time.
                event.ts = event.ts if 0 < event.ts <= MAX_TIME_US else math.nan
                event.dur = math.nan
        self.device.add([event.ts for event in device], [event.dur for event in device])
        self.device.keys.extend(self.kernels.number(str(event.name)[:MAX_NAME_CHARACTERS]) for event in device)
        self.device.threads.extend(map(self._stream, device))
        self.device.links.extend(map(_correlation, device))

    def _thread(self, event: TraceEvent) -> int:
        return self.threads.number((event.pid, event.tid))

    def _stream(self, event: TraceEvent) -> int:
        number = event.args.get("device") if event.args else None
        gpu = number if type(number) is int and 0 <= number < _MAX_DEVICE else -1
        return self.streams.number((gpu, (event.pid, event.tid)))

    def _timed(self, events: list[TraceEvent]) -> list[TraceEvent]:
        """Those with a name and a time."""
        timed = [event for event in events if event.name and _has_time(event)]
        self.untimed += len(events) - len(timed)
        return timed

    def _operation(self, event: TraceEvent) -> int:
        """Return the number of an event's operation; -1 for the mark of a step."""
        if (key := self._plain.get(event.name)) is not None:
            return key
        name, args = str(event.name), event.args or _NO_ARGS
        if step := _STEP.fullmatch(name):
            if len(self.steps) >= MAX_STEPS:
                raise TraceTooLargeError(f"The trace has more than {MAX_STEPS:,} steps")
            self.steps.setdefault(int(step[1]), (event.ts, event.ts + event.dur))
            return -1
        number = self.operations.number((name[:MAX_NAME_CHARACTERS], _mask(name, args)))
        is_convolution, has_work = "convolution" in name or "conv2d" in name, tells_work(name)
        if has_work:
            # PyTorch 1.8 wrote them with a small letter.
            dims = args.get("Input Dims", args.get("Input dims"))
            self.work.add(event.ts, name, dims, args.get("Concrete Inputs"))
        if is_convolution or name in _PRODUCTS:
            shape = self._look_at_inputs(is_convolution, args)
            if shape is not None and "backward" not in name:
                self.inputs.append(event.ts)
                self.shapes.extend(shape)
        elif not has_work and len(name) <= MAX_NAME_CHARACTERS:
            self._plain[name] = number
        return number

    def _add_memory(self, args: Args) -> None:
        kind, device, held = args.get("Device Type"), args.get("Device Id"), args.get("Total Allocated")
        # Allocations of a CPU are counted from the profiler's start: no peak of a step.
        if not (type(kind) is int and kind == _CUDA and type(device) is int and type(held) is int):
            return
        if 0 <= device < _MAX_DEVICE and 0 < held < _MAX_BYTES:
            self.peak_bytes[device] = max(self.peak_bytes.get(device, 0), held)

    def _look_at_inputs(self, is_convolution: bool, args: Args) -> tuple[int, ...] | None:
        types, shapes = args.get("Input type"), args.get("Input Dims", args.get("Input dims"))
        if isinstance(types, list) and types and isinstance(types[0], str) and len(self.input_types) < 100:
            self.input_types.add(types[0][:MAX_NAME_CHARACTERS])
        shape = _image(shapes, _MAX_SIZE) if is_convolution else None
        if shape is None:
            return None
        strides = _image(args.get("Input Strides"), _MAX_BYTES)
        # A tensor of one channel or one pixel is both.
        if strides is not None and shape[1] > 1 and shape[2] * shape[3] > 1:
            self.channels_last = (self.channels_last or 0) + (1 if strides[1] == 1 else -1)
        return shape


def _has_time(event: TraceEvent) -> bool:
    """PyTorch 2.12 has written 0 for both times for part of a trace."""
    return 0 <= event.dur <= MAX_TIME_US and abs(event.ts) <= MAX_TIME_US and bool(event.ts or event.dur)


def _mask(name: str, args: Args) -> str | None:
    if "convolution_backward" not in name and "conv2d_backward" not in name:
        return None
    inputs = args.get("Concrete Inputs")
    last = inputs[-1] if isinstance(inputs, list) and inputs else None
    flags = re.findall(r"\b(true|1|false|0)\b", last.lower()[:100]) if isinstance(last, str) else []
    return "".join("1" if word in ("true", "1") else "0" for word in flags[:2]) if len(flags) == 3 else None


def _image(lists: object, most: int) -> tuple[int, ...] | None:
    """Batch, channels, height and width in the first list, without a depth; None unless all are from 1 to `most`."""
    first = lists[0] if isinstance(lists, list) and lists else None
    if isinstance(first, list) and len(first) in (4, 5) and all(type(n) is int and 0 < n < most for n in first):
        return (*first[:2], *first[-2:])
    return None


def _correlation(event: TraceEvent) -> int:
    link = event.args.get("correlation", event.args.get("correlation id")) if event.args else None
    return link if type(link) is int and 0 <= link < 2**62 else -1


_PUBLIC_NAME = re.compile(r"aten::\w{1,100}", re.ASCII)
_INPUT_GRADIENT = re.compile(r"dgrad|bwd_?data|backward_?data|backward_input|bwdd", re.IGNORECASE)
_FILTER_GRADIENT = re.compile(
    r"wgrad|bwd_?(?:filter|weight)|backward_?(?:filter|weight)|grad_weight|bwdw", re.IGNORECASE
)
_DEPTHWISE = re.compile(r"depthwise|2d_c1_k1", re.IGNORECASE)
_COMPUTER_COPY = re.compile(r"memcpy ?(?:htod|h2d|dtoh|d2h)", re.IGNORECASE)
_PEER_COPY = re.compile(r"memcpy ?(?:ptop|p2p)", re.IGNORECASE)
#: Copies between the computer and the GPU count as what brings a batch there in the training data; those that stay on
#: the GPU change a type or an order.
COPY, _COPY_ON_GPU, _COPIES_ON_GPU = "_Send", "Cast", ("Transpose", "MemcpyDToD")

_ADAM = "ResourceApplyAdam"
#: What the name of an optimizer's class holds, small letters, those that say more first.
_UPDATES = {
    "adagrad": "ResourceApplyAdagradV2",
    "adadelta": "ResourceApplyAdadelta",
    "adamax": "ResourceApplyAdaMax",
    "adam": _ADAM,
    "lamb": _ADAM,
    "adan": _ADAM,
    "rmsprop": "ResourceApplyRMSProp",
    "ftrl": "ResourceApplyFtrl",
}


class Kernel(NamedTuple):
    """Facts that a kernel's name tells.

    Attributes
    ----------
    operation : TensorFlow's type; None if the name does not tell.
    gradient : 0 for that of a convolution's input, 1 for that of its filter, None for neither or either.
    depthwise : it is of a depthwise convolution.
    """

    name: str
    operation: str | None
    gradient: int | None
    depthwise: bool


def parse_kernel(name: str) -> Kernel:
    """Read a kernel's name."""
    operation = operation_of_kernel(name)
    if _COMPUTER_COPY.search(name):
        operation = COPY
    elif _PEER_COPY.search(name):
        operation = COLLECTIVE
    of_input, of_filter = bool(_INPUT_GRADIENT.search(name)), bool(_FILTER_GRADIENT.search(name))
    gradient = None if of_input == of_filter else int(of_filter)
    return Kernel(name, operation, gradient, bool(_DEPTHWISE.search(name)))


class Translation(NamedTuple):
    """TensorFlow's types of one operation: none if it is ignored; the gradients of input and filter if `splits`."""

    types: tuple[str, ...]
    splits: bool = False


#: Of `pytorch_operations.csv`; a change of it is signed here.
_TABLE_SHA256 = "9cd12970a7d19b53f420f1460e7d5fd1074a86ac6b9b6aa87b83b0fe4c7fe046"


@cache
def load_translations() -> dict[str, Translation]:
    """Return the shipped table: names, and patterns with "*" in their order."""
    text = read_signed(Path(__file__).with_name("pytorch_operations.csv"), _TABLE_SHA256)
    return {
        row["operation"]: Translation(tuple(filter(None, row["types"].split(";"))), row["share"] == "backward")
        for row in csv.DictReader(text.splitlines())
    }


def translate(operation: str) -> Translation:
    """Map an operation to TensorFlow's; one that isn't in the table keeps its name if it is PyTorch's own.

    Any other may be a name of the user's, and is not named.
    """
    table = load_translations()
    if operation in table:
        return table[operation]
    patterns = (row for pattern, row in table.items() if "*" in pattern and fnmatchcase(operation, pattern))
    return next(patterns, None) or Translation((operation if _PUBLIC_NAME.fullmatch(operation) else UNKNOWN,))


def update_operation(label: str, operations: Collection[str]) -> str:
    """TensorFlow's type of the update that an optimizer's step makes."""
    name = label.removeprefix(OPTIMIZER_STEP).partition(".")[0].lower()
    if kind_of_update := next((kind for part, kind in _UPDATES.items() if part in name), None):
        return kind_of_update
    parts = [operation.removeprefix("aten::").strip("_").removeprefix("foreach_") for operation in operations]
    if "sgd" not in name and any(part.startswith(("sqrt", "addcdiv", "fused_adam")) for part in parts):
        return _ADAM
    return "ResourceApplyMomentum" if "mul" in parts else "ResourceApplyGradientDescent"


def shares(translation: Translation, kernel: Kernel | None, mask: str | None) -> dict[str, float]:
    """TensorFlow's types of an operation, each with its share of the operation's time.

    Parameters
    ----------
    kernel : the kernel that the time is of; None for the host. Where the operation is ignored or unknown, the kernel's
        own name tells.
    mask : of a convolution's gradient, "10" if only the input's was computed, "01" only the filter's, "11" both;
        None if that was not recorded.
    """
    types = translation.types
    if kernel is not None and types in ((), (UNKNOWN,)):
        return {kernel.operation or UNKNOWN: 1.0}
    if kernel is not None and types == (COPY,) and kernel.operation != COPY:
        # No copy starts a convolution: the trace's times of the two are wrong by microseconds.
        believed = kernel.operation in _COPIES_ON_GPU or "Conv" in (kernel.operation or "")
        return {kernel.operation if kernel.operation and believed else _COPY_ON_GPU: 1.0}
    if kernel is not None and kernel.depthwise:
        types = tuple(f"DepthwiseConv2dNative{kind[6:]}" if kind.startswith("Conv2D") else kind for kind in types)
    if not translation.splits:
        return dict.fromkeys(types, 1.0)
    if kernel is not None and kernel.gradient is not None:
        return {types[kernel.gradient]: 1.0}
    if mask in ("10", "01"):
        return {types[mask.index("1")]: 1.0}
    return dict.fromkeys(types, 0.5)
