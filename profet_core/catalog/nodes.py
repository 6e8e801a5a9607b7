"""Filter out multi-GPU nodes if single-GPU machines exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from profet_core.catalog.instance import OWN_PRICE, OWN_PROVIDER, Instance


def without_larger_nodes(offers: Iterable[Instance], keep: Collection[str] = ()) -> list[Instance]:
    """Offers with one GPU, in their order.

    For GPUs only available in nodes, the smallest nodes.

    Custom offers and the instances in `keep` stay, whatever their size.
    """
    every = list(offers)
    least: dict[str, int] = {}
    for offer in every:
        least[offer.gpu] = min(offer.gpu_count, least.get(offer.gpu, offer.gpu_count))
    return [offer for offer in every if offer.gpu_count == least[offer.gpu] or offer.name in keep or is_ones_own(offer)]


def is_ones_own(offer: Instance) -> bool:
    """Whether the machine or its price is custom."""
    return offer.own or offer.provider == OWN_PROVIDER or offer.market == OWN_PRICE
