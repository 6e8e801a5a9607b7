"""The check on this machine's own cores: processes with cores and images of their own, and what their times make."""

from __future__ import annotations

import os

import pytest

from profet_core.accuracy.manycore import OWN_IMAGES, SHARED_BATCHES
from profet_core.manycore.contention import PUBLISHED_THREADS
from profet_core.manycore.machine import Machine
from profet_core.manycore.network import Training
from profet_core.manycore.published import SMALL
from profet_core.manycore.times import time_by_images
from profet_lab.manycore import own_cores as own_cores_module
from profet_lab.manycore.crew import Run, crews
from profet_lab.manycore.own_cores import here, own_cores
from profet_lab.manycore.worker import Taken

TRAINING = Training(images=41, test_images=7, epochs=1)

two_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores, on Linux"
)


@two_cores
def test_workers_share_weights_and_have_images_of_their_own():
    with crews(OWN_IMAGES, [1, 2]) as (alone, both):
        first, again, shared = alone.run(TRAINING), alone.run(TRAINING), both.run(TRAINING)
    # Every run begins with the same weights.
    assert first.taken[0].loss_first == again.taken[0].loss_first
    assert first.taken[0].loss_last == again.taken[0].loss_last
    assert len(shared.taken) == 2
    assert shared.taken[0].loss_first != shared.taken[1].loss_first
    assert shared.wall_s == max(taken.training_s + taken.forward_s for taken in shared.taken)
    assert "NumPy" in both.library


@pytest.mark.training
@two_cores
def test_tensorflow_trains_batches_on_the_cores_it_is_given():
    with crews(SHARED_BATCHES, [1]) as (crew,):
        run = crew.run(Training(images=2_560, test_images=64, epochs=1))
    assert len(run.taken) == 1 and run.taken[0].loss_last < run.taken[0].loss_first
    assert "TensorFlow" in crew.library


@two_cores
def test_predicted_from_one_thread_and_measured_on_two():
    found = own_cores(training=TRAINING, ways=[OWN_IMAGES], repeats=1, patience_s=0)
    (way,) = found.ways
    one, two = way.rows[:2]
    assert (one.threads, two.threads, one.measured_speedup, one.predicted_speedup) == (1, 2, 1, 1)
    assert two.predicted_speedup == pytest.approx(2, rel=0.01) and two.predicted_speedup < 2
    assert two.measured_speedup == pytest.approx(one.measured_s / two.measured_s)
    for row in way.rows:
        assert row.repeats >= 1 and row.low_s <= row.measured_s <= row.high_s
    # Forward and training times of an image make the epoch of one thread, but for contention, a thousandth here.
    epoch_s = (41 * way.training_us + 48 * way.forward_us) / 1e6
    assert one.predicted_s == pytest.approx(epoch_s, rel=0.01)


def test_model_b_here_by_hand():
    """Ten times as fast an image as the Phi: 0.2 ms forward and 0.675 ms in training; contention is a tenth too."""
    network = here(0.2e-3, 0.675e-3)
    assert network.contention_s == pytest.approx([each / 10 for each in SMALL.contention_s])
    two = time_by_images(network, Machine("here", 2, 1e9, 15, (1.0,)), Training(1_000, 0, 1), 2)
    assert two.preparation_s == 0
    assert two.images_s == pytest.approx((0.675 + 0.2) / 2)
    assert two.contention_s == pytest.approx(500 * (7.10e-7 * (6.40e-5 / 7.10e-7) ** 0.25596), rel=1e-4)
    assert PUBLISHED_THREADS[:2] == (1, 15)


def run_of(wall_s: float, others_share: float) -> Run:
    return Run(wall_s, others_share, (Taken(wall_s, 0.0, wall_s, 2.0, 1.0),))


def test_disturbed_runs_count_only_where_too_few_were_not():
    quiet, disturbed = run_of(1.0, 0.01), run_of(3.0, 0.5)
    counted = own_cores_module._counted
    assert counted([quiet, disturbed, quiet, quiet]) == [quiet] * 3
    assert counted([quiet, disturbed, quiet, disturbed]) == [quiet, disturbed, quiet, disturbed]


def test_the_numbers_of_threads_are_powers_of_two():
    assert own_cores_module._thread_counts(2) == [1, 2]
    assert own_cores_module._thread_counts(12) == [1, 2, 4, 8]
