"""Choose what a fleet rents, and plan it: what each machine measures, its time and its cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_collect.expected import Expected
from profet_collect.grid import Grid, cells_of, measurable, quick_cells
from profet_collect.machine import Machine
from profet_collect.run import Protocol
from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpu, load_gpus
from profet_core.catalog.instance import ON_DEMAND, SPOT, Instance
from profet_core.collected.record import Cell, Framework
from profet_core.errors import InputError

MARKETS = (SPOT, ON_DEMAND)
#: Where SkyPilot rents machines and mounts buckets on them: RunPod, Vast and Verda take none.
CLOUDS = ("aws", "azure", "gcp", "lambda", "nebius")
#: Data sheet -> accelerator by SkyPilot's name (its catalog, schema version 8).
_ACCELERATORS = {
    "Tesla M60": "M60",
    "Tesla K80": "K80",
    "Tesla T4": "T4",
    "Tesla V100-SXM2-16GB": "V100",
    "Tesla V100-PCIE-16GB": "V100",
    "Tesla P100-PCIE-16GB": "P100",
    "A10": "A10",
    "A10G": "A10G",
    "L4": "L4",
    "L40S": "L40S",
    "A100-SXM4-40GB": "A100",
    "A100-PCIE-40GB": "A100",
    "A100-SXM4-80GB": "A100-80GB",
    "A100-PCIE-80GB": "A100-80GB",
    "H100-SXM5-80GB": "H100",
    "H100-PCIE-80GB": "H100",
    "H100-NVL-94GB": "H100",
    "H200-SXM-141GB": "H200",
    "B200": "B200",
    "RTX A6000": "A6000",
}
#: SkyPilot's catalog has them on other clouds alone.
_NOT_THERE = {("aws", "Tesla M60"), ("aws", "Tesla K80")}
#: Assumed for an unknown machine: boot with drivers and installation, and a framework's start.
SETUP_S = 600.0
_START_S: Mapping[Framework, float] = {"pytorch": 8.0, "tensorflow": 14.0}


def accelerator_of(offer: Instance) -> str | None:
    """The offer's GPU by SkyPilot's name; None: SkyPilot doesn't rent the machine, or it has several GPUs."""
    there = offer.provider in CLOUDS and (offer.provider, offer.gpu) not in _NOT_THERE and offer.gpu_count == 1
    return _ACCELERATORS.get(offer.gpu) if there else None


def instance_type(offer: Instance) -> str:
    """The machine by SkyPilot's name; said, so that one that takes over from a preempted one is the same kind."""
    # Google's N1 machines take their GPUs beside them.
    return offer.name.removeprefix(f"{offer.provider}/").partition("+")[0]


def cheapest_of(catalog: Catalog, gpus: Sequence[str], market: str, providers: Sequence[str] = ()) -> list[Instance]:
    """For each GPU type the cheapest machine with one such GPU that SkyPilot rents.

    Parameters
    ----------
    gpus : names or models, such as "V100". providers : only these clouds.

    Raises
    ------
    InputError : an unknown GPU or cloud, or a GPU that no cloud offers so.
    """
    for name in providers:
        if name not in CLOUDS:
            raise InputError(f"Unknown cloud {name[:60]!a}: choose from {', '.join(CLOUDS)}.")
    found = [_cheapest(catalog, name, market, providers or CLOUDS) for name in gpus]
    return list({one.name: one for one in found}.values())


def _cheapest(catalog: Catalog, name: str, market: str, providers: Sequence[str]) -> Instance:
    meant = {gpu.name for gpu in load_gpus().meant(name)}
    if not meant:
        known = sorted({offer.gpu_model for offer in catalog.values() if accelerator_of(offer)})
        raise InputError(f"Unknown GPU {name[:60]!a}: choose from {', '.join(known)}.")
    names = [one for one in catalog if catalog[one].gpu in meant]
    offers = _rentable(catalog, names, market, providers)
    if not offers:
        where = " with bucket support" if providers == CLOUDS else f" on {' or '.join(providers)}"
        others = _rentable(catalog, names, _other(market), providers)
        more = f": use --market {_other(market)}" if others else ""
        raise InputError(f"No cloud{where} offers a machine with one {name} as {market}{more}.")
    return min(offers, key=lambda one: (one.usd_per_hour, one.name))


def named(catalog: Catalog, instances: Sequence[str], market: str) -> list[Instance]:
    """The instances of these names, in the market.

    Raises
    ------
    InputError : one that is unknown, retired, not in the market, or not SkyPilot's to rent.
    """
    found = []
    for name in dict.fromkeys(instances):
        if name not in catalog:
            raise InputError(f"Unknown instance {name!a}: `profet instances --all` lists them.")
        usual = catalog[name]
        if accelerator_of(usual) is None:
            why = f"it has {usual.gpu_count} GPUs" if usual.gpu_count != 1 else "SkyPilot has no such machine"
            raise InputError(f"{name} can't be used with SkyPilot: {why}.")
        if usual.status != "available":
            raise InputError(f"{name} is {usual.status}: name another instance, or its GPU with --gpu.")
        offers = _rentable(catalog, [name], market)
        if not offers:
            raise InputError(f"{name} has no {market} price: use --market {_other(market)}.")
        found.append(offers[0])
    return found


def _rentable(catalog: Catalog, names: Sequence[str], market: str, providers: Sequence[str] = CLOUDS) -> list[Instance]:
    """The first, which is the usual, offer of each in the market; not those of a price of the user's."""
    found: dict[str, Instance] = {}
    for name in names:
        for offer in catalog.offers(name):
            there = offer.market == market and offer.provider in providers and offer.status == "available"
            if there and not offer.own and accelerator_of(offer):
                found.setdefault(name, offer)
    return list(found.values())


def _other(market: str) -> str:
    return ON_DEMAND if market == SPOT else SPOT


@dataclass(frozen=True, slots=True)
class CloudTask:
    """One machine's.

    Attributes
    ----------
    offer : in the market that is asked for. usd_per_hour : market -> price, of those there are.
    seconds : its start, installing and all cells.
    """

    offer: Instance
    gpu: Gpu
    usd_per_hour: Mapping[str, float]
    cells: tuple[Cell, ...]
    seconds: float

    @property
    def name(self) -> str:
        """Of its file and job, and of the collection's folder."""
        return task_name(self.offer.name)

    def usd(self, market: str) -> float | None:
        """Cost in a market; None without a price."""
        price = self.usd_per_hour.get(market)
        return None if price is None else price * self.seconds / 3600


def cloud_tasks(
    catalog: Catalog, fleet: Sequence[Instance], grid: Grid, protocol: Protocol, *, is_quick: bool
) -> list[CloudTask]:
    """A task a machine.

    Raises
    ------
    InputError : no cell of the grid can be measured on one of them.
    """
    tasks = []
    start_s = {name: _START_S[name] for name in grid.frameworks}
    for offer in fleet:
        gpu = load_gpus().find(offer.gpu, offer.gpu_memory_gib)
        machine = Machine("gpu", gpu.name, gpu.compute_capability, "", None, {}, start_s)
        expected = Expected(machine, protocol.warm_up + protocol.timed, protocol.timeout_s, gpu)
        found = quick_cells(grid, expected.seconds) if is_quick else cells_of(grid)
        cells = tuple(measurable(found, gpu.compute_capability))
        if not cells:
            why = "TF32 needs compute capability 8" if found else "no cell of --quick takes less than two minutes"
            raise InputError(f"No cells remain for {offer.name}: {why}.")
        prices = {one: offers[0].usd_per_hour for one in MARKETS if (offers := _rentable(catalog, [offer.name], one))}
        tasks.append(CloudTask(offer, gpu, prices, cells, SETUP_S + sum(map(expected.seconds, cells))))
    return tasks


def task_name(instance: str) -> str:
    """An instance's name as clouds allow a job to be called.

    >>> task_name("gcp/n1-standard-4+1xT4")
    'profet-gcp-n1-standard-4-1xt4'
    """
    return "profet-" + re.sub(r"[^a-z0-9]+", "-", instance.lower()).strip("-")
