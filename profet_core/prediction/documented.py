"""The documented PROFET ensemble: members per pair on the clustered profile (arXiv:2208.05130)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profet_core.artifacts.methods import Method
from profet_core.artifacts.models import Models
from profet_core.networks.batch import ProfileBatch
from profet_core.prediction.estimates import Estimates, combine, floors_ms


def documented_estimates(models: Models, method: Method, batch: ProfileBatch, targets: Sequence[str]) -> Estimates:
    """Run every pair's members on all profiles at once."""
    matrix, unknown = models.features.encode(batch.profiles)
    inputs = {"clusters": matrix.astype(np.float32)}
    if batch.latency_ms is not None:
        inputs["latency_ms"] = batch.latency_ms.astype(np.float32).reshape(-1, 1)
    rule = method.rule(batch.latency_known)
    member_ms = {member: models.run_members(batch.anchor, targets, member, inputs) for member in rule.members}
    count = len(batch.profiles)
    return Estimates(
        targets=targets,
        member_ms=member_ms,
        joined_ms=combine(np.stack(list(member_ms.values()), axis=-1), rule.combine),
        floor_ms=floors_ms(models, targets),
        log_sd=None,
        interval_level=None,
        unknown=unknown,
        likeness=[None] * count,
        warnings=[()] * count,
    )
