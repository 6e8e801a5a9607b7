"""Steps of a GPU that nobody profiled, carried back: the inverse of what carries them there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from profet_core.transfer.anchor import CarriedBack, ForeignSteps, carry_back
from profet_core.transfer.carry import carry, kind_log_speeds
from profet_core.transfer.hosts import host_named
from profet_core.transfer.known import AnchorSteps, Latencies, known_steps
from profet_core.transfer.model import TransferModel, load_transfer
from profet_core.transfer.parts import StepParts
from profet_core.transfer.speed import target_of
from tests.made.step_law import LAW, made_parts, made_target


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


def back(target, latency_ms: float | None = 58.0, law=LAW, **parts) -> CarriedBack:
    measured = None if latency_ms is None else np.array([latency_ms])
    return carry_back(law, "fast", ForeignSteps(target, made_parts(**parts), measured))


def test_a_gpu_twice_as_fast_by_hand():
    # 58 ms there: 50 of work and 8 of copy and start; 100 + 8 on the fast, 400 + 8 on the slow instance.
    found = back(made_target(math.log(2)), convolution=30.0, bandwidth=20.0)
    assert found.by_instance["fast"].latency_ms[0] == pytest.approx(108.0, rel=1e-3)
    assert found.by_instance["slow"].latency_ms[0] == pytest.approx(408.0, rel=1e-3)
    assert found.own_ms[0] == 58.0


def test_the_profile_there_shows_the_work_of_each_kind_as_long_as_it_takes_there():
    target = made_target(math.log(2), log_bandwidth=math.log(8))
    found = back(target, convolution=30.0, scattered=10.0, bandwidth=20.0).by_instance
    assert found["fast"].kind_factors == pytest.approx([2.0, 2.0, 2**0.3, 4.0])
    assert found["fast"].parts.kinds_ms[0] == pytest.approx([60.0, 0.0, 10 * 2**0.3, 80.0])
    assert found["slow"].parts.kinds_ms[0] == pytest.approx([240.0, 0.0, 10 * 8**0.3, 320.0])
    assert found["fast"].parts.copy_ms[0] == 4.0


def test_the_copy_is_as_long_as_the_host_there_takes():
    found = back(made_target(0.0, host=host_named("sapphire-rapids")))
    assert found.by_instance["fast"].parts.copy_ms[0] == pytest.approx(4.0 / 0.4)


def test_a_latency_that_nobody_measured_is_told_by_the_profile():
    # 100 of work, 6 of copy and 2 of start.
    assert back(made_target(), latency_ms=None).own_ms[0] == pytest.approx(108.0, rel=1e-3)


def test_a_step_bound_by_launches_takes_as_long_on_every_instance_of_one_host():
    bound = {"convolution": 1.0, "bandwidth": 0.0, "copy": 0.0, "idle": 29.0}
    found = back(made_target(math.log(4)), latency_ms=15.0, **bound)
    assert found.floor_ms[0] == pytest.approx(15.0, rel=0.01)
    assert found.by_instance["fast"].latency_ms[0] == pytest.approx(15.0, rel=0.02)
    # At most 1.1 ms of the 15 are work: 17.6 there and 2 to start, joined with 15.
    assert found.by_instance["slow"].latency_ms[0] == pytest.approx(21.1, abs=0.05)
    elsewhere = back(made_target(math.log(4), host=host_named("cascade-lake")), latency_ms=15.0, **bound)
    assert elsewhere.by_instance["fast"].latency_ms[0] == pytest.approx(15.0 / 0.7918, rel=0.02)


def test_launches_never_take_longer_than_the_step():
    for idle in (0.0, 2.0, 20.0, 200.0, 2000.0):
        found = back(made_target(), latency_ms=12.0, convolution=5.0, bandwidth=0.0, idle=idle)
        assert 0 < found.floor_ms[0] <= 12.0


def recorded_there(law, target, known, carried_ms: float) -> ForeignSteps:
    """A step of the benchmark's mix as a profile on the target would show it, gaps as its launches leave them."""
    rows = list(law.instances.values())
    typical = {
        name: float(np.median([getattr(row, name) for row in rows]))
        for name in ("idle_ms", "idle_per_copy", "floor_per_idle", "gpu_per_busy")
    }
    host, floor_ms = target.host, float(known.floor_ms[0])
    fixed_ms = law.fixed_ms(known.parts, known.anchor, host)[0]
    copy_ms = known.parts.copy_ms[0] * host.copy / law.host(known.anchor).copy
    launches_ms = (floor_ms - law.start_ms) * host.launch
    kinds_ms = known.parts.kinds_ms * np.exp(-kind_log_speeds(law, [known.anchor], known.anchor, [target])[0, 0])
    parts = StepParts(
        kinds_ms=kinds_ms / kinds_ms.sum() * (carried_ms - fixed_ms) / typical["gpu_per_busy"],
        copy_ms=np.array([copy_ms]),
        idle_ms=np.array(
            [launches_ms / typical["floor_per_idle"] + typical["idle_ms"] + typical["idle_per_copy"] * copy_ms]
        ),
        host_ms=np.array([np.inf]),
    )
    return ForeignSteps(target, parts, np.array([carried_ms]))


@pytest.mark.parametrize("name", ["A10G", "L4", "A100-SXM4-80GB", "H100-SXM5-80GB", "Tesla P100-PCIE-16GB"])
@pytest.mark.parametrize("host", ["broadwell", "cascade-lake", "rome", ""])
def test_carrying_there_and_back_leaves_a_step_of_the_benchmarks_mix_where_it_was(shipped, name, host):
    law, anchor = shipped.step, shipped.reference
    row = law.instances[anchor]
    target, _ = target_of(shipped, shipped.gpus[name], host_named(host), True)
    kinds = np.array([row.benchmark_kinds_ms]) * 2
    parts = StepParts(kinds, np.array([6.0]), np.array([5.0]), np.array([np.inf]))
    here_ms = np.array([2 * row.benchmark_work_ms + 12.0])
    known = known_steps(law, AnchorSteps(anchor, parts, here_ms), {})
    there = carry(known, anchor, [target])
    found = carry_back(law, anchor, recorded_there(law, target, known, float(there.latency_ms[0, 0])))
    assert found.by_instance[anchor].latency_ms[0] == pytest.approx(here_ms[0], rel=0.01)
    assert found.floor_ms[0] == pytest.approx(known.floor_ms[0], rel=0.02)


def test_tails_are_told_apart_from_work():
    law = replace(LAW, tail_share=0.2)
    wide, narrow = (
        back(made_target(math.log(2), multiprocessors=sms), law=law, convolution=30.0, bandwidth=20.0, idle=5.0)
        for sms in (160, 20)
    )
    # More of the wide GPU's 50 ms were tails: less is work.
    assert wide.by_instance["slow"].latency_ms[0] < narrow.by_instance["slow"].latency_ms[0]


def test_many_steps_at_once_are_each_as_alone():
    target = made_target(0.7, host=host_named("rome"))
    one, other = made_parts(idle=4.0), made_parts(convolution=5.0, bandwidth=1.0, idle=30.0)
    names = ("kinds_ms", "copy_ms", "idle_ms", "host_ms")
    both = StepParts(**{name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in names})
    together = carry_back(LAW, "fast", ForeignSteps(target, both, np.array([108.0, 20.0])))
    for place, (parts, latency_ms) in enumerate(((one, 108.0), (other, 20.0))):
        alone = carry_back(LAW, "fast", ForeignSteps(target, parts, np.array([latency_ms])))
        for name in LAW.instances:
            assert together.by_instance[name].latency_ms[place] == pytest.approx(alone.by_instance[name].latency_ms[0])


def test_what_comes_back_is_known_exactly_as_it_is_told(shipped):
    assert not Latencies.measured(np.array([3.0])).log_half_width.any()
    assert shipped.anchor_spread.within > 0
