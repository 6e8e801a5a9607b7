"""Small chrome traces made by hand, so that every total can be worked out."""

from __future__ import annotations

import json

PID = 17


def event(category: str, name: str, begin_us: float, duration_us: float, tid: int = 1, **args: object) -> dict:
    pid = 0 if category in ("kernel", "gpu_memcpy", "gpu_memset") else PID
    made = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin_us, "dur": duration_us}
    return made | {"args": args}


def op(name: str, begin_us: float, duration_us: float, tid: int = 1, **args: object) -> dict:
    return event("cpu_op", name, begin_us, duration_us, tid, **args)


def call(correlation: int, begin_us: float, tid: int = 1) -> dict:
    return event("cuda_runtime", "cudaLaunchKernel", begin_us, 3, tid, correlation=correlation)


def kernel(name: str, correlation: int, begin_us: float, duration_us: float, category: str = "kernel") -> dict:
    # The external id is that of another operation, as it was seen in real traces.
    args = {"correlation": correlation, "External id": 1, "stream": 7}
    return event(category, name, begin_us, duration_us, 7, **args)


def step(number: int, begin_us: float, duration_us: float) -> dict:
    return event("user_annotation", f"ProfilerStep#{number}", begin_us, duration_us)


def cuda_step(number: int, at: float) -> list[dict]:
    """One training step of 1,000 us from `at`: convolution, activation, gradient on autograd's thread, a copy."""
    link = 100 * number
    return [
        step(number, at, 1000),
        op("aten::conv2d", at + 100, 100),
        op("aten::cudnn_convolution", at + 110, 60),
        call(link + 1, at + 120),
        kernel("implicit_convolve_sgemm", link + 1, at + 130, 200),
        op("aten::relu", at + 300, 20),
        op("aten::clamp_min", at + 305, 10),
        call(link + 2, at + 310),
        kernel("vectorized_elementwise_kernel", link + 2, at + 340, 30),
        op("autograd::engine::evaluate_function: ConvolutionBackward0", at + 400, 200, 2),
        op("ConvolutionBackward0", at + 410, 180, 2),
        op("aten::convolution_backward", at + 420, 150, 2),
        call(link + 3, at + 430, 2),
        kernel("cudnn_dgrad_engine", link + 3, at + 450, 80),
        call(link + 4, at + 450, 2),
        kernel("cudnn_wgrad_engine", link + 4, at + 540, 120),
        call(link + 5, at + 470, 2),
        kernel("nchwToNhwcKernel", link + 5, at + 660, 10),
        op("aten::copy_", at + 700, 20),
        call(link + 6, at + 705),
        kernel("Memcpy HtoD (Pageable -> Device)", link + 6, at + 720, 40, "gpu_memcpy"),
    ]


def update(at: float, duration_us: float = 20, optimizer: str = "SGD") -> dict:
    """The label of an optimizer's step."""
    return event("user_annotation", f"Optimizer.step#{optimizer}.step", at, duration_us)


def loop_step(number: int, at: float, optimizer: str = "SGD") -> list[dict]:
    """`cuda_step` as a loop without `prof.step()` shows it: no mark but the optimizer's, from one end to the other."""
    return [
        *cuda_step(number, at)[1:],
        op("aten::empty", at, 5),
        update(at + 900, 60, optimizer),
        op("aten::mul_", at + 910, 10),
        call(100 * number + 7, at + 915),
        kernel("vectorized_elementwise_kernel<MulFunctor>", 100 * number + 7, at + 920, 8),
        op("aten::add_", at + 930, 10),
        call(100 * number + 8, at + 935),
        kernel("vectorized_elementwise_kernel<CUDAFunctor_add>", 100 * number + 8, at + 940, 12),
        op("aten::item", at + 970, 30),
    ]


#: Of every `cuda_step`, microseconds; idle times depend on the steps around it.
CUDA_STEP_US = {
    "Device_Conv2D": 200.0,
    "Device_Relu": 30.0,
    "Device_Conv2DBackpropInput": 80.0 + 5.0,
    "Device_Conv2DBackpropFilter": 120.0 + 5.0,
    "Device__Send": 40.0,
    "Host_Conv2D": 100.0,
    "Host_Relu": 20.0,
    "Host_Conv2DBackpropInput": 75.0,
    "Host_Conv2DBackpropFilter": 75.0,
    "Host__Send": 20.0,
}


def trace(events: list[dict], **entries: object) -> bytes:
    document = {"schemaVersion": 1, **entries, "traceEvents": events, "traceName": "made.json"}
    return json.dumps(document).encode()


def tensorflow_trace(events: list[dict], names: dict | None = None) -> bytes:
    """As XProf writes it; `names`: process -> name, or (process, thread) -> name."""
    named = names or {701: "/host:CPU", 1: "/device:GPU:0", (1, 14): "Stream #14(Compute)", (1, 99): "TensorFlow Ops"}
    meta = []
    for where, name in named.items():
        pid, tid = where if isinstance(where, tuple) else (where, None)
        made = {"args": {"name": name}, "name": "thread_name" if tid else "process_name", "ph": "M", "pid": pid}
        meta.append(made | ({"tid": tid} if tid else {}))
    document = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [*meta, *events, {}]}
    return json.dumps(document).encode()


def tf_event(name: str, begin_us: float, duration_us: float, pid: int = 701, tid: int = 5, **args: object) -> dict:
    return {"args": args, "dur": duration_us, "name": name, "ph": "X", "pid": pid, "tid": tid, "ts": begin_us}


def tf_step(number: int, at: float) -> list[dict]:
    """One step: two operations on a thread of the host, an iterator on another, three kernels and a derived line."""
    return [
        tf_event(f"train {number}", at, 1000, step_num=str(number), group_id=str(number)),
        tf_event("Conv2D", at + 100, 50, long_name="secret/layer/Conv2D:Conv2D"),
        tf_event("Relu", at + 200, 25, long_name="secret/relu:Relu"),
        tf_event("ExecutorState::Process", at + 10, 900),
        tf_event("Iterator::Root", at + 20, 30, tid=6),
        tf_event("kernel_a", at + 120, 40, pid=1, tid=14, tf_op="secret/layer/Conv2D:Conv2D"),
        tf_event("kernel_b", at + 170, 10, pid=1, tid=14, tf_op="secret/relu:Relu"),
        tf_event("MemcpyH2D", at + 400, 20, pid=1, tid=14),
        tf_event("secret/layer/Conv2D:Conv2D", at + 120, 40, pid=1, tid=99, tf_op="secret/layer/Conv2D:Conv2D"),
    ]
