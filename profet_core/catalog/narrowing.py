"""Filter offers by cloud, region, market, GPU, memory and number of GPUs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpus, load_gpus
from profet_core.catalog.instance import MARKETS, OWN_HARDWARE, Instance
from profet_core.catalog.offers import ANY_MARKET, NoOffersError
from profet_core.errors import InputError
from profet_core.units import positive_number, whole_number

#: Confidence levels, ascending.
SURENESS_WORDS = ("rough", "fair", "good")
_FIELD_WORDS = {"provider": "cloud", "region": "region", "market": "market", "gpu": "GPU"}
#: Number of values in an error message: those similar to the input, or all.
_MOST_CLOSE, _MOST_SHOWN = 3, 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Filter of offers; fields that are None or empty don't filter.

    Attributes
    ----------
    provider : clouds, such as "aws", in any case; "own" for custom hardware.
    region : a whole region, or part of one such as "US" in "Texas, US, NA".
    market : one of `offers.MARKET_CHOICES`; custom hardware belongs to each.
    gpu : GPUs by name or model, such as "V100" or "A100 80GB".
    gpu_count : numbers of GPUs of a whole offer.
    min_memory_gib : minimum for one GPU.
    sureness : "rough", "fair" or "good": minimum confidence; it filters predictions, not offers.
    """

    provider: tuple[str, ...] = ()
    region: str | None = None
    market: str | None = None
    gpu: tuple[str, ...] = ()
    gpu_count: tuple[int, ...] = ()
    min_memory_gib: float | None = None
    sureness: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "provider", tuple(name.strip().lower() for name in self.provider))
        for count in self.gpu_count:
            whole_number("The number of GPUs", count)
        if self.min_memory_gib is not None:
            positive_number("The GPU memory", self.min_memory_gib)
        if self.market not in (None, ANY_MARKET, *MARKETS):
            raise InputError(f"Unknown market {self.market!r}: choose one of {', '.join((*MARKETS, ANY_MARKET))}.")
        if self.sureness not in (None, *SURENESS_WORDS):
            raise InputError(f"Unknown confidence {self.sureness!r}: choose one of {', '.join(SURENESS_WORDS)}.")

    @property
    def least_sureness(self) -> int:
        """Minimum confidence level of a number, 1 to 3, as in `advice.sureness.Sureness`."""
        return 1 if self.sureness is None else 1 + SURENESS_WORDS.index(self.sureness)

    @property
    def of_offers(self) -> bool:
        """Whether it filters offers at all."""
        return bool(self.given - {"sureness"})

    @property
    def is_narrow(self) -> bool:
        """Whether few offers remain, so that each can be listed: a market has hundreds."""
        return bool(self.given - {"market", "sureness"})

    @property
    def given(self) -> frozenset[str]:
        """Names of the fields that filter."""
        return frozenset(field.name for field in fields(self) if getattr(self, field.name) not in (None, ()))

    def conditions(self, gpus: Gpus) -> dict[str, Callable[[Instance], bool]]:
        """Field that filters offers -> its condition on an offer."""
        names = {gpu.name for text in self.gpu for gpu in gpus.meant(text)}
        texts = {text.strip().lower() for text in self.gpu if not gpus.named(text)}
        every: dict[str, Callable[[Instance], bool]] = {
            "provider": lambda offer: offer.provider in self.provider,
            "region": lambda offer: offer.market == OWN_HARDWARE or self._region_has(offer),
            "market": lambda offer: offer.market == OWN_HARDWARE or self._market_has(offer),
            "gpu": lambda offer: offer.gpu in names or bool({offer.gpu.lower(), offer.gpu_model.lower()} & texts),
            "gpu_count": lambda offer: offer.gpu_count in self.gpu_count,
            "min_memory_gib": lambda offer: offer.gpu_memory_gib >= (self.min_memory_gib or 0),
        }
        return {name: asks for name, asks in every.items() if name in self.given}

    def places(self) -> dict[str, Callable[[Instance], bool]]:
        """Like `conditions`, for fields that custom hardware always passes, without that exception."""
        every = {"region": self._region_has, "market": self._market_has}
        return {name: asks for name, asks in every.items() if name in self.given}

    def _region_has(self, offer: Instance) -> bool:
        return is_in_region(offer, self.region or "")

    def _market_has(self, offer: Instance) -> bool:
        return self.market in (ANY_MARKET, offer.market)


def narrowed(offers: Iterable[Instance], narrowing: Narrowing, gpus: Gpus | None = None) -> list[Instance]:
    """Offers that pass the filter, in their order.

    Raises
    ------
    NoOffersError : no offer passes, or the region or market has none; one line says what to widen.
    """
    conditions = narrowing.conditions(gpus or load_gpus())
    every = list(offers)
    found = [offer for offer in every if all(asks(offer) for asks in conditions.values())]
    unknown = {name: asks for name, asks in narrowing.places().items() if not any(map(asks, every))}
    if every and (unknown or not found):
        raise NoOffersError(_what_to_widen(every, narrowing, conditions | unknown))
    return found


def narrowed_catalog(
    catalog: Catalog, narrowing: Narrowing, gpus: Gpus | None = None
) -> tuple[Catalog, frozenset[str]]:
    """Catalog in which the matching instances only have their matching offers, and the names of these instances.

    The default price of such an instance comes from its matching offers. Other instances stay unchanged because
    predictions depend on them.

    Raises
    ------
    NoOffersError : as `narrowed`.
    """
    if not narrowing.of_offers:
        return catalog, frozenset(catalog)
    wanted = narrowed(catalog.all_offers, narrowing, gpus)
    names = frozenset(offer.name for offer in wanted)
    others = (offer for offer in catalog.all_offers if offer.name not in names)
    place = {name: number for number, name in enumerate(catalog)}
    rows = sorted((*wanted, *others), key=lambda offer: place[offer.name])
    return Catalog(rows), names


def is_in_region(offer: Instance, region: str) -> bool:
    """Whether an offer is in a region, given whole or by a part such as "US" in "Texas, US, NA"."""
    wanted, whole = region.strip().lower(), offer.region.lower()
    return wanted == whole or wanted in whole.split(", ")


def _what_to_widen(
    offers: Sequence[Instance], narrowing: Narrowing, conditions: Mapping[str, Callable[[Instance], bool]]
) -> str:
    for name, asks in conditions.items():
        if not any(map(asks, offers)):
            return f"No offer has {_words(name, narrowing)}: {_what_there_is(name, narrowing, offers)}."
    asked = ", ".join(_words(name, narrowing) for name in conditions)
    ways = []
    for name in conditions:
        others = [asks for other, asks in conditions.items() if other != name]
        left = sum(all(asks(offer) for asks in others) for offer in offers)
        if left:
            ways.append(f"{_words(name, narrowing)} ({left} {'offer' if left == 1 else 'offers'} without it)")
    return f"No offer matches all of {asked}: relax {' or '.join(ways) if ways else 'more than one of them'}."


def _words(field: str, narrowing: Narrowing) -> str:
    """Condition of a field in words: 'cloud aws or gcp'."""
    value = getattr(narrowing, field)
    texts = " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if field == "min_memory_gib":
        return f"{narrowing.min_memory_gib:g} GiB per GPU"
    if field == "gpu_count":
        return f"{texts} GPUs"
    return f"{_FIELD_WORDS[field]} {texts}"


def _what_there_is(field: str, narrowing: Narrowing, offers: Sequence[Instance]) -> str:
    if field == "min_memory_gib":
        return f"the largest have {max(offer.gpu_memory_gib for offer in offers):g} GiB"
    if field == "gpu_count":
        return f"there are {', '.join(map(str, sorted({offer.gpu_count for offer in offers})))}"
    known = {str(getattr(offer, field)) for offer in offers}
    value = getattr(narrowing, field)
    wanted = value[0] if isinstance(value, tuple) else str(value)
    close = difflib.get_close_matches(wanted, known, n=_MOST_CLOSE) if len(known) > _MOST_SHOWN else []
    return f"choose one of {'; '.join(sorted(close or known)[:_MOST_SHOWN])}"
