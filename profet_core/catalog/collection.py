"""Offers by name, and those of them that somebody asks for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar, overload
from weakref import ref

from profet_core.catalog.gpus import Gpus, load_gpus
from profet_core.catalog.instance import (
    MACHINE_COLUMNS,
    MARKETPLACE,
    MARKETS,
    ON_DEMAND,
    OWN_HARDWARE,
    OWN_PRICE,
    OWN_PROVIDER,
    RESERVED,
    SPOT,
    Instance,
)
from profet_core.catalog.naming import nearest
from profet_core.errors import CatalogError, InputError
from profet_core.units import positive_number, whole_number


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


#: Default region and market of prices.
HOME_REGION = "us-east-1"
Default = TypeVar("Default")
Resolved = TypeVar("Resolved")
_MARKET_ORDER = (OWN_PRICE, ON_DEMAND, MARKETPLACE)


class Catalog(Mapping[str, Instance]):
    """Instances by name, in the catalog's order, each at its default price. Immutable.

    The default offer is on-demand if there is one. Ties are resolved in this order: a custom offer over a shipped one,
    then `HOME_REGION`, then the lowest price. `offers` returns all offers.
    """

    def __init__(self, instances: Iterable[Instance]) -> None:
        offers: dict[str, list[Instance]] = {}
        for instance in instances:
            offers.setdefault(instance.name, []).append(instance)
        for name, rows in offers.items():
            if len({row.offer_key for row in rows}) != len(rows):
                raise CatalogError(f"The catalog lists {name} twice for a region and market: keep one row.")
            for row in rows[1:]:
                for column in MACHINE_COLUMNS:
                    _check_same_column(rows[0], row, column)
            rows.sort(key=_rank)
        self._offers = MappingProxyType({name: tuple(rows) for name, rows in offers.items()})
        self._usual = MappingProxyType({name: rows[0] for name, rows in offers.items()})
        self._resolved: tuple[ref[Any], Any] | None = None

    def __getitem__(self, name: str) -> Instance:
        try:
            return self._usual[name]
        except KeyError:
            raise InputError(f"Unknown instance {name!r}: {nearest(name, self._usual)}.") from None

    def __contains__(self, name: object) -> bool:
        return name in self._usual

    @overload
    def get(self, name: str, /) -> Instance | None: ...

    @overload
    def get(self, name: str, /, default: Instance | Default) -> Instance | Default: ...

    def get(self, name: str, /, default: Instance | Default | None = None) -> Instance | Default | None:
        """The instance of that name, or `default`; Mapping's own method would raise because `[]` raises no KeyError."""
        return self._usual.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._usual)

    def __len__(self) -> int:
        return len(self._usual)

    def offers(self, name: str) -> tuple[Instance, ...]:
        """Every offer of an instance, default offer first.

        Raises
        ------
        InputError : unknown instance.
        """
        return self._offers[self[name].name]

    def resolved(self, by: object, resolve: Callable[[], Resolved]) -> Resolved:
        """Cache the result of `resolve` for `by`, such as a set of models; recompute only for another `by`."""
        kept = self._resolved
        if kept is None or kept[0]() is not by:
            kept = self._resolved = ref(by), resolve()
        found: Resolved = kept[1]
        return found

    @property
    def all_offers(self) -> tuple[Instance, ...]:
        """Every offer of every instance, in the catalog's order."""
        return tuple(row for rows in self._offers.values() for row in rows)

    def with_prices(self, usd_per_hour: Mapping[str, float]) -> Catalog:
        """Copy with custom prices for the named instances, US dollars per hour.

        A custom price replaces the default offer; the instance's other offers stay.
        """
        if not usd_per_hour:
            return self
        own = {name: positive_number(f"The price of {self[name].name}", price) for name, price in usd_per_hour.items()}
        rows: list[Instance] = []
        for name, (usual, *others) in self._offers.items():
            if name in own:
                usual = replace(usual, usd_per_hour=own[name], market=OWN_PRICE, as_of="", source="given by the user")
            rows += [usual, *others]
        return Catalog(rows)

    def with_own(self, own: Iterable[Instance]) -> Catalog:
        """Copy with custom offers.

        A custom offer replaces the offer of the same instance, region, os and market. Others are added; new instances
        come last. A custom row's status, vcpus and host apply to all offers of its instance. Its provider and GPUs must
        match the catalog.

        Raises
        ------
        CatalogError : a custom row contradicts the catalog or another custom row; the message names instance and
            column.
        """
        own = [replace(row, own=True) for row in own]
        first = {row.name: row for row in reversed(own)}
        taken = {row.offer_key for row in own}
        rows = [
            replace(row, status=said.status, vcpus=said.vcpus, host=said.host) if (said := first.get(row.name)) else row
            for row in self.all_offers
            if row.offer_key not in taken
        ]
        place = {name: number for number, name in enumerate(dict.fromkeys([*self, *(row.name for row in own)]))}
        for row in own:
            if row.name in self:
                for column in ("provider", "gpu", "gpu_count", "gpu_memory_gib"):
                    _check_same_column(self[row.name], row, column)
        return Catalog(sorted([*rows, *own], key=lambda row: place[row.name]))


def _rank(row: Instance) -> tuple[int, bool, bool, float]:
    market = _MARKET_ORDER.index(row.market) if row.market in _MARKET_ORDER else len(_MARKET_ORDER)
    return market, not row.own, row.region != HOME_REGION, row.usd_per_hour


def _check_same_column(one: Instance, other: Instance, column: str) -> None:
    first, second = getattr(one, column), getattr(other, column)
    if first != second:
        raise CatalogError(f"{one.name}: {column} is {first!r} in one row and {second!r} in another: make them equal.")


#: Choices of market: one market, or all of them.
ANY_MARKET = "any"
MARKET_CHOICES = (ON_DEMAND, SPOT, RESERVED, MARKETPLACE, ANY_MARKET)
_GUESSED = "guessed:"


class NoOffersError(InputError):
    """The catalog has no offer in that market and region."""

    code = "no_offers"


def offers_in_market(
    catalog: Catalog,
    market: str = ON_DEMAND,
    *,
    region: str | None = None,
    own_usd_per_hour: Mapping[str, float] | None = None,
    spot_discount: float | None = None,
) -> tuple[Instance, ...]:
    """Offers to choose from, at most one per instance and market, in the catalog's order.

    Parameters
    ----------
    market : one of `MARKET_CHOICES`; custom hardware belongs to each.
    region : None: the catalog's default region if the instance has an offer there, else its cheapest.
    own_usd_per_hour : instance -> a custom price; it replaces the instance's offers in every market.
    spot_discount : discount of spot relative to on-demand, 0 to 1, for instances without a spot price in the catalog;
        None: no estimate is made.

    Raises
    ------
    InputError : an unknown market or instance, a price that is not a positive number, or a discount outside 0 to 1.
    NoOffersError : the market has no offer there.
    """
    if market not in MARKET_CHOICES:
        raise InputError(f"Unknown market {market!r}: choose one of {', '.join(MARKET_CHOICES)}.")
    priced = catalog.with_prices(own_usd_per_hour or {})
    found: list[Instance] = []
    for name in catalog:
        if own_usd_per_hour and name in own_usd_per_hour:
            found.append(priced[name])
            continue
        listed = _one_a_market(catalog.offers(name), region)
        if spot_discount is not None and SPOT not in listed and ON_DEMAND in listed:
            listed[SPOT] = _at_discount(listed[ON_DEMAND], spot_discount)
        found += [offer for key, offer in listed.items() if key == OWN_HARDWARE or market in (key, ANY_MARKET)]
    if not found:
        where = f" in {region}" if region else ""
        guess = ", or a spot discount" if market in (SPOT, ANY_MARKET) else ""
        raise NoOffersError(f"The catalog has no {market} prices{where}: give your own prices{guess}.")
    return tuple(found)


def is_guess(offer: Instance) -> bool:
    """Whether an offer's price is a spot price estimated from the user's discount."""
    return offer.source.startswith(_GUESSED)


def _one_a_market(offers: tuple[Instance, ...], region: str | None) -> dict[str, Instance]:
    """Market -> the instance's default offer there; the catalog lists default offers first."""
    found: dict[str, Instance] = {}
    for offer in offers:
        if region in (None, offer.region) or offer.market == OWN_HARDWARE:
            found.setdefault(offer.market, offer)
    return found


def _at_discount(offer: Instance, discount: float) -> Instance:
    if positive_number("The spot discount", discount) >= 1:
        raise InputError(f"The spot discount must be between 0 and 1, such as 0.6, not {discount:g}.")
    return replace(
        offer,
        usd_per_hour=offer.usd_per_hour * (1 - discount),
        market=SPOT,
        as_of="",
        source=f"{_GUESSED} {discount:.0%} below on-demand",
    )


#: Confidence levels, ascending.
CONFIDENCE_WORDS = ("rough", "fair", "good")
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
    confidence : "rough", "fair" or "good": minimum confidence; it filters predictions, not offers.
    """

    provider: tuple[str, ...] = ()
    region: str | None = None
    market: str | None = None
    gpu: tuple[str, ...] = ()
    gpu_count: tuple[int, ...] = ()
    min_memory_gib: float | None = None
    confidence: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "provider", tuple(name.strip().lower() for name in self.provider))
        for count in self.gpu_count:
            whole_number("The number of GPUs", count)
        if self.min_memory_gib is not None:
            positive_number("The GPU memory", self.min_memory_gib)
        if self.market not in (None, ANY_MARKET, *MARKETS):
            raise InputError(f"Unknown market {self.market!r}: choose one of {', '.join((*MARKETS, ANY_MARKET))}.")
        if self.confidence not in (None, *CONFIDENCE_WORDS):
            raise InputError(f"Unknown confidence {self.confidence!r}: choose one of {', '.join(CONFIDENCE_WORDS)}.")

    @property
    def least_confidence(self) -> int:
        """Minimum confidence level of a number, 1 to 3, as in `advice.confidence.Confidence`."""
        return 1 if self.confidence is None else 1 + CONFIDENCE_WORDS.index(self.confidence)

    @property
    def of_offers(self) -> bool:
        """Whether it filters offers at all."""
        return bool(self.given - {"confidence"})

    @property
    def is_narrow(self) -> bool:
        """Whether few offers remain, so that each can be listed: a market has hundreds."""
        return bool(self.given - {"market", "confidence"})

    @property
    def given(self) -> frozenset[str]:
        """Names of the fields that filter."""
        return frozenset(field.name for field in fields(self) if getattr(self, field.name) not in (None, ()))

    def conditions(self, gpus: Gpus) -> dict[str, Callable[[Instance], bool]]:
        """Field that filters offers -> its condition on an offer; custom hardware passes region and market."""
        names = {gpu.name for text in self.gpu for gpu in gpus.meant(text)}
        texts = {text.strip().lower() for text in self.gpu if not gpus.named(text)}
        places = self.places()
        every: dict[str, Callable[[Instance], bool]] = {
            "provider": lambda offer: offer.provider in self.provider,
            "region": lambda offer: offer.market == OWN_HARDWARE or places["region"](offer),
            "market": lambda offer: offer.market == OWN_HARDWARE or places["market"](offer),
            "gpu": lambda offer: offer.gpu in names or bool({offer.gpu.lower(), offer.gpu_model.lower()} & texts),
            "gpu_count": lambda offer: offer.gpu_count in self.gpu_count,
            "min_memory_gib": lambda offer: offer.gpu_memory_gib >= (self.min_memory_gib or 0),
        }
        return {name: asks for name, asks in every.items() if name in self.given}

    def places(self) -> dict[str, Callable[[Instance], bool]]:
        """The conditions on region and market, which custom hardware need not meet."""
        every: dict[str, Callable[[Instance], bool]] = {
            "region": lambda offer: is_in_region(offer, self.region or ""),
            "market": lambda offer: self.market in (ANY_MARKET, offer.market),
        }
        return {name: asks for name, asks in every.items() if name in self.given}


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
