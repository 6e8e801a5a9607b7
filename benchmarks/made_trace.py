"""Makes PyTorch traces by hand: steps whose totals can be worked out, and files of any size, always the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import TextIO

PID = 17
#: How often a step of a large file holds the layers of `cuda_step`; a ResNet-18 has 20 convolutions.
LAYERS = 20


def event(category: str, name: str, begin_us: float, duration_us: float, tid: int = 1, **args: object) -> dict:
    """Return an event of the profiler's; kernels and copies are the GPU's."""
    pid = 0 if category in ("kernel", "gpu_memcpy", "gpu_memset") else PID
    made = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin_us, "dur": duration_us}
    return made | {"args": args}


def op(name: str, begin_us: float, duration_us: float, tid: int = 1, **args: object) -> dict:
    """Return an operation on the host."""
    return event("cpu_op", name, begin_us, duration_us, tid, **args)


def call(correlation: int, begin_us: float, tid: int = 1) -> dict:
    """Return a launch of the kernel with this number."""
    return event("cuda_runtime", "cudaLaunchKernel", begin_us, 3, tid, correlation=correlation)


def kernel(name: str, correlation: int, begin_us: float, duration_us: float, category: str = "kernel") -> dict:
    """Return what a launch runs on the GPU."""
    # The external id is that of another operation, as it was seen in real traces.
    args = {"correlation": correlation, "External id": 1, "stream": 7}
    return event(category, name, begin_us, duration_us, 7, **args)


def step(number: int, begin_us: float, duration_us: float) -> dict:
    """Return the mark of a step."""
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


def write_pytorch_trace(file: TextIO, size_bytes: int) -> int:
    """Write a CUDA trace of whole steps until it has about `size_bytes`; returns the number of steps."""
    written = file.write(
        ' {\n    "schemaVersion": 1,\n    "deviceProperties": [\n      {"id": 0, "name": "Tesla T4", '
        '"computeMajor": 7, "computeMinor": 5}\n    ],\n    "displayTimeUnit": "ms",\n    "traceEvents": [\n'
    )
    for number in count():
        for made in _large_step(number):
            written += file.write(("," if made["name"] != "ProfilerStep#0" else "") + json.dumps(made, indent=2) + "\n")
        if written >= size_bytes:
            break
    file.write('  ], "traceName": "made.pt.trace.json" }\n')
    return number + 1


def _large_step(number: int) -> Iterator[dict]:
    begin_us = 1_000.0 * LAYERS * number
    yield step(number, begin_us, 1_000.0 * LAYERS)
    for layer in range(LAYERS):
        yield from cuda_step(number * LAYERS + layer, begin_us + 1_000.0 * layer)[1:]
