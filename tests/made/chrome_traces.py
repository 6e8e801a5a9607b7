"""Small chrome traces made by hand, so that every total can be worked out."""

from __future__ import annotations

import json

from benchmarks.made_trace import call, cuda_step, event, kernel, op, step

__all__ = ["call", "cuda_step", "event", "kernel", "op", "step"]


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
