"""Time and money of a step, an epoch and a training, by hand and by property."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profet_core import InputError, check_profiled_batch, cost_table
from profet_core.cost import VALIDATION_STEP_SHARE, cost_usd, steps_per_epoch


def one_row(catalog, latency_ms: float, name: str = "g3s.xlarge", **arguments):
    return cost_table({name: latency_ms}, catalog, **{"images": 50_000, "batch_size": 16, **arguments}).rows[0]


def test_sample_a_of_the_original_costs_two_and_a_half_cents_per_1000_steps(catalog):
    row = one_row(catalog, 122.4)
    assert row.step_usd == pytest.approx(0.0000255, rel=1e-12)
    assert row.cost_per_1000_steps_usd == pytest.approx(0.0255, rel=1e-12)
    assert row.images_per_s == pytest.approx(16 / 0.1224)


def test_an_epoch_is_steps_times_latency(catalog):
    row = one_row(catalog, 100, "p3.2xlarge", images=64_000, batch_size=64, epochs=9)
    assert row.epoch_s == pytest.approx(100)  # 1,000 steps of 0.1 s
    assert row.epoch_usd == pytest.approx(0.085)  # 3.06 / 36
    assert row.total_s == pytest.approx(900)
    assert row.total_usd == pytest.approx(0.765)  # a quarter of an hour


@pytest.mark.parametrize(
    ("images", "batch_size", "steps"),
    [(64, 64, 1), (65, 64, 2), (50_000, 64, 782), (1, 256, 1), (10**15, 1, 10**15), (10**15, 3, 333_333_333_333_334)],
)
def test_the_last_smaller_batch_is_a_step(images, batch_size, steps):
    assert steps_per_epoch(images, batch_size) == steps


def test_validation_steps_count_a_third(catalog):
    # 10 training steps and 4 validation steps (the last partial) of 90 ms: (10 + 4 / 3) * 90 ms.
    row = one_row(catalog, 90, images=640, batch_size=64, validation_images=193)
    assert VALIDATION_STEP_SHARE == 1 / 3
    assert row.epoch_s == pytest.approx(1.02)


def test_speed_up_refers_to_the_anchor(catalog):
    table = cost_table(
        {"g3s.xlarge": 120, "p3.2xlarge": 40, "p2.xlarge": 240}, catalog, images=1, batch_size=1, anchor="g3s.xlarge"
    )
    assert [row.speedup for row in table.rows] == [1.0, 3.0, 0.5]


@pytest.mark.parametrize("anchor", [None, "p2.xlarge"])
def test_without_the_anchors_latency_there_is_no_speed_up(catalog, anchor):
    table = cost_table({"g3s.xlarge": 120}, catalog, images=1, batch_size=1, anchor=anchor)
    assert table.rows[0].speedup is None


def test_an_own_price_replaces_the_catalogues_and_nothing_else(catalog):
    own = catalog.with_prices({"g3s.xlarge": 3.6})
    row = one_row(own, 1000, images=16, batch_size=16)
    assert row.usd_per_hour == 3.6
    assert row.step_usd == pytest.approx(0.001)
    assert row.status == "retired"
    assert one_row(catalog, 1000).usd_per_hour == 0.75


def test_a_retired_instance_is_marked_so(catalog):
    table = cost_table({"p2.xlarge": 1, "g4dn.xlarge": 1}, catalog, images=1, batch_size=1)
    assert [(row.instance, row.status) for row in table.rows] == [
        ("p2.xlarge", "retired"),
        ("g4dn.xlarge", "available"),
    ]


def test_the_table_says_what_it_was_made_from(catalog):
    table = cost_table({"p2.xlarge": 1}, catalog, images=100, validation_images=7, batch_size=8.0, epochs=3)
    assert (table.images, table.validation_images, table.batch_size, table.epochs) == (100, 7, 8, 3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"images": 0}, "The number of images must be a whole number"),
        ({"images": 1.5}, "The number of images must be a whole number"),
        ({"images": 10**400}, "The number of images must be at most"),
        ({"batch_size": 0}, "The batch size must be a whole number"),
        ({"batch_size": True}, "The batch size must be a whole number"),
        ({"epochs": 0}, "The number of epochs must be a whole number"),
        ({"epochs": -1}, "The number of epochs must be a whole number"),
        ({"validation_images": -1}, "The number of images must be a whole number"),
        ({"latency_ms": 0}, r"The latency of g3s\.xlarge must be a number above 0"),
        ({"latency_ms": math.nan}, r"The latency of g3s\.xlarge must be a number above 0"),
        ({"latency_ms": 1e300}, r"The latency of g3s\.xlarge can't be"),
        ({"name": "g9.xlarge"}, r"Unknown instance 'g9\.xlarge': choose one of"),
    ],
)
def test_what_makes_no_cost_is_refused_in_one_line(catalog, arguments, says):
    with pytest.raises(InputError, match=f"^{says}") as caught:
        one_row(catalog, **{"latency_ms": 1.0, **arguments})
    assert str(caught.value).isprintable()


def test_the_batch_size_is_the_recorded_one():
    assert check_profiled_batch(64, None) == 64
    assert check_profiled_batch(None, 64) == 64
    assert check_profiled_batch(64, 64) == 64


def test_another_batch_size_than_the_recorded_one_is_refused():
    with pytest.raises(
        InputError, match=r"^The profile was recorded at batch size 64, not 128: for another batch size"
    ):
        check_profiled_batch(128, 64)


def test_a_batch_size_nobody_knows_is_asked_for():
    with pytest.raises(InputError, match="give the batch size it was recorded at"):
        check_profiled_batch(None, None)


@pytest.mark.parametrize("batch", [0, -16, 1.5, True])
def test_a_batch_size_that_is_none_is_refused(batch):
    with pytest.raises(InputError, match=r"^The profiled batch size must be a whole number"):
        check_profiled_batch(batch, None)


latencies = st.floats(1e-3, 1e6)
counts = st.integers(1, 10**7)
batches = st.integers(1, 4096)


@given(latencies, st.floats(0.01, 100), st.floats(1.01, 50), counts, batches)
def test_cost_grows_in_proportion_to_the_price(catalog, latency_ms, price, factor, images, batch):
    cheap, dear = (
        one_row(catalog.with_prices({"g3s.xlarge": usd}), latency_ms, images=images, batch_size=batch)
        for usd in (price, price * factor)
    )
    for field in ("step_usd", "cost_per_1000_steps_usd", "epoch_usd", "total_usd"):
        assert getattr(dear, field) == pytest.approx(getattr(cheap, field) * factor)
    assert dear.epoch_s == cheap.epoch_s


@given(latencies, counts, st.integers(0, 10**6), batches, st.integers(1, 10**4))
def test_a_training_is_its_epochs(catalog, latency_ms, images, validation, batch, epochs):
    row = one_row(catalog, latency_ms, images=images, validation_images=validation, batch_size=batch, epochs=epochs)
    assert row.total_s == pytest.approx(epochs * row.epoch_s)
    assert row.total_usd == pytest.approx(epochs * row.epoch_usd)
    assert row.epoch_usd == pytest.approx(row.epoch_s / 3600 * 0.75)


@given(latencies, counts, st.integers(0, 10**6), batches)
def test_an_epoch_takes_at_least_its_training_steps(catalog, latency_ms, images, validation, batch):
    row = one_row(catalog, latency_ms, images=images, validation_images=validation, batch_size=batch)
    steps_s = math.ceil(images / batch) * latency_ms / 1000
    assert row.epoch_s >= steps_s * (1 - 1e-12)
    assert validation or row.epoch_s == pytest.approx(steps_s)


@given(latencies, batches)
def test_images_per_second_times_latency_is_the_batch(catalog, latency_ms, batch):
    row = one_row(catalog, latency_ms, batch_size=batch)
    assert row.images_per_s * latency_ms / 1000 == pytest.approx(batch)


@given(
    st.dictionaries(st.sampled_from(["g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge"]), latencies, min_size=1)
)
def test_every_instance_has_one_row_in_the_order_given(catalog, latencies_ms):
    table = cost_table(latencies_ms, catalog, images=10, batch_size=2)
    assert [(row.instance, row.latency_ms) for row in table.rows] == list(latencies_ms.items())


@pytest.mark.parametrize(
    ("duration_ms", "usd_per_hour", "usd"),
    [
        (3_600_000, 0.75, 0.75),  # an hour
        (122.4, 0.75, 0.0000255),  # one step of the original's sample A on g3s.xlarge
        (122_400, 0.75, 0.0255),  # 1,000 of them; the original's demo said $25.5
        (0, 3.06, 0),
    ],
)
def test_cost_is_time_times_hourly_price(duration_ms, usd_per_hour, usd):
    assert cost_usd(duration_ms, usd_per_hour) == pytest.approx(usd, rel=1e-12)
