"""A training on several GPUs as one JSON document."""

from __future__ import annotations

from profet_core.documents.parts import Document, rented_document
from profet_core.latency import LEVEL, StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.scaleout.offers import NodePlan
from profet_core.scaleout.step import ScaledStep
from profet_core.scaleout.training import CurveRow, ScaledTraining


def scaleout_document(answer: ScaledTraining) -> Document:
    """The answer, with what was asked."""
    links = answer.interconnect
    return {
        "network": answer.network or None,
        "parameters": answer.parameters,
        "gradients": answer.gradients,
        "strategy": answer.strategy,
        "global_batch": answer.global_batch,
        "images": answer.images,
        "validation_images": answer.validation_images,
        "instance": None if answer.offer is None else answer.offer.name,
        "gpu": answer.gpu,
        "one_gpu": _one_gpu(answer.one_gpu),
        "interconnect": {
            "gpus": links.gpus,
            "link": links.link.value,
            "link_gb_per_s": links.link_gb_per_s,
            "pcie_generation": links.pcie_generation,
            "gpus_per_root": links.gpus_per_root,
            "network_gbit_per_s": links.network_gbit_per_s,
            "source": links.source,
            "assumed": links.assumed,
        },
        "curve": [_curve_row(row) for row in answer.curve],
        "last_paying": answer.last_paying,
        "offers": [_plan(plan) for plan in answer.plans],
        "interval_level": LEVEL,
        "warnings": list(answer.warnings),
    }


def _one_gpu(step: StepTime) -> Document:
    return {
        "latency_ms": step.latency_ms,
        "low_ms": step.interval and step.interval.low_ms,
        "high_ms": step.interval and step.interval.high_ms,
        "basis": step.basis,
        "note": step.note,
    }


def _curve_row(row: CurveRow) -> Document:
    return {
        **_step(row.step),
        **_fit(row.fit),
        "over_one": row.over_one,
        "epoch_s": row.epoch_s,
        "epoch_usd": row.epoch_usd,
        "by_strategy_ms": {strategy.value: latency_ms for strategy, latency_ms in row.other_ms.items()},
    }


def _plan(plan: NodePlan) -> Document:
    return {
        "instance": plan.offer.name,
        **_step(plan.step),
        **_fit(plan.fit),
        "usd_per_hour": plan.usd_per_hour,
        "epoch_s": plan.epoch_s,
        "epoch_usd": plan.epoch_usd,
        "region": plan.offer.region,
        "market": plan.offer.market,
        "status": plan.offer.status,
        **rented_document(plan.offer),
    }


def _fit(fit: FitAnswer | None) -> Document:
    """Of one GPU; null where it is not known, or not asked as the step was measured."""
    return {
        "fits_in_memory": None if fit is None else fit.verdict,
        "largest_batch": None if fit is None else fit.largest_batch,
    }


def _step(step: ScaledStep) -> Document:
    interval, speed_ups = step.interval, step.speed_up_range
    return {
        "gpus": step.gpus,
        "nodes": step.nodes,
        "strategy": step.strategy.value,
        "batch_per_gpu": step.batch_per_gpu,
        "batch_size": step.batch_size,
        "latency_ms": step.latency_ms,
        "low_ms": interval and interval.low_ms,
        "high_ms": interval and interval.high_ms,
        "images_per_s": step.images_per_s,
        "efficiency": step.efficiency,
        "speed_up": step.speed_up,
        "speed_up_low": speed_ups and speed_ups[0],
        "speed_up_high": speed_ups and speed_ups[1],
        "one_gpu_ms": step.one_gpu_ms,
    }
