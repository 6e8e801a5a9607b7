"""Batch size and pixels from the shapes of what a step is fed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from profet_recorder.engine import BatchSizes, ObservedSizes, batch_sizes, either


def tensor(*shape: object) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


@pytest.mark.parametrize(
    "batch, channels_last, expected",
    [
        ((tensor(8, 32, 48, 3), tensor(8)), True, (8, 32, 48)),
        ((tensor(8, 3, 32, 48), tensor(8)), False, (8, 32, 48)),
        # The channels tell, whatever the framework's layout is.
        ([tensor(8, 32, 48, 3)], False, (8, 32, 48)),
        ({"pixel_values": tensor(8, 1, 28, 28)}, True, (8, 28, 28)),
        # Feature maps: the layout decides.
        (tensor(4, 64, 14, 15), False, (4, 14, 15)),
        (tensor(4, 14, 15, 64), True, (4, 14, 15)),
        # Labels first, then pictures, nested.
        ((tensor(16), {"x": (tensor(16, 3, 224, 224),)}), False, (16, 224, 224)),
        ((tensor(16, 100), tensor(16)), True, (16, None, None)),
        # A generator's noise is no picture, and what a network makes is not its input.
        ((tensor(8, 100, 1, 1), tensor(8, 3, 64, 64)), False, (8, 64, 64)),
        (tensor(8, 100, 1, 1), False, (8, None, None)),
        ((tensor(8, 3, 16, 16), tensor(8, 3, 64, 64)), False, (8, 16, 16)),
        # One value for each device, as a strategy of TensorFlow's spreads a batch.
        ((SimpleNamespace(values=(tensor(4, 32, 32, 3), tensor(4, 32, 32, 3))),), True, (4, 32, 32)),
        ((tensor(None, 32, 32, 3),), True, (None, 32, 32)),
        ((tensor(None, None, None, 3),), True, (None, None, None)),
        (("text", 3, None), True, (None, None, None)),
        (None, True, (None, None, None)),
    ],
)
def test_sizes(batch, channels_last, expected):
    assert batch_sizes(batch, channels_last=channels_last) == BatchSizes(*expected)


def test_pixels_are_the_side_of_a_square_of_the_same_area():
    assert BatchSizes(1, 224, 224).pixels == 224
    assert BatchSizes(1, 200, 300).pixels == 245
    assert BatchSizes(1).pixels is None


def test_another_batch_size_is_noticed():
    seen = ObservedSizes(channels_last=True)
    assert seen.odd() is None
    for size in (8, 8):
        seen.observe(tensor(size, 32, 32, 3))
        assert seen.odd() is None
    seen.forget_last()
    seen.observe(tensor(4, 32, 32, 3))
    assert seen.odd() == "a batch of 4 instead of 8"
    seen.forget_last()
    assert seen.odd() is None, "nothing was seen"
    assert seen.first.batch_size == 8


def test_what_one_lacks_the_other_tells():
    assert either(BatchSizes(8), BatchSizes(None, 32, 32)) == BatchSizes(8, 32, 32)
    assert either(BatchSizes(8, 16, 16), BatchSizes(4, 32, 32)) == BatchSizes(8, 16, 16)


def test_of_several_batches_in_a_step_the_largest_pictures_count():
    seen = ObservedSizes(channels_last=True)
    for shape in ((8, 100), (16, 32, 32, 3), (4, 8, 8, 3), (2, 32, 32, 3)):
        seen.observe(tensor(*shape))
    assert seen.first == BatchSizes(16, 32, 32)
    assert seen.odd() is None
