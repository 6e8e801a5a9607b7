"""Work carried to other GPUs: the equations by hand, and what must hold whatever the numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core.latency import NORMAL_90
from profet_core.transfer.carry import Carried, KernelWeights, carry, join, kind_log_speeds
from profet_core.transfer.hosts import Host, host_named
from profet_core.transfer.known import AnchorSteps, Latencies, known_steps
from tests.made.step_law import FAST, LAW, SLOW, made_parts, made_target

MEASURED = {"fast": 108.0}
#: A law in which kinds differ: bandwidth-bound work is only twice as slow on the slow one, a product eight times.
KINDS_DIFFER = replace(
    LAW,
    tail_share=0.15,
    instances={
        "fast": replace(FAST, kind_log_speeds=(0.7, 1.0, 0.2, 0.4), benchmark_kinds_ms=(50.0, 9.0, 1.0, 40.0)),
        "slow": replace(SLOW, kind_log_speeds=(-0.7, -1.0, -0.2, -0.3), benchmark_kinds_ms=(200.0, 70.0, 1.5, 80.0)),
    },
)


def carried(*targets, latency_ms=108.0, others=None, law=LAW, weights=None, **parts) -> Carried:
    """One step recorded on the fast instance, on each target."""
    rows = {name: Latencies(np.array([value]), np.array([half])) for name, (value, half) in (others or {}).items()}
    known = known_steps(law, AnchorSteps("fast", made_parts(**parts), np.array([latency_ms])), rows)
    return carry(known, "fast", targets, **({} if weights is None else {"weights": weights}))


def latency_ms(*args, **given) -> float:
    return carried(*args, **given).latency_ms[0, 0]


# --- by hand --------------------------------------------------------------------------------------------------------


def test_only_the_work_scales_with_the_gpu():
    # 108 ms are 100 of work and 8 of copy and start; twice as fast a GPU leaves 50 + 8.
    assert latency_ms(made_target(math.log(2))) == pytest.approx(58.0, abs=1e-3)


def test_tails_grow_with_the_gpus_multiprocessors_not_with_its_speed():
    # Gaps give 6.994 ms of launches, a tenth of it tails: 99.3 of work, then 49.65 + 1.049 + 8.
    law = replace(LAW, tail_share=0.1)
    found = carried(made_target(math.log(2), multiprocessors=120), law=law, idle=3.0).free_ms[0, 0]
    assert found == pytest.approx(58.6994, abs=1e-3)


def test_work_and_launches_are_joined_to_a_little_more_than_the_longer():
    assert join(np.array([3.0]), np.array([4.0]))[0] == pytest.approx(337**0.25)
    assert join(np.array([100.0]), np.array([1.0]))[0] == pytest.approx(100.0)


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4))
def test_no_step_is_shorter_than_its_work_or_its_launches_nor_longer_than_both_in_turn(free, launch):
    joined = join(np.array([free]), np.array([launch]))[0]
    assert max(free, launch) * (1 - 1e-12) <= joined <= free + launch


def test_a_step_of_bandwidth_bound_work_follows_the_bandwidth_half_way():
    # All bandwidth-bound: speed 2, bandwidth 8, tilt one half: 4 times as fast. The benchmark itself gains 2: its 60 of
    # convolution gain 2 and 40 of bandwidth gain 4, 40 ms altogether, and what is carried is relative to that.
    target = made_target(math.log(2), log_bandwidth=math.log(8))
    assert latency_ms(target, convolution=0.0, bandwidth=100.0) == pytest.approx(100 / 4 * 50 / 40 + 8, abs=1e-2)
    # And all of convolution loses by as much.
    assert latency_ms(target, convolution=100.0, bandwidth=0.0) == pytest.approx(100 / 2 * 50 / 40 + 8, abs=1e-2)


def test_speeds_by_kind_by_hand():
    target = made_target(math.log(2), log_bandwidth=math.log(8))
    speeds = np.exp(kind_log_speeds(LAW, ["fast", "slow"], "fast", [target])[0])
    assert speeds[0] == pytest.approx([2.0, 2.0, 2**0.3, 4.0])
    # Four times as much over the slow one.
    assert speeds[1] == pytest.approx([8.0, 8.0, 8**0.3, 16.0])


def test_a_depthwise_gradient_gains_little():
    mixed, plain = (latency_ms(made_target(math.log(4)), scattered=s, convolution=60 - s) for s in (30.0, 0.0))
    assert mixed > 1.2 * plain


def test_known_latencies_agree_in_the_geometric_mean_of_work():
    # Both are twice as fast or as slow, so both count by nearness alike; floors of 2 ms hide 2/108 and 2/408 of them.
    both = {"others": {"slow": (408.0, 0.0)}}
    speeds = made_target(-math.log(2))
    weights = np.array([1 - 2 / 408, 1 - 2 / 108])
    logs = np.array([math.log(400) - math.log(2), math.log(100) + math.log(2)])
    expected = math.exp((weights * logs).sum() / weights.sum()) + 8
    assert latency_ms(speeds, **both) == pytest.approx(expected, abs=1e-2)


def test_a_nearer_gpu_counts_for_more():
    # The fast one says 100, the slow one 200 ms of work on the fast GPU; on the slow one 400 and 800.
    both = {"others": {"slow": (808.0, 0.0)}}
    assert 100 < latency_ms(made_target(0.0), **both) - 8 < math.sqrt(100 * 200)
    assert math.sqrt(400 * 800) < latency_ms(made_target(-math.log(4)), **both) - 8 < 800


def test_weights_without_power_and_nearness_are_equal():
    both = {"others": {"slow": (808.0, 0.0)}}
    equal = latency_ms(made_target(), weights=KernelWeights(free_share_power=0.0, nearness=0.0), **both)
    assert equal - 8 == pytest.approx(math.sqrt(100 * 200), rel=1e-4)
    nearest = latency_ms(made_target(), weights=KernelWeights(nearness=50.0), **both)
    assert nearest - 8 == pytest.approx(100, rel=1e-4)


def test_the_interval_adds_up_by_hand():
    target = made_target(-math.log(2), log_half_width=0.2, mix_log_sd=0.5)
    found = carried(target, others={"slow": (408.0, 0.3)}, convolution=80.0, bandwidth=20.0)
    work = found.free_ms[0, 0] - 8
    weights = np.array([1 - 2 / 408, 1 - 2 / 108])
    known_half = 0.3 * weights[0] / weights.sum()
    share = 8 / (work + 8)
    # 80 % of convolutions where the benchmark has 60: a fifth of the spread.
    assumed = math.hypot(0.13 * share, 0.5 * 0.2 * (1 - share))
    assert found.log_half_width[0, 0] == pytest.approx(math.sqrt(0.2**2 + known_half**2 + (NORMAL_90 * assumed) ** 2))


# --- what must hold -------------------------------------------------------------------------------------------------


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0, 1), st.integers(10, 200))
def test_the_benchmark_gains_exactly_its_speed_whatever_the_kinds(log_speed, log_bandwidth, tilt, multiprocessors):
    law = replace(KINDS_DIFFER, bandwidth_tilt=tilt)
    kinds = {"convolution": 50.0, "product": 9.0, "scattered": 1.0, "bandwidth": 40.0}
    target = made_target(log_speed, log_bandwidth=log_bandwidth, multiprocessors=multiprocessors)
    parts = made_parts(**kinds, idle=3.0)
    alone = known_steps(law, AnchorSteps("fast", parts, np.array([108.0])), {})
    tails_ms = law.tails_ms(alone.floor_ms, 80)[0]
    # On the slow one the benchmark's work takes four times as long.
    slow_ms = 4 * alone.work_ms["fast"][0] + tails_ms + 8
    found = carried(target, law=law, others={"slow": (slow_ms, 0.0)}, idle=3.0, **kinds)
    work_ms = found.free_ms[0, 0] - tails_ms * multiprocessors / 80 - 8
    assert work_ms == pytest.approx((108 - 8 - tails_ms) / math.exp(log_speed), rel=1e-3)


def test_launches_take_as_long_on_every_gpu_of_one_host():
    gpus = [made_target(speed, multiprocessors=sms) for speed, sms in ((-2.0, 10), (0.0, 80), (3.0, 140))]
    found = carried(*gpus, idle=6.0)
    assert len(set(found.launch_ms[:, 0])) == 1
    assert found.launch_ms[0, 0] == pytest.approx(22.0, rel=0.05)
    assert np.all(np.diff(found.free_ms[:, 0]) < 0)


def test_a_step_bound_by_launches_stays_as_long_on_any_faster_gpu():
    bound = {"latency_ms": 15.0, "convolution": 5.0, "bandwidth": 0.0, "copy": 0.0, "idle": 25.0}
    found = carried(made_target(math.log(10)), made_target(math.log(1000)), **bound)
    assert found.latency_ms[:, 0] == pytest.approx([15.0, 15.0], rel=2e-3)


@pytest.mark.parametrize("idle", [2.0, 6.0, 30.0])
def test_a_faster_host_shortens_every_step(idle):
    hosts = [host_named("broadwell"), host_named("cascade-lake"), Host("quick", 0.3, 0.3, 0.26)]
    found = carried(*(made_target(0.5, host=host) for host in hosts), idle=idle)
    assert np.all(np.diff(found.latency_ms[:, 0]) < 0)
    assert found.launch_ms[:, 0] / found.launch_ms[0, 0] == pytest.approx([1.0, 0.7918, 0.3], rel=1e-4)


@pytest.mark.parametrize("batch", [2.0, 4.0, 8.0])
def test_twice_the_batch_takes_about_twice_as_long_where_the_gpu_bounds_it(batch):
    def at(factor: float) -> float:
        times = {"convolution": 60 * factor, "bandwidth": 40 * factor, "copy": 4 * factor}
        return latency_ms(made_target(math.log(3)), latency_ms=106 * factor + 2, idle=3.0, **times)

    assert 1.9 < at(2 * batch) / at(batch) <= 2.0


def test_more_work_never_takes_less_time():
    found = [
        latency_ms(made_target(math.log(30)), latency_ms=max(work + 8, 22.0), convolution=work, bandwidth=0.0, idle=6.0)
        for work in (1.0, 5.0, 10.0, 14.0, 20.0, 50.0, 100.0, 300.0)
    ]
    assert found == sorted(found)


def test_targets_together_are_each_as_alone():
    targets = [made_target(0.3, log_bandwidth=0.7), made_target(-1.0, host=host_named("rome"), multiprocessors=30)]
    others = {"slow": (400.0, 0.2)}
    together = carried(*targets, law=KINDS_DIFFER, others=others, product=10.0, idle=4.0)
    for place, target in enumerate(targets):
        alone = carried(target, law=KINDS_DIFFER, others=others, product=10.0, idle=4.0)
        for name in ("free_ms", "launch_ms", "log_half_width", "weights"):
            assert getattr(together, name)[place] == pytest.approx(getattr(alone, name)[0])


def test_an_unsure_speed_widens_the_interval_and_moves_nothing():
    sure, unsure = carried(made_target(0.5), made_target(0.5, log_half_width=0.4, mix_log_sd=0.3)).latency_ms[:, 0]
    assert sure == unsure
    widths = carried(made_target(0.5), made_target(0.5, log_half_width=0.4)).log_half_width[:, 0]
    assert widths[1] == pytest.approx(math.hypot(widths[0], 0.4))
