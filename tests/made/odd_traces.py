"""Traces of one small CNN on a T4 in each format, sound or damaged as profilers and people damage them.

A kernel is a `Kernel`; a damage is a function of the sound kernels of all steps to what the trace shows of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.made import xplane
from tests.made.chrome_traces import event, op, tensorflow_trace, tf_event, trace

GPU = [{"id": 0, "name": "Tesla T4", "computeMajor": 7, "computeMinor": 5}]
STEPS = 3
STEP_US = 100_000.0

#: TensorFlow's type, PyTorch's operation, kernel, microseconds; layers repeat them.
_LAYER = (
    ("Conv2D", "aten::cudnn_convolution", "turing_scudnn_128x64_relu_interior_nn_v1", 2000.0),
    ("FusedBatchNormV3", "aten::cudnn_batch_norm", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", 300.0),
    ("Relu", "aten::clamp_min", "void at::native::vectorized_elementwise_kernel<4, clamp>", 150.0),
)
_BACKWARD = (
    ("ReluGrad", "aten::threshold_backward", "void at::native::vectorized_elementwise_kernel<4, threshold>", 160.0),
    ("FusedBatchNormGradV3", "aten::cudnn_batch_norm_backward", "void cudnn::bn_bw_1C11_kernel_new<float>", 420.0),
    ("Conv2DBackpropInput", "aten::convolution_backward", "turing_scudnn_128x64_stridedB_interior_nn_v1", 2100.0),
    ("Conv2DBackpropFilter", "aten::convolution_backward", "turing_scudnn_128x64_stridedB_splitK_nn_v1", 2300.0),
)
_UPDATE = ("ResourceApplyGradientDescent", "aten::add_", "void at::native::multi_tensor_apply_kernel<SGD>", 60.0)
LAYERS = 12


@dataclass(frozen=True)
class Kernel:
    """One kernel or copy as a trace shows it; times may be anything that JSON can hold."""

    step: int
    operation: str
    torch: str
    name: str
    begin_us: float
    us: float
    stream: int = 7
    launched_us: float = 0.0


Damage = Callable[[list[Kernel]], list[Kernel]]


def sound_kernels(*, training: bool = True) -> list[Kernel]:
    """The kernels of all steps, one after the other on one stream; the forward pass alone if not `training`."""
    parts = (*_LAYER * LAYERS, *_BACKWARD * LAYERS, _UPDATE) if training else _LAYER * LAYERS
    kernels = []
    for step in range(STEPS):
        begin_us = launched_us = 2e6 + step * STEP_US
        for operation, torch, name, us in parts:
            launched_us += 20
            kernels.append(Kernel(step, operation, torch, name, begin_us + 50, us, launched_us=launched_us))
            begin_us += us + 2
    return kernels


def every(number: int, change: Callable[[Kernel], Kernel], first: int = 3) -> Damage:
    """Change every so manieth kernel."""
    return lambda kernels: [
        change(kernel) if index % number == first % number else kernel for index, kernel in enumerate(kernels)
    ]


def at_zero(kernel: Kernel) -> Kernel:
    """A kernel whose times the profiler lost."""
    return replace(kernel, begin_us=0, us=0)


def starts_at_zero(kernel: Kernel) -> Kernel:
    """A kernel whose start the profiler lost, not its duration."""
    return replace(kernel, begin_us=0)


def negative(kernel: Kernel) -> Kernel:
    """A duration below 0."""
    return replace(kernel, us=-1)


def without_duration(kernel: Kernel) -> Kernel:
    """A duration of 0, where others like it take long."""
    return replace(kernel, us=0)


def never_ending(kernel: Kernel) -> Kernel:
    """A duration of two seconds."""
    return replace(kernel, us=2e6)


def last_never_ends(kernels: list[Kernel]) -> list[Kernel]:
    """Nothing follows the impossible kernel."""
    return [*kernels[:-1], never_ending(kernels[-1])]


def smaller_last_step(kernels: list[Kernel]) -> list[Kernel]:
    """An eighth of the images in the last step."""
    return [replace(kernel, us=kernel.us / 8) if kernel.step == STEPS - 1 else kernel for kernel in kernels]


def copies_beside(ms: float) -> Damage:
    """In every step a copy of the next batch on another stream, which nothing waits for."""

    def damage(kernels: list[Kernel]) -> list[Kernel]:
        firsts = {kernel.step: kernel for kernel in reversed(kernels)}
        return kernels + [
            Kernel(
                first.step,
                "_Send",
                "aten::copy_",
                "Memcpy HtoD (Pinned -> Device)",
                first.begin_us + 1000,
                ms * 1000,
                20,
                first.launched_us - 15,
            )
            for first in firsts.values()
        ]

    return damage


def pytorch_trace(kernels: list[Kernel], *, marked: bool = True, host: bool = True) -> bytes:
    """As PyTorch's profiler writes it; without `host` only CUDA was recorded."""
    events = []
    for link, kernel in enumerate(kernels, 1):
        copies = kernel.name.startswith("Memcpy")
        shown = event("gpu_memcpy" if copies else "kernel", kernel.name, kernel.begin_us, kernel.us, kernel.stream)
        events.append(shown | {"args": {"device": 0, "stream": kernel.stream, "correlation": link}})
        if host:
            events.append(op(kernel.torch, kernel.launched_us, 10))
            events.append(event("cuda_runtime", "cudaLaunchKernel", kernel.launched_us + 3, 3, correlation=link))
    trains = any(kernel.operation == _UPDATE[0] for kernel in kernels)
    for step in range(STEPS if host else 0):
        begin_us = 2e6 + step * STEP_US
        if trains:
            events.append(event("user_annotation", "Optimizer.step#SGD.step", begin_us + 3000, 50))
        if marked:
            events.append(event("user_annotation", f"ProfilerStep#{step}", begin_us, STEP_US))
    return trace(events, deviceProperties=GPU)


def tensorflow_json(kernels: list[Kernel]) -> bytes:
    """As XProf writes it."""
    events = [tf_event(f"train {step}", 2e6 + step * STEP_US, STEP_US, step_num=str(step)) for step in range(STEPS)]
    streams = sorted({kernel.stream for kernel in kernels})
    for index, kernel in enumerate(kernels):
        named = f"net/{index % (7 * LAYERS + 1)}/{kernel.operation}:{kernel.operation}"
        shown = tf_event(kernel.name, kernel.begin_us, kernel.us, pid=1, tid=kernel.stream, tf_op=named)
        events += [shown, tf_event(kernel.operation, kernel.launched_us, 10, long_name=named)]
    names = {701: "/host:CPU", 1: "/device:GPU:0", **{(1, stream): f"Stream #{stream}(Compute)" for stream in streams}}
    return tensorflow_trace(events, names)


def xplane_file(kernels: list[Kernel]) -> bytes:
    """As TensorFlow writes it, where times are whole picoseconds behind the line's start."""
    host = [xplane.step_marker(step, step * STEP_US, STEP_US) for step in range(STEPS)]
    lines: dict[str, list[xplane.Event]] = {}
    for index, kernel in enumerate(kernels):
        named = f"net/{index % (7 * LAYERS + 1)}/{kernel.operation}:{kernel.operation}"
        begin_us = max(kernel.begin_us - 2e6, 0.0)
        line = lines.setdefault(f"Stream #{kernel.stream}(Compute)", [])
        line.append(xplane.kernel(named, begin_us, kernel.us, kernel.name))
        host.append((named, kernel.launched_us - 2e6, 10, {}))
    planes = {"/host:CPU": {"python": host}, "/device:GPU:0": lines}
    return xplane.xplane(planes, capability=7, facts={"compute_cap_minor": 5, "core_count": 40, "memory_size": 2**34})


FORMATS: dict[str, Callable[[list[Kernel]], bytes]] = {
    "trace.pt.trace.json": pytorch_trace,
    "trace.json": tensorflow_json,
    "host.xplane.pb": xplane_file,
}
