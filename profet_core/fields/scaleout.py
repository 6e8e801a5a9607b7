"""Fields of `scaleout`."""

from __future__ import annotations

from profet_core.fields.field import Field, Fields, Kind, some
from profet_core.fields.training import ADVISE, NARROWED, ONE_GPU
from profet_core.multi_gpu.law import Strategy
from profet_core.multi_gpu.step import GRADIENT_BYTES

SCALEOUT: Fields = {
    "profile": Field(
        Kind.PROFILE, "profile of training steps on one GPU; or give a step's latency, GPU and batch size"
    ),
    **ONE_GPU,
    **NARROWED,
    "step_ms": Field(
        Kind.NUMBER, "measured step latency on one GPU instead of a profile, in milliseconds; needs gpu and batch", "MS"
    ),
    "batch": Field(Kind.WHOLE, "keep this batch size per GPU (default: the profiled one)"),
    "global_batch": Field(Kind.WHOLE, "keep this global batch size, divided over all GPUs"),
    **some(ADVISE, "network", "parameters"),
    "tensors": Field(Kind.WHOLE, "number of weight tensors, for one-process; ResNet50 has 161"),
    "gradients": Field(Kind.TEXT, "precision of exchanged gradients (default: fp32)", choices=tuple(GRADIENT_BYTES)),
    "gpus": Field(Kind.COUNTS, "numbers of GPUs (default: 1, 2, 4, ... 64)"),
    "total_gpus": Field(
        Kind.WHOLE, "offers as whole machines with this many GPUs together (default: one machine each)"
    ),
    "strategy": Field(
        Kind.TEXT,
        "how GPUs exchange gradients (default: ring, which frameworks use today; tree is not measured, ps-cpu and "
        "ps-gpu only in 2017)",
        choices=tuple(each.value for each in Strategy),
    ),
    "instance": Field(Kind.TEXT, "machine to scale out on (default: eight of the anchor's GPU)", "NAME"),
    "images": Field(Kind.WHOLE, "training images per epoch (default: ImageNet's)"),
    **some(ADVISE, "validation_images", "price", "spot_discount"),
}
