"""Upper bounds of a training's energy and emissions, from its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profet_core.catalog.gpus import Gpus
from profet_core.catalog.instance import OWN_PROVIDER, Instance
from profet_core.energy.regions import Region
from profet_core.errors import InputError
from profet_core.units import S_PER_HOUR

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
    return Energy(power_w, kwh, _co2e_kg(kwh, _grid(offer, regions)))


def _grid(offer: Instance, regions: Mapping[str, Region]) -> Region | None:
    """The offer's region; clouds share names for different places, and a custom machine may be in any."""
    region = regions.get(offer.region)
    known = region is not None and offer.provider in (_PROVIDERS[region.provider], OWN_PROVIDER)
    return region if known else None


def _co2e_kg(kwh: float, region: Region | None) -> float | None:
    return None if region is None else kwh * region.pue * region.grid_g_per_kwh / 1_000
