"""Work of a profiled step from its class times, and its launches, by idle time and by number of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from profet_core.transfer.step_model import GROUPS, WorkReader, floor_of, readers_of

from tests.made.step_model import STEP_MODEL, made_parts

INPUTS = len(GROUPS) + 1
#: A hundred kernels in every step, of 0.4 ms each, and 2.5 of one kind of work per millisecond.
HUNDRED = WorkReader(
    mean=np.zeros(INPUTS),
    scale=np.ones(INPUTS),
    centers=np.zeros((1, INPUTS)),
    width=1.0,
    typical={"convolution": 2.5},
    weights=np.array([[np.log(1.1), np.log(100.0)], *np.zeros((INPUTS + 1, 2))]),
    launch_ms=0.4,
)
CONTENT = {
    "mean": [0.0] * INPUTS,
    "scale": [1.0] * INPUTS,
    "centers": [[0.0] * INPUTS],
    "width": 1.0,
    "typical": {"convolution": 2.5},
    "weights": [[0.0, 0.0]] * (INPUTS + 2),
    "launch_ms": 0.4,
}


def floor_ms(latency_ms: float | None = None, **parts) -> float:
    known_ms = None if latency_ms is None else np.array([latency_ms])
    return float(floor_of(STEP_MODEL, HUNDRED, "fast", made_parts(**parts), known_ms)[0])


def by_idle_time(**parts) -> float:
    return float(STEP_MODEL.floor_ms(made_parts(**parts), "fast", None)[0])


def test_work_grows_with_the_times_and_kernels_do_not():
    for ms in (1.0, 4.0):
        groups_ms = np.full((1, len(GROUPS)), ms)
        assert HUNDRED.kernels(groups_ms) == pytest.approx([100.0])
        assert HUNDRED.amounts(groups_ms)["convolution"] == pytest.approx([2.5 * ms * len(GROUPS)])


def test_idle_time_counts_half_in_a_step_that_its_gpu_bounds_and_alone_in_one_that_waits():
    assert floor_ms(idle=5.0) == pytest.approx((by_idle_time(idle=5.0) * 40) ** 0.5)
    # Idle 60 % of the busy time, half way from one to the other: a quarter.
    assert floor_ms(idle=60.0) == pytest.approx(by_idle_time(idle=60.0) ** 0.75 * 40**0.25)
    assert floor_ms(idle=150.0) == pytest.approx(by_idle_time(idle=150.0))


def test_a_hiccup_of_the_idle_time_counts_as_its_square_root():
    assert floor_ms(idle=12.0) / floor_ms(idle=5.0) == pytest.approx(
        (by_idle_time(idle=12.0) / by_idle_time(idle=5.0)) ** 0.5
    )


def test_the_host_s_own_time_says_all_and_no_step_is_shorter_than_its_launches():
    assert floor_ms(idle=5.0, host=30.0) == pytest.approx(by_idle_time(idle=5.0, host=30.0))
    assert floor_ms(latency_ms=11.0, idle=5.0) == pytest.approx(11.0)


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [[0.0]]},
        {"typical": {}},
        {"scale": [0.0] * INPUTS},
        {"mean": [float("nan")] * INPUTS},
        {"launch_ms": float("inf")},
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(change):
    assert readers_of({"p3.2xlarge": CONTENT})["p3.2xlarge"].launches_ms(np.ones((1, len(GROUPS)))) == 0.4
    with pytest.raises(ValueError):
        readers_of({"p3.2xlarge": {**CONTENT, **change}})
