"""GPUs of the user's as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.catalog.own_gpus import OwnGpu, SpeedPoint, ThroughputPoint
from profet_core.documents.parts import Document


def own_gpus_document(rows: Iterable[OwnGpu]) -> list[Document]:
    """One object a GPU; null is what is not known of it."""
    return [own_gpu_document(row) for row in rows]


def own_gpu_document(own: OwnGpu) -> Document:
    """One GPU, with the name of its instance and what an hour of that costs."""
    gpu, point = own.gpu, own.point
    throughput = point if isinstance(point, ThroughputPoint) else None
    speed = point if isinstance(point, SpeedPoint) else None
    return {
        "gpu": own.name,
        "instance": own.instance,
        "like": own.like,
        "fp32_tflops": gpu.fp32_tflops,
        "tf32_tensor_dense_tflops": gpu.tf32_tensor_dense_tflops,
        "memory_gib": gpu.memory_gib,
        "bandwidth_gb_per_s": gpu.bandwidth_gb_per_s,
        "tdp_w": gpu.tdp_w,
        "images_per_s": throughput and throughput.images_per_s,
        "network": throughput and throughput.network,
        "pixels": throughput and throughput.pixels,
        "batch_size": throughput and throughput.batch_size,
        "precision": point and point.precision,
        "times_reference": speed and speed.times_reference,
        "times_log_sd": speed and speed.log_sd,
        "usd_per_hour": own.offer.usd_per_hour,
        "as_of": own.as_of,
        "source": own.source,
    }
