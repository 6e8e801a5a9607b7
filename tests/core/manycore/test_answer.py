"""Both models side by side over threads, their notes, and the table of checks against what was published."""

from __future__ import annotations

import pytest

from profet_core.errors import InputError
from profet_core.manycore.answer import check_rows, manycore, mean_apart_percent, speedup_row
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


def test_all_twelve_predictions_have_the_published_digits():
    published = [row for row in check_rows() if row.published_min is not None]
    assert len(published) == 12 and all(row.same_digits for row in published)
    assert [row.published_min for row in published[:4]] == [6.6, 5.4, 4.9, 4.6]


def test_how_far_the_models_are_apart():
    """By hand, of the small network at 480 to 3,840 threads: 2.6, 1.6, 1.0 and 0.6 %."""
    rows = check_rows()
    found = [row.apart_percent for row in rows if row.network == "small" and row.threads > 240]
    assert [f"{each:.1f}" for each in found] == ["-2.6", "-1.6", "-1.0", "-0.6"]
    assert mean_apart_percent(rows, "small", extrapolated=True) == pytest.approx(-sum(found) / 4)
    assert mean_apart_percent(rows, "large", extrapolated=False) == pytest.approx(5.9, abs=0.05)
    speedup = speedup_row()
    assert (speedup.threads, speedup.speedup_a, speedup.speedup_b) == pytest.approx((244, 99.5, 115.1), abs=0.05)
