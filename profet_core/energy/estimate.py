"""Upper bounds of energy and emissions of a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from profet_core.catalog.gpus import Gpus
from profet_core.catalog.instance import OWN_PROVIDER, Instance
from profet_core.catalog.tables import cells_of, check_numbers, read_records
from profet_core.errors import CatalogError, InputError
from profet_core.units import S_PER_HOUR


@dataclass(frozen=True, slots=True)
class Region:
    """One region of a cloud.

    Attributes
    ----------
    grid_g_per_kwh : grams of CO2 equivalent per kWh of the grid, mean of `year`, location-based. Compensation that a
        provider buys elsewhere is not counted.
    pue : power usage effectiveness, the data center's energy over its machines'; at least 1.
    source : source of both figures.
    """

    name: str
    provider: str
    grid_g_per_kwh: float
    pue: float
    year: int
    source: str

    def __post_init__(self) -> None:
        check_numbers(self, self.name)
        if self.pue < 1:
            raise InputError(f"{self.name}: pue must be at least 1, not {self.pue:g}.")
        if not self.source:
            raise InputError(f"{self.name}: source is empty: give the source of the figures.")


@cache
def load_regions() -> Mapping[str, Region]:
    """Load the shipped regions by name.

    Raises
    ------
    CatalogError : one line that names the invalid row and column.
    """
    text = resources.files("profet_core.energy").joinpath("regions.csv").read_text(encoding="utf-8")
    required = ("provider", "grid_g_per_kwh", "pue", "year", "source")
    rows = read_records(
        text,
        "The region table",
        key="region",
        required=required,
        make=lambda row: Region(name=row["region"], **cells_of(Region, row, "region")),
    )
    found = {region.name: region for region in rows}
    if len(found) != len(rows):
        raise CatalogError("The region table lists a region twice: keep one row.")
    return MappingProxyType(found)


W_PER_KW = 1_000.0

#: Power of a vCPU at full load: Cloud Carbon Footprint's mean of AWS CPUs at 100%.
W_PER_VCPU = 3.5
#: Idle power of a GPU as a share of board power: Cloud Carbon Footprint gives 46 W for an A100 of 400 W.
IDLE_SHARE = 46 / 400

#: Provider of a region -> its name in the catalog.
_PROVIDERS = {"AWS": "aws", "Google Cloud": "gcp"}


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy and emissions of a training.

    Attributes
    ----------
    power_w : of the machine: board power of the GPUs that train, idle power of its other GPUs, all vCPUs at full load;
        without memory, disks and network.
    kwh : at the machine.
    co2e_kg : with the data center's overhead and the region's grid; None if the region is unknown.
    """

    power_w: float
    kwh: float
    co2e_kg: float | None


def machine_power_w(offer: Instance, gpus: Gpus, training: int = 1) -> float | None:
    """Power of the machine in watts while `training` of its GPUs train.

    None if a GPU or the vCPUs are unknown.

    Board power is an upper bound: a training draws less.
    """
    try:
        board_w = gpus.find(offer.gpu, offer.gpu_memory_gib).tdp_w
    except InputError:
        return None
    if offer.vcpus is None:
        return None
    return board_w * (training + IDLE_SHARE * (offer.gpu_count - training)) + W_PER_VCPU * offer.vcpus


def training_energy(
    total_s: float, offer: Instance, gpus: Gpus, regions: Mapping[str, Region], training: int = 1
) -> Energy | None:
    """Energy of `total_s` seconds on an offer with `training` of its GPUs in use; None if its power is unknown."""
    power_w = machine_power_w(offer, gpus, training)
    if power_w is None:
        return None
    kwh = power_w / W_PER_KW * total_s / S_PER_HOUR
    region = _grid(offer, regions)
    return Energy(power_w, kwh, None if region is None else kwh * region.pue * region.grid_g_per_kwh / 1_000)


def _grid(offer: Instance, regions: Mapping[str, Region]) -> Region | None:
    """The offer's region; clouds share names for different places, and a custom machine may be in any."""
    region = regions.get(offer.region)
    known = region is not None and offer.provider in (_PROVIDERS[region.provider], OWN_PROVIDER)
    return region if known else None
