"""Energy and emissions of a training, by hand, and the shipped table of regions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.catalog import load_gpus
from profet_core.cost import Region, load_regions, training_energy
from profet_core.errors import InputError


@pytest.fixture(scope="module")
def gpus():
    return load_gpus()


def test_an_hour_on_a_t4_by_hand(catalog, gpus):
    # 70 W of board power and 4 processors of 3.5 W for an hour: 0.084 kWh. In Virginia the data center takes 1.15 times
    # that, at 396.25 g a kilowatt hour: 38.27775 g.
    energy = training_energy(3600, catalog["g4dn.xlarge"], gpus)
    assert energy.power_w == 84
    assert energy.kwh == pytest.approx(0.084)
    assert energy.co2e_kg == pytest.approx(0.03827775)


def test_an_unknown_region_has_no_emissions_and_unknown_hardware_no_energy(catalog, gpus):
    offer = catalog["g5.xlarge"]
    own = training_energy(7200, replace(offer, region="my cellar"), gpus)
    assert (own.kwh, own.co2e_kg) == (pytest.approx(2 * (150 + 14) / 1000), None)
    assert training_energy(3600, replace(offer, gpu="Abacus"), gpus) is None
    assert training_energy(3600, replace(offer, vcpus=None), gpus) is None


def test_every_gpu_of_the_catalog_has_a_power_and_its_home_a_grid(catalog, gpus):
    for offer in catalog.all_offers:
        energy = training_energy(1, offer, gpus)
        assert energy.power_w > 70, offer.name
        # Emissions are known of the regions of AWS and Google; others name theirs alike.
        assert (energy.co2e_kg is not None) == (offer.provider in ("aws", "gcp")), offer.name


def test_a_node_with_all_its_gpus_at_work_takes_all_their_power(catalog, gpus):
    node = catalog["g4dn.12xlarge"]
    board_w = gpus.find(node.gpu, node.gpu_memory_gib).tdp_w
    one, every = (training_energy(1, node, gpus, training).power_w for training in (1, 4))
    assert every == pytest.approx(4 * board_w + 3.5 * node.vcpus)
    assert every - one == pytest.approx(3 * board_w * (1 - 46 / 400))


def test_every_row_has_its_year_and_source_and_a_plausible_figure():
    regions = load_regions()
    assert len(regions) > 60
    for region in regions.values():
        assert region.year == 2023 and "Green Software Foundation" in region.source, region.name
        # Hydropower and nuclear at one end, coal at the other.
        assert 20 < region.grid_g_per_kwh < 800 and 1.05 < region.pue <= 1.5, region.name


def test_figures_as_their_source_has_them():
    virginia, stockholm, iowa = (load_regions()[name] for name in ("us-east-1", "eu-north-1", "us-central1"))
    assert (virginia.grid_g_per_kwh, virginia.pue, virginia.provider) == (396.25, 1.15, "AWS")
    assert (stockholm.grid_g_per_kwh, stockholm.pue) == (24.71, 1.12)
    assert (iowa.grid_g_per_kwh, iowa.pue, iowa.provider) == (501.42, 1.1, "Google Cloud")


def test_an_impossible_figure_is_refused_by_its_name():
    with pytest.raises(InputError, match=r"north: pue must be at least 1, not 0\.9"):
        Region("north", "mine", 30, 0.9, 2023, "made up")
    with pytest.raises(InputError, match="north: grid_g_per_kwh"):
        Region("north", "mine", 0, 1.1, 2023, "made up")
