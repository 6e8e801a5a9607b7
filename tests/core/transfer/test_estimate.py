"""Latencies on GPUs nobody profiled, by the shipped coefficients: which way each took, and what must hold of all."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from profet_core.latency import Basis
from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import load_operation_classes
from profet_core.profiles import Profile
from profet_core.transfer.estimate import Placed, TransferEstimate, estimate_gpus, other_host_log_half_width
from profet_core.transfer.hosts import Host, host_named
from profet_core.transfer.known import AnchorSteps, Latencies
from profet_core.transfer.model import TransferModel, load_transfer
from profet_core.transfer.parts import step_parts
from tests.made.step_law import LAW, made_parts

#: 80 ms of convolution, 20 ms of batch norm, 4 ms of copy, 3 ms of gaps.
PROFILE = Profile(
    {
        "Device_Conv2D": 80_000.0,
        "Device_FusedBatchNormV3": 20_000.0,
        "Device__Recv": 4_000.0,
        "Device_IDLE": 3_000.0,
        "Device_MatMul": 10.0,
        "Host_IDLE": 165_000.0,
    }
)
MODERN = ("A10G", "L4", "L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB")
HOST = host_named("ice-lake")


def latencies(latency_ms: float, log_half_width: float = 0.0) -> Latencies:
    return Latencies(np.array([latency_ms]), np.array([log_half_width]))


KNOWN = {
    "g3s.xlarge": latencies(180.0, 0.11),
    "g4dn.xlarge": latencies(105.0, 0.12),
    "p2.xlarge": latencies(310.0, 0.13),
    "p3.2xlarge": latencies(36.0, 0.11),
}


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


def recorded(anchor: str, latency_ms: float | None, *profiles: Profile) -> AnchorSteps:
    chosen = profiles or (PROFILE,)
    measured = None if latency_ms is None else np.full(len(chosen), latency_ms)
    inputs = ProfileBatch(chosen, anchor, measured).inputs
    return AnchorSteps(anchor, step_parts(load_operation_classes(), inputs), measured)


def estimates(
    shipped,
    names=MODERN,
    *,
    anchor="g4dn.xlarge",
    latency_ms: float | None = 105.0,
    known=KNOWN,
    tf32=True,
    hosts: tuple[Host, ...] = (HOST,),
) -> dict[Placed, TransferEstimate]:
    others = {name: row for name, row in known.items() if name != anchor}
    placed = [(shipped.gpus[name], host) for name in names for host in hosts]
    return estimate_gpus(shipped, recorded(anchor, latency_ms), others, placed, tf32=tf32)


def by_name(found: dict[Placed, TransferEstimate]) -> dict[str, TransferEstimate]:
    return {gpu.name: row for (gpu, _), row in found.items()}


def latency(estimate) -> float:
    return estimate.latencies.latency_ms[0]


def width(estimate) -> float:
    return estimate.latencies.log_half_width[0]


@pytest.mark.parametrize("anchor", list(KNOWN))
@pytest.mark.parametrize("latency_known", [True, False])
def test_every_anchor_transfers_to_every_gpu_with_and_without_its_latency(shipped, anchor, latency_known):
    latency_ms = float(KNOWN[anchor].latency_ms[0]) if latency_known else None
    found = by_name(estimates(shipped, anchor=anchor, latency_ms=latency_ms))
    assert list(found) == list(MODERN)
    assert [row.basis for row in found.values()] == [Basis.DERIVED] + [Basis.TRANSFERRED] * 5
    assert all(0 < latency(row) < math.inf and 0 < width(row) < math.inf for row in found.values())
    assert all("90 % if" in row.note for row in found.values())
    assert {row.relative_to for row in found.values()} == {shipped.derived["A10G"].base, anchor}


def test_a_gpu_without_a_benchmark_point_is_less_sure(shipped):
    found = by_name(estimates(shipped))
    assert width(found["L4"]) > 1.3 * width(found["A100-SXM4-40GB"])


def test_faster_gpus_by_their_points_are_faster_here(shipped):
    found = by_name(estimates(shipped))
    order = [latency(found[name]) for name in ("L4", "L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB")]
    assert order == sorted(order, reverse=True)


def test_fp32_is_slower_and_no_surer(shipped):
    tf32, fp32 = (by_name(estimates(shipped, tf32=allowed)) for allowed in (True, False))
    for name in ("A100-SXM4-40GB", "H100-SXM5-80GB", "L40S", "L4"):
        assert latency(fp32[name]) >= latency(tf32[name]), name
        assert fp32[name].note.startswith("FP32")
    assert latency(fp32["A100-SXM4-40GB"]) > 1.2 * latency(tf32["A100-SXM4-40GB"]), "both were published"
    for name in ("A100-SXM4-40GB", "H100-SXM5-80GB", "L40S"):
        assert width(fp32[name]) > width(tf32[name]), name
    assert latency(fp32["A10G"]) == latency(tf32["A10G"])
    assert width(fp32["A10G"]) > width(tf32["A10G"])
    assert "the interval is wider" in fp32["A10G"].note


def test_a_host_counts_in_launches_copies_and_width(shipped):
    hosts = (host_named("haswell"), host_named("cascade-lake"), host_named("sapphire-rapids"))
    found = estimates(shipped, ["H100-SXM5-80GB"], hosts=hosts)
    latencies_ms = [latency(row) for row in found.values()]
    assert latencies_ms == sorted(latencies_ms, reverse=True) and len(set(latencies_ms)) == 3
    haswell, cascade, _ = found.values()
    assert haswell.launch_ms[0] / cascade.launch_ms[0] == pytest.approx(1.1 / 0.7918, rel=1e-3)
    assert width(cascade) < width(haswell), "it was measured"


def test_the_launch_floor_is_the_same_on_every_gpu_in_one_host(shipped):
    names = [name for name in shipped.gpus if name not in shipped.derived]
    found = estimates(shipped, names)
    assert len({round(row.launch_ms[0], 9) for row in found.values()}) == 1


def test_less_sure_latencies_give_a_wider_interval_around_the_same_estimate(shipped):
    unsure = {name: Latencies(row.latency_ms, row.log_half_width + math.log(1.5)) for name, row in KNOWN.items()}
    sure = estimates(shipped)
    for placed, other in estimates(shipped, known=unsure).items():
        assert latency(other) == latency(sure[placed])
        assert width(other) > width(sure[placed])


def test_without_v100_a_derived_gpu_is_transferred(shipped):
    few = {name: KNOWN[name] for name in ("g3s.xlarge", "p2.xlarge")}
    assert by_name(estimates(shipped, known=few))["A10G"].basis is Basis.TRANSFERRED


def test_a_relative_interval_holds_the_doubt_about_an_anchor_that_was_not_measured(shipped):
    given, guessed = (by_name(estimates(shipped, latency_ms=known))["L40S"] for known in (105.0, None))
    assert given.relative_log_half_width[0] == pytest.approx(width(given))
    own = shipped.step.instances["g4dn.xlarge"].own_log_half_width
    assert guessed.relative_log_half_width[0] == pytest.approx(math.hypot(width(guessed), own))


def test_who_waits_for_launches_is_said(shipped):
    idle = Profile(
        {**PROFILE.operations, "Device_Conv2D": 2_000.0, "Device_FusedBatchNormV3": 1_000.0, "Device_IDLE": 4e4}
    )
    steps = AnchorSteps("p3.2xlarge", recorded("p3.2xlarge", 21.0, idle).parts, np.array([21.0]))
    placed = (shipped.gpus["H100-SXM5-80GB"], HOST)
    (found,) = estimate_gpus(shipped, steps, {}, [placed], tf32=True).values()
    assert found.limited_by_host[0]
    assert not by_name(estimates(shipped))["L40S"].limited_by_host[0]


def test_many_steps_at_once_are_each_as_alone(shipped):
    twice = replace(PROFILE, operations={name: 2 * us for name, us in PROFILE.operations.items()})
    latency_ms = np.array([105.0, 210.0])
    inputs = ProfileBatch([PROFILE, twice], "g4dn.xlarge", latency_ms).inputs
    both = AnchorSteps("g4dn.xlarge", step_parts(load_operation_classes(), inputs), latency_ms)
    others = {name: Latencies(np.full(2, row.latency_ms), np.full(2, 0.1)) for name, row in KNOWN.items()}
    others.pop("g4dn.xlarge")
    placed = [(shipped.gpus[name], HOST) for name in MODERN]
    together = estimate_gpus(shipped, both, others, placed, tf32=True)
    alone = estimates(shipped, known={name: latencies(row.latency_ms[0], 0.1) for name, row in KNOWN.items()})
    for one, row in together.items():
        assert latency(row) == pytest.approx(latency(alone[one]))
        assert width(row) == pytest.approx(width(alone[one]))


def test_nothing_is_asked_nothing_is_told(shipped):
    assert estimates(shipped, []) == {}


def test_a_latency_in_another_host_is_doubted_by_what_the_host_does():
    # Of 108 ms 8 are copy and start, more than the launches: 8 / 108 of the host's spread.
    steps = AnchorSteps("fast", made_parts(), np.array([108.0]))
    found = other_host_log_half_width(LAW, steps, np.array([108.0]), Host("same", 1.0, 1.0, 0.2))
    assert found[0] == pytest.approx(1.645 * 0.2 * 8 / 108)
    # A step that is all launches: 15 of them beside 13 of whatever else.
    bound = AnchorSteps("fast", made_parts(convolution=5.0, bandwidth=0.0, copy=0.0, idle=25.0), np.array([14.0]))
    found = other_host_log_half_width(LAW, bound, np.array([14.0]), Host("same", 1.0, 1.0, 0.2))
    assert found[0] == pytest.approx(1.645 * 0.2 * 14 / (12 + 14), rel=1e-2)
