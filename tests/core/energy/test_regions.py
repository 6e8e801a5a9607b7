"""The shipped table of regions: each figure has its year and source, and lies where such figures lie."""

from __future__ import annotations

import pytest

from profet_core.energy.estimate import Region, load_regions
from profet_core.errors import InputError


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
    with pytest.raises(InputError, match="north: grid_g_per_kwh must be a number above 0"):
        Region("north", "mine", 0, 1.1, 2023, "made up")
