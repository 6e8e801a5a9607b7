"""Chooses what a fleet rents: of each GPU type the cheapest machine with one, or the machines that are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profet_collect.cloud.skypilot import CLOUDS, SkyMachine, sky_machine
from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpu, load_gpus
from profet_core.catalog.instance import ON_DEMAND, SPOT, Instance
from profet_core.errors import InputError

MARKETS = (SPOT, ON_DEMAND)


@dataclass(frozen=True, slots=True)
class Rented:
    """A machine to rent.

    Attributes
    ----------
    offer : in the market that is asked for. usd_per_hour : market -> price, of those there are.
    """

    offer: Instance
    gpu: Gpu
    machine: SkyMachine
    usd_per_hour: dict[str, float]


def cheapest_of(catalog: Catalog, gpus: Sequence[str], market: str, providers: Sequence[str] = ()) -> list[Rented]:
    """For each GPU type the cheapest machine with one such GPU that SkyPilot rents.

    Parameters
    ----------
    gpus : names or models, such as "V100". providers : only these clouds.

    Raises
    ------
    InputError : an unknown GPU or cloud, or a GPU that no cloud offers so.
    """
    _check_providers(providers)
    found = [_cheapest(catalog, name, market, providers) for name in gpus]
    return list({one.offer.name: one for one in found}.values())


def named(catalog: Catalog, instances: Sequence[str], market: str) -> list[Rented]:
    """The instances of these names.

    Raises
    ------
    InputError : one that is unknown, retired, not in the market, or not SkyPilot's to rent.
    """
    found = []
    for name in dict.fromkeys(instances):
        if name not in catalog:
            raise InputError(f"Unknown instance {name!a}: `profet instances --all` lists them.")
        usual = catalog[name]
        if sky_machine(usual) is None:
            why = f"it has {usual.gpu_count} GPUs" if usual.gpu_count != 1 else "SkyPilot has no such machine"
            raise InputError(f"{name} can't be used with SkyPilot: {why}.")
        if usual.status != "available":
            raise InputError(f"{name} is {usual.status}: name another instance, or its GPU with --gpu.")
        offers = _rentable(catalog, [name], market)
        if not offers:
            raise InputError(f"{name} has no {market} price: use --market {_other(market)}.")
        found.append(_rented(catalog, offers[0]))
    return found


def _cheapest(catalog: Catalog, name: str, market: str, providers: Sequence[str]) -> Rented:
    meant = {gpu.name for gpu in load_gpus().meant(name)}
    names = [one for one in catalog if catalog[one].gpu in meant]
    if not meant:
        known = sorted({offer.gpu_model for offer in catalog.values() if sky_machine(offer)})
        raise InputError(f"Unknown GPU {name[:60]!a}: choose from {', '.join(known)}.")
    offers = [one for one in _rentable(catalog, names, market) if not providers or one.provider in providers]
    if not offers:
        where = f" on {' or '.join(providers)}" if providers else ""
        others = [
            one for one in _rentable(catalog, names, _other(market)) if not providers or one.provider in providers
        ]
        more = f": use --market {_other(market)}" if others else ""
        raise InputError(
            f"No cloud{where or ' with bucket support'} offers a machine with one {name} as {market}{more}."
        )
    return _rented(catalog, min(offers, key=lambda one: (one.usd_per_hour, one.name)))


def _rentable(catalog: Catalog, names: Sequence[str], market: str, providers: Sequence[str] = CLOUDS) -> list[Instance]:
    """The first, which is the usual, offer of each in the market; not those of a price of the user's."""
    found: dict[str, Instance] = {}
    for name in names:
        for offer in catalog.offers(name):
            there = offer.market == market and offer.provider in (providers or CLOUDS)
            if there and offer.status == "available" and not offer.own and sky_machine(offer):
                found.setdefault(name, offer)
    return list(found.values())


def _rented(catalog: Catalog, offer: Instance) -> Rented:
    machine = sky_machine(offer)
    assert machine is not None
    prices = {one: _rentable(catalog, [offer.name], one) for one in MARKETS}
    gpu = load_gpus().find(offer.gpu, offer.gpu_memory_gib)
    return Rented(offer, gpu, machine, {one: found[0].usd_per_hour for one, found in prices.items() if found})


def _check_providers(providers: Sequence[str]) -> None:
    for name in providers:
        if name not in CLOUDS:
            raise InputError(f"Unknown cloud {name[:60]!a}: choose from {', '.join(CLOUDS)}.")


def _other(market: str) -> str:
    return ON_DEMAND if market == SPOT else SPOT
