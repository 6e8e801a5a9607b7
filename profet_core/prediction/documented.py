"""The documented PROFET ensemble: members per pair on the clustered profile (arXiv:2208.05130)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profet_core.artifacts.methods import Method
from profet_core.artifacts.models import Models
from profet_core.prediction.answers import Answers, combine
from profet_core.profiles.record import Profile


def answer(
    models: Models,
    method: Method,
    profiles: Sequence[Profile],
    anchor: str,
    targets: Sequence[str],
    latencies_ms: Sequence[float] | None,
) -> Answers:
    """Ask every pair's members for all profiles at once."""
    matrix, unknown = models.features.encode(profiles)
    inputs = {"clusters": matrix.astype(np.float32)}
    if latencies_ms is not None:
        inputs["latency_ms"] = np.asarray(latencies_ms, np.float32).reshape(-1, 1)
    rule = method.rule(latencies_ms is not None)
    members = {
        member: np.stack([models.run_member(anchor, target, member, inputs) for target in targets])
        for member in rule.members
    }
    joined = [combine(np.column_stack(said), rule.combine) for said in zip(*members.values(), strict=True)]
    nothing = [()] * len(profiles)
    return Answers(members, np.stack(joined), None, None, unknown, [None] * len(profiles), nothing)
