"""Both models side by side over threads, and what is to be kept in mind."""

from __future__ import annotations

import pytest

from profet_core.errors import InputError
from profet_core.manycore.answer import manycore
from profet_core.manycore.models import time_by_images, time_by_operations
from profet_core.manycore.published import PUBLISHED, PUBLISHED_TRAINING, scaled_network

TRAINING = PUBLISHED_TRAINING["medium"]


def test_rows_are_the_models_times_in_order_each_number_of_threads_once():
    medium = PUBLISHED["medium"]
    answer = manycore(medium, TRAINING, [480, 1, 480, 180])
    assert [row.threads for row in answer.rows] == [1, 180, 480]
    for row in answer.rows:
        assert row.a == time_by_operations(medium, answer.machine, TRAINING, row.threads)
        assert row.b == time_by_images(medium, answer.machine, TRAINING, row.threads)
    assert [row.cpi for row in answer.rows] == [1, 1.5, 2]
    assert [row.contention_s for row in answer.rows] == [1.56e-4, 2.50e-2, 7.31e-2]
    assert [row.extrapolated for row in answer.rows] == [False, False, True]


def test_one_thread_is_the_sequential_time_and_speed_up_is_over_it():
    """Medium on 480: (a) 6228.1 / 36.77 min, (b) 6795.6 / 39.14 min; asked with one thread or without."""
    (row,) = manycore(PUBLISHED["medium"], TRAINING, [480]).rows
    assert (row.speedup_a, row.speedup_b) == pytest.approx((169.4, 173.6), abs=0.05)
    alone = manycore(PUBLISHED["medium"], TRAINING, [1]).rows[0]
    assert (alone.speedup_a, alone.speedup_b) == (1, 1)


def test_notes_say_what_was_extrapolated():
    small, large = PUBLISHED["small"], PUBLISHED["large"]
    assert manycore(small, TRAINING, [1, 240]).notes == ()
    assert [note.split(" memory")[0] for note in manycore(small, TRAINING, [241]).notes] == ["Above 240 threads,"]
    assert manycore(scaled_network("own", 1e7), TRAINING, [240]).notes == ()
    (note,) = manycore(scaled_network("own", large.forward_flops * 180), TRAINING, [240]).notes
    assert "180 times the FLOPs of the large network" in note
    (note,) = manycore(scaled_network("own", small.forward_flops / 5), TRAINING, [240]).notes
    assert "0.2 times the FLOPs of the small network" in note


@pytest.mark.parametrize("threads", [[], [1, 0], [4_000]])
def test_no_or_impossible_threads_are_refused(threads):
    with pytest.raises(InputError, match="threads"):
        manycore(PUBLISHED["small"], TRAINING, threads)
