"""Writes made-up PyTorch traces of any size, always the same: what is measured with them can be measured again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple, TextIO

_PID, _TID, _BACKWARD_TID, _STREAM = 4242, 4242, 4300, 7
_START_US = 4386231492080.627


class TracedLayer(NamedTuple):
    """Operations inside each other and the kernel that the innermost launches, with self times, microseconds."""

    operations: tuple[str, ...]
    kernel: str
    cpu_us: float
    gpu_us: float


_GEMM = "sm80_xmma_{}_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x{}x8_stage3_execute_kernel__5x_cudnn"
_NORM = "void cudnn::bn_{}<float, float, {}, 512, true, 1{}>({})"
_ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, {}>(int)"
_CONVOLUTION = ("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution")
_NORMALIZATION = ("aten::batch_norm", "aten::_batch_norm_impl_index", "aten::cudnn_batch_norm")


def _backward(node: str, operation: str) -> tuple[str, ...]:
    return f"autograd::engine::evaluate_function: {node}", node, operation


_FORWARD = [
    TracedLayer(_CONVOLUTION, _GEMM.format("fprop", 128), 31.5, 120.25),
    TracedLayer(
        _NORMALIZATION, _NORM.format("fw_tr_1C11_kernel_NCHW", "int", ", true", "cudnn::cudnnTensorStruct"), 12.25, 22.5
    ),
    TracedLayer(("aten::relu", "aten::clamp_min"), _ELEMENTWISE.format("clamp_min"), 6.0, 8.5),
]
_BACKWARD = [
    TracedLayer(_backward("ReluBackward0", "aten::threshold_backward"), _ELEMENTWISE.format("threshold"), 6.5, 9.75),
    TracedLayer(
        _backward("CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward"),
        _NORM.format("bw_1C11_kernel_new", "float2", "", "float"),
        14.0,
        40.0,
    ),
    TracedLayer(
        _backward("ConvolutionBackward0", "aten::convolution_backward"), _GEMM.format("dgrad", 64), 44.0, 131.5
    ),
]
#: How many such layers a step has; a ResNet-18 has 20 convolutions.
LAYERS = 20


def write_pytorch_trace(file: TextIO, size_bytes: int) -> int:
    """Write a CUDA trace of whole steps until it has about `size_bytes`; returns the number of steps."""
    written = file.write(
        ' {\n    "schemaVersion": 1,\n    "deviceProperties": [\n      {"id": 0, "name": "Tesla T4", '
        '"computeMajor": 7, "computeMinor": 5}\n    ],\n    "displayTimeUnit": "ms",\n    "traceEvents": ['
    )
    step, begin_us, separator = 0, _START_US, "\n"
    while written < size_bytes:
        events = list(_step(step, begin_us))
        for event in events:
            written += file.write(separator + json.dumps(event, indent=2))
            separator = ",\n"
        begin_us += events[0]["dur"] + 50.0
        step += 1
    file.write('\n  ], "traceName": "made.pt.trace.json" }\n')
    return step


def _step(number: int, begin_us: float) -> Iterator[dict]:
    events: list[dict] = []
    now_us, free_us = begin_us + 10.0, begin_us
    for tid, layers in ((_TID, _FORWARD), (_BACKWARD_TID, _BACKWARD)):
        for repetition in range(LAYERS):
            for layer in layers:
                link = (number * LAYERS + repetition) * 10 + len(events) * 1_000_000
                made = list(_operation(tid, now_us, layer, link))
                now_us += made[0]["dur"] + 1.5
                # One stream: a kernel waits for the one before it.
                made[-1]["ts"] = round(max(made[-1]["ts"], free_us), 3)
                free_us = made[-1]["ts"] + layer.gpu_us
                events += made
    # As after torch.cuda.synchronize(): the step ends with its last kernel.
    end_us = max(now_us, free_us) + 20.0
    yield _event("user_annotation", f"ProfilerStep#{number}", _TID, begin_us, end_us - begin_us, {})
    yield from events


def _operation(tid: int, begin_us: float, layer: TracedLayer, link: int) -> Iterator[dict]:
    names = layer.operations
    for depth, name in enumerate(names):
        left = len(names) - 1 - depth
        args = {"External id": link + depth, "Record function id": 0, "Sequence number": 432, "Ev Idx": link + depth}
        yield _event("cpu_op", name, tid, begin_us + 2.0 * depth, layer.cpu_us + 4.0 * left, args)
    call_us = begin_us + 2.0 * len(names)
    args = {"External id": link, "cbid": 211, "correlation": link}
    yield _event("cuda_runtime", "cudaLaunchKernel", tid, call_us, 3.0, args)
    args = {"External id": link, "device": 0, "context": 1, "stream": _STREAM, "correlation": link, "queued": 0}
    args |= {"registers per thread": 128, "shared memory": 0, "blocks per SM": 3.4, "grid": [1, 1, 1]}
    args |= {"block": [64, 1, 1]}
    yield _event("kernel", layer.kernel, _STREAM, call_us + 8.0, layer.gpu_us, args)


def _event(category: str, name: str, tid: int, begin_us: float, duration_us: float, args: dict) -> dict:
    place = {"pid": 0 if tid == _STREAM else _PID, "tid": tid}
    times = {"ts": round(begin_us, 3), "dur": round(duration_us, 3)}
    return {"ph": "X", "cat": category, "name": name, **place, **times, "args": args}
