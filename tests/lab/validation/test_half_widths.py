"""Widths of intervals come from the errors of other architectures alone."""

from __future__ import annotations

import numpy as np

from profet_lab.classes.bank import class_bank
from profet_lab.classes.member_weights import WEIGHTS
from tests.lab.conftest import SAME_TRAINING


def test_spoilt_rows_of_the_held_out_architecture_reach_neither_weights_nor_interval(uncompiled, classed, poisoned):
    """Both come from errors of others, by members that never saw it; the widths at distances that leave it out."""
    from profet_lab.classes.calibrate import distances
    from profet_lab.classes.folds import one_held_out, predict_folds
    from profet_lab.validation.half_widths import nested_half_widths
    from profet_lab.validation.inner_folds import inner_errors, two_held_out

    pair, held_out = ("slow", "fast"), classed.architectures == "D"
    clean, spoilt = class_bank(classed), class_bank(poisoned)
    plain = predict_folds(clean, one_held_out(clean.architectures, [pair]), latency_known=True, seed=0, steps=3)
    half, weights = [], []
    for bank in (clean, spoilt):
        inner = predict_folds(bank, two_held_out(bank, [pair]), latency_known=True, seed=0, steps=3)
        # How far its own profiles lie from the others is an input of the prediction, and nothing learned.
        own, learned = distances(clean, "slow", True), distances(bank, "slow", True)
        tables = {"slow": np.where(held_out[:, None], own, learned)}
        weights.append(inner_errors(bank, [pair], inner).by_architecture)
        half.append(nested_half_widths(bank, [pair], plain, inner, tables, True, weights[-1])[pair])
    assert weights[0]["D"] == weights[1]["D"] != WEIGHTS[0]  # what is not a number gives the first of them
    assert np.isfinite(half[1][held_out]).all()
    np.testing.assert_allclose(half[0][held_out], half[1][held_out], **SAME_TRAINING)
    assert not np.isfinite(half[1][~held_out]).any()  # the others' widths do learn from it
