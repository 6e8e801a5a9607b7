"""Time, money and energy of a step, an epoch and a training, by hand and by property."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from profet_core import InputError, cost_table
from profet_core.catalog import load_gpus
from profet_core.offers import cost_usd
from profet_core.training.cost import (
    VALIDATION_STEP_SHARE,
    Region,
    Workload,
    load_regions,
    steps_per_epoch,
    training_energy,
)


def one_row(catalog, latency_ms: float, name: str = "g3s.xlarge", **arguments):
    return cost_table({name: latency_ms}, catalog, **{"images": 50_000, "batch_size": 16, **arguments})[0]


def test_steps_epochs_and_costs_by_hand(catalog):
    row = one_row(catalog, 100, "p3.2xlarge", images=64_000, batch_size=64, epochs=9)
    assert row.epoch_s == pytest.approx(100)  # 1,000 steps of 0.1 s
    assert row.epoch_usd == pytest.approx(0.085)  # 3.06 / 36
    assert row.total_s == pytest.approx(900)
    assert row.total_usd == pytest.approx(0.765)  # a quarter of an hour
    assert (cost_usd(3_600_000, 0.75), cost_usd(0, 3.06)) == (0.75, 0)
    # Sample A of the original on g3s.xlarge, whose demo said $25.5 for 1,000 steps.
    row = one_row(catalog, 122.4)
    assert row.cost_per_1000_steps_usd == cost_usd(122_400, 0.75) == pytest.approx(0.0255, rel=1e-12)
    assert row.images_per_s == pytest.approx(16 / 0.1224)
    by_hand = {(64, 64): 1, (65, 64): 2, (1, 256): 1, (10**15, 1): 10**15, (10**15, 3): 333_333_333_333_334}
    assert {given: steps_per_epoch(*given) for given in by_hand} == by_hand
    # 10 training steps and 4 validation steps (the last partial) of 90 ms: (10 + 4 / 3) * 90 ms.
    row = one_row(catalog, 90, images=640, batch_size=64, validation_images=193)
    assert VALIDATION_STEP_SHARE == 1 / 3
    assert row.epoch_s == pytest.approx(1.02)


def test_speed_up_refers_to_the_anchor(catalog):
    table = cost_table(
        {"g3s.xlarge": 120, "p3.2xlarge": 40, "p2.xlarge": 240}, catalog, images=1, batch_size=1, anchor="g3s.xlarge"
    )
    assert [row.speedup for row in table] == [1.0, 3.0, 0.5]
    assert [row.offer.status for row in table] == ["retired"] * 3
    # Without the anchor's latency there is none. The table says what it was made from.
    for anchor in (None, "p2.xlarge"):
        table = cost_table(
            {"g4dn.xlarge": 120}, catalog, images=9, validation_images=7, batch_size=8.0, epochs=3, anchor=anchor
        )
        assert [(row.speedup, row.offer.status) for row in table] == [(None, "available")]
        assert table.workload == Workload(9, 8, 3, 7)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"images": 0}, "The number of images must be a whole number"),
        ({"images": 1.5}, "The number of images must be a whole number"),
        ({"batch_size": 0}, "The batch size must be a whole number"),
        ({"epochs": 0}, "The number of epochs must be a whole number"),
        ({"validation_images": -1}, "The number of images must be a whole number"),
        ({"latency_ms": 0}, r"The latency of g3s\.xlarge must be a number above 0"),
        ({"name": "g9.xlarge"}, r"Unknown instance 'g9\.xlarge': choose one of"),
    ],
)
def test_what_makes_no_cost_is_refused_in_one_line(catalog, arguments, says):
    with pytest.raises(InputError, match=f"^{says}") as caught:
        one_row(catalog, **{"latency_ms": 1.0, **arguments})
    assert str(caught.value).isprintable()


latencies = st.floats(1e-3, 1e6)
counts = st.integers(1, 10**7)
batches = st.integers(1, 4096)


@given(latencies, counts, st.integers(0, 10**6), batches, st.integers(1, 10**4))
def test_a_training_is_its_epochs_and_costs_in_proportion_to_the_price(
    catalog, latency_ms, images, validation, batch, epochs
):
    row = one_row(catalog, latency_ms, images=images, validation_images=validation, batch_size=batch, epochs=epochs)
    assert row.total_s == pytest.approx(epochs * row.epoch_s)
    assert row.total_usd == pytest.approx(epochs * row.epoch_usd)
    assert row.epoch_usd == pytest.approx(row.epoch_s / 3600 * 0.75)
    steps_s = math.ceil(images / batch) * latency_ms / 1000
    assert row.epoch_s >= steps_s * (1 - 1e-12) and (validation or row.epoch_s == pytest.approx(steps_s))
    assert row.images_per_s * latency_ms / 1000 == pytest.approx(batch)


@pytest.fixture(scope="module")
def gpus():
    return load_gpus()


def test_energy_and_emissions_by_hand(catalog, gpus):
    # 70 W of board power and 4 processors of 3.5 W for an hour: 0.084 kWh. In Virginia the data center takes 1.15 times
    # that, at 396.25 g a kilowatt hour: 38.27775 g.
    energy = training_energy(3600, catalog["g4dn.xlarge"], gpus)
    assert energy.power_w == 84
    assert energy.kwh == pytest.approx(0.084)
    assert energy.co2e_kg == pytest.approx(0.03827775)
    offer = catalog["g5.xlarge"]
    own = training_energy(7200, replace(offer, region="my cellar"), gpus)
    assert (own.kwh, own.co2e_kg) == (pytest.approx(2 * (300 + 14) / 1000), None)
    assert training_energy(3600, replace(offer, gpu="Abacus"), gpus) is None
    assert training_energy(3600, replace(offer, vcpus=None), gpus) is None
    node = catalog["g4dn.12xlarge"]
    board_w = gpus.find(node.gpu, node.gpu_memory_gib).tdp_w
    one, every = (training_energy(1, node, gpus, training).power_w for training in (1, 4))
    assert every == pytest.approx(4 * board_w + 3.5 * node.vcpus)
    assert every - one == pytest.approx(3 * board_w * (1 - 46 / 400))


def test_every_gpu_of_the_catalog_has_a_power_and_its_home_a_grid(catalog, gpus):
    for offer in catalog.all_offers:
        energy = training_energy(1, offer, gpus)
        # Its host's power is unknown.
        if offer.vcpus is None:
            assert energy is None and offer.provider in ("coreweave", "crusoe")
            continue
        assert energy.power_w > 70, offer.name
        # Emissions are known of the regions of AWS and Google; others name theirs alike.
        assert (energy.co2e_kg is not None) == (offer.provider in ("aws", "gcp")), offer.name


def test_regions_have_the_figures_of_their_source_and_no_impossible_ones():
    regions = load_regions()
    assert len(regions) > 60
    for region in regions.values():
        assert region.year == 2023 and "Green Software Foundation" in region.source, region.name
        # Hydropower and nuclear at one end, coal at the other.
        assert 20 < region.grid_g_per_kwh < 800 and 1.05 < region.pue <= 1.5, region.name
    virginia, stockholm, iowa = (load_regions()[name] for name in ("us-east-1", "eu-north-1", "us-central1"))
    assert (virginia.grid_g_per_kwh, virginia.pue, virginia.provider) == (396.25, 1.15, "AWS")
    assert (stockholm.grid_g_per_kwh, stockholm.pue) == (24.71, 1.12)
    assert (iowa.grid_g_per_kwh, iowa.pue, iowa.provider) == (501.42, 1.1, "Google Cloud")
    with pytest.raises(InputError, match=r"north: pue must be at least 1, not 0\.9"):
        Region("north", "mine", 30, 0.9, 2023, "made up")
    with pytest.raises(InputError, match="north: grid_g_per_kwh"):
        Region("north", "mine", 0, 1.1, 2023, "made up")
