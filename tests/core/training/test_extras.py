"""Interruptions against a simulation, start-up and storage by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from profet_core import Profile
from profet_core.errors import InputError
from profet_core.questions import AdviseQuestion, ask
from profet_core.training.cost import Extras, Interruptions, interruptions_per_h
from profet_core.training.words import breakdown_line
from tests.made.step_times import HOUR_AT_100_MS, offer, planned, row

HOUR_S = 3600.0


def simulated(interruptions: Interruptions, work_s: float, trainings: int, seed: int = 0) -> np.ndarray:
    """Seconds that interruptions add to each of many trainings: all stretches again and again until each succeeds."""
    rng, mean_s = np.random.default_rng(seed), HOUR_S / interruptions.per_h
    stretches = int(work_s // interruptions.checkpoint_s) * [interruptions.checkpoint_s]
    stretches += [work_s % interruptions.checkpoint_s] if work_s % interruptions.checkpoint_s else []
    lost = np.zeros(trainings)
    for stretch_s in stretches:
        left = np.arange(trainings)
        while len(left):
            until_s = rng.exponential(mean_s, len(left))
            failed = until_s < stretch_s
            lost[left[failed]] += until_s[failed] + interruptions.restart_s
            left = left[failed]
    return lost


@pytest.mark.parametrize(
    ("per_h", "checkpoint_min", "restart_min", "work_h"),
    [(0.05, 30, 5, 24), (1, 30, 5, 10), (0.5, 60, 10, 100), (4, 20, 2, 6), (0.002, 30, 5, 92), (1, 120, 0.1, 1)],
)
def test_lost_time_is_that_of_simulated_trainings(per_h, checkpoint_min, restart_min, work_h):
    interruptions = Interruptions(per_h, 60 * checkpoint_min, 60 * restart_min)
    work_s, trainings = work_h * HOUR_S, 20_000
    lost, expected = simulated(interruptions, work_s, trainings), interruptions.lost(work_s)
    sure_s = 5 * lost.std() / math.sqrt(trainings)
    assert expected.seconds == pytest.approx(lost.mean(), abs=sure_s)
    # The range of the whole time holds 90% of the trainings, give or take a few.
    low_s, high_s = expected.range_s
    assert 0.87 <= np.mean((lost >= low_s) & (lost <= high_s)) <= 0.97
    for end_s, share in ((low_s, 0.05), (high_s, 0.95)):
        assert work_s + end_s == pytest.approx(work_s + np.quantile(lost, share), rel=0.02)


@pytest.mark.parametrize("per_stretch", [1e-15, 1e-9, 1e-5, 0.00999, 0.01001])
def test_rare_interruptions_lose_half_a_stretch_give_or_take_a_uniform_one_s_spread(per_stretch):
    lost = Interruptions(per_stretch, HOUR_S, 60).lost(10 * HOUR_S)
    assert lost.each_s == pytest.approx(60 + HOUR_S * (1 / 2 - per_stretch / 12), rel=1e-8)
    assert lost.each_sd_s == pytest.approx(HOUR_S * math.sqrt(1 / 12 - per_stretch**2 / 240), rel=1e-8)
    # Almost every training has none: the range still has the mean in it.
    assert lost.range_s[0] == 0 <= lost.seconds <= lost.range_s[1]


def test_many_interruptions_have_a_normal_range_and_faster_ones_than_checkpoints_none():
    lost = Interruptions(2, 600, 60).lost(300 * HOUR_S)
    low_s, high_s = lost.range_s
    assert low_s < lost.seconds < high_s and lost.seconds - low_s == pytest.approx(high_s - lost.seconds)
    with pytest.raises(InputError, match="would not end"):
        Interruptions(20, HOUR_S, 60).lost(10 * HOUR_S)


def test_the_rate_of_a_band_is_the_share_of_machines_in_a_month():
    assert 1 - math.exp(-730 * interruptions_per_h("5-10%")) == pytest.approx(0.075)
    assert interruptions_per_h("48") == 2
    # As AWS writes them.
    for aws, ours in (("<5%", "0-5%"), ("5 – 10 %", "5-10%"), (">20%", "20%+")):
        assert interruptions_per_h(aws) == interruptions_per_h(ours)
    for wrong in ("", "often", "-1", "0", "nan", "100%"):
        with pytest.raises(InputError):
            interruptions_per_h(wrong)


def test_the_breakdown_by_hand():
    extras = Extras(start_up_s=360, dataset_gib=146, usd_per_gib_month=0.1)
    plan = planned(row("one", 100), offer("one", 2), workload=replace(HOUR_AT_100_MS, extras=extras))
    # An hour of training and a tenth of start-up at $2/h; 1.1 of the month's 730 hours at $14.60.
    breakdown = plan.breakdown
    expected = {"training": 2, "interruptions": 0, "start_up": 0.2, "storage": 0.022}
    assert breakdown.parts_usd == pytest.approx(expected)
    assert (breakdown.total_usd, breakdown.total_s) == pytest.approx((2.222, 3960))
    # The bars leave it out.
    assert (plan.total_s, plan.total_usd) == pytest.approx((3600, 2))
    assert breakdown_line(plan) == "training $2.00 + start-up $0.200 + storage $0.0220 = $2.22 in 66.0 min"
    assert breakdown_line(planned(row("one", 100), offer("one", 2))) == ""
    several = planned(row("one", 100), offer("one", 2), workload=replace(plan.workload, runs=3, at_once=True))
    assert several.breakdown.total_usd == pytest.approx(3 * breakdown.total_usd)


def test_only_spot_machines_are_interrupted():
    extras = Extras(interruptions=Interruptions(0.5, 1800, 300))
    work = replace(HOUR_AT_100_MS, extras=extras)
    spot, on_demand = (
        planned(row("one", 100), offer("one", 2, market=market), workload=work) for market in ("spot", "on-demand")
    )
    assert on_demand.lost is None and on_demand.breakdown.total_usd == on_demand.total_usd
    lost_s = extras.interruptions.lost(3600).seconds
    assert spot.breakdown.parts_usd["interruptions"] == pytest.approx(2 * lost_s / 3600)
    assert spot.breakdown.total_s == pytest.approx(3600 + lost_s)


@pytest.mark.parametrize("given", [(0, None, None), (None, 5, None), (None, None, 0.1), (None, -1, 0.1), (None, 1, 0)])
def test_what_makes_no_costs_is_refused(given):
    start_up_minutes, dataset_gib, usd = given
    costs = {"start_up_minutes": start_up_minutes, "dataset_gib": dataset_gib, "storage_usd_per_gib_month": usd}
    with pytest.raises(InputError) as refused:
        ask(AdviseQuestion, {"profile": Profile({"Device_Conv2D": 1.0}), "images": 5000, **costs})
    assert set(refused.value.fields) <= costs.keys()
