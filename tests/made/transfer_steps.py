"""Made-up steps that obey the analytical model of transfer, for tests of its fit and of its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import Gpu
from profet_core.errors import Note
from profet_core.latency import Basis, Estimate, combined_sd, smooth_max
from profet_core.prediction.other_gpus import transferred
from profet_core.transfer.model import TransferModel, target_of
from profet_core.transfer.step_model import StepParts
from profet_core.transfer.steps import AnchorSteps, known_steps, target_speeds
from profet_core.transfer.targets import Host, host_named
from profet_lab.transfer.step_model import HOST_OF, InstanceSteps
from tests.made.step_model import no_groups

#: Work of every network on each instance over that on V100: what one benchmark point tells.
SLOWNESS = {"g3s.xlarge": 4.9, "g4dn.xlarge": 2.9, "p2.xlarge": 8.6, "p3.2xlarge": 1.0}
START_MS, COPY_FACTOR, TAIL_SHARE, PROFILED = 1.5, 1.25, 0.1, 1.7
#: Network -> work of an image at 224 pixels on V100, and launches on the reference host, milliseconds.
NETWORKS = {"ResNet50": (2.6, 12.0), "B": (4.0, 8.0), "C": (1.0, 14.0), "D": (0.02, 10.0)}


def made_transfer_steps() -> InstanceSteps:
    """Four networks at nine sizes on all instances; launches bound D everywhere. Three fifths are convolutions."""
    workloads = pd.DataFrame(
        list(product(NETWORKS, (64, 128, 224), (16, 32, 64))), columns=["model", "pixels", "batch_size"]
    )
    images = workloads.batch_size.to_numpy() * (workloads.pixels.to_numpy() / 224.0) ** 2
    work_ms, launches_ms = (np.array([NETWORKS[name][part] for name in workloads.model]) for part in (0, 1))
    parts, latency_ms = {}, {}
    for name, slowness in SLOWNESS.items():
        host = host_named(HOST_OF[name])
        busy_ms, copy_ms = images * work_ms * slowness, 0.05 * images * host.copy
        floor_ms = launches_ms * host.launch
        tails_ms = TAIL_SHARE * launches_ms
        free_ms = busy_ms + tails_ms + COPY_FACTOR * copy_ms + START_MS * host.launch
        latency_ms[name] = smooth_max(free_ms, floor_ms)
        bound = floor_ms > free_ms
        idle_ms = np.where(bound, np.maximum(PROFILED * latency_ms[name] - busy_ms, 1.0), 1 + floor_ms / 5)
        kinds_ms = np.outer(busy_ms, [0.6, 0.0, 0.0, 0.4])
        parts[name] = StepParts(kinds_ms, copy_ms, idle_ms, np.full(len(busy_ms), np.inf), no_groups(len(busy_ms)))
    return InstanceSteps(workloads, latency_ms, parts, parts)


class Transferred(Estimate, frozen=True, kw_only=True):
    """Steps on one GPU."""

    basis: Basis
    notes: Sequence[Note]
    relative_to: str
    relative_log_sd: np.ndarray
    free_ms: np.ndarray
    launch_ms: np.ndarray


def estimate_gpus(
    model: TransferModel,
    recorded: AnchorSteps,
    others: Mapping[str, Estimate],
    pairs: Sequence[tuple[Gpu, Host]],
    *,
    tf32: bool,
) -> dict[tuple[Gpu, Host], Transferred]:
    """Estimates on unprofiled GPUs from steps on one instance, and on `others`, by GPU and host."""
    known = known_steps(model.step, recorded, others)
    there = [target_of(model, gpu, host, tf32) for gpu, host in pairs]
    speeds = target_speeds(model.step, known.anchor, tuple(known.latencies), model.reference, [one for one, _ in there])
    measured = [model.calibrated_gpu(gpu, tf32) for gpu, _ in pairs]
    steps = transferred(known, speeds, {at: one for at, one in enumerate(measured) if one is not None})
    relative_log_sd = combined_sd(steps.log_sd, known.latencies[known.anchor].log_sd)
    return {
        one: Transferred(
            latency_ms=steps.latency_ms[at],
            log_sd=steps.log_sd[at],
            basis=model.basis_of(one[0], tf32),
            notes=there[at][1].notes,
            relative_to=known.anchor,
            relative_log_sd=relative_log_sd[at],
            free_ms=steps.free_ms[at],
            launch_ms=steps.launch_ms[at],
        )
        for at, one in enumerate(pairs)
    }
