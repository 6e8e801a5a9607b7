"""Offers by name, and those of them that somebody asks for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any
from weakref import ref

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from profet_core.catalog.gpus import Gpus, gpu_model, load_gpus
from profet_core.catalog.instance import (
    CUSTOM_HARDWARE,
    CUSTOM_PRICE,
    CUSTOM_PROVIDER,
    MACHINE_COLUMNS,
    MARKETPLACE,
    MARKETS,
    ON_DEMAND,
    RESERVED,
    SPOT,
    Instance,
    cloud_words,
)
from profet_core.errors import CatalogError, InputError, nearest
from profet_profiles.units import positive_number, whole_number

#: Default region and market of prices.
HOME_REGION = "us-east-1"
_MARKET_ORDER = (CUSTOM_PRICE, ON_DEMAND, MARKETPLACE)
#: Choices of market: one market, or all of them.
ANY_MARKET = "any"
MARKET_CHOICES = (ON_DEMAND, SPOT, RESERVED, MARKETPLACE, ANY_MARKET)
_GUESSED = "guessed:"


#: Source of a price from a list that was fetched, and the list's version.
_FETCHED = re.compile(r"(gpuhunt|SkyPilot) \w+(?: (\S+))?")


def fetched_versions(offers: Iterable[Instance]) -> tuple[str, ...]:
    """Versions of the price lists that `profet instances refresh` fetched, such as "gpuhunt 20260818-42".

    A list without a version has its day.
    """
    rows = [(version, offer) for offer in offers if offer.custom and (version := _FETCHED.fullmatch(offer.source))]
    return tuple(sorted({f"{version[1]} {version[2] or offer.as_of}" for version, offer in rows}))


def prices_version(offers: Iterable[Instance]) -> str:
    """Return the price sources of offers: the newest day of the shipped prices, then the fetched lists."""
    offers = list(offers)
    shipped = max((offer.as_of for offer in offers if not offer.custom), default="")
    return ", ".join(filter(None, (shipped, *fetched_versions(offers))))


def is_custom(offer: Instance) -> bool:
    """Whether the machine or its price is custom."""
    return offer.custom or offer.provider == CUSTOM_PROVIDER or offer.market == CUSTOM_PRICE


class Catalog(dict[str, Instance]):
    """Instances by name, in the catalog's order, each at its default price; not to be changed.

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
                _check_same(rows[0], row, MACHINE_COLUMNS)
            rows.sort(key=_rank)
        super().__init__({name: rows[0] for name, rows in offers.items()})
        #: Every offer of each instance, default offer first.
        self.by_instance = {name: tuple(rows) for name, rows in offers.items()}
        #: Whom offers were last resolved to GPUs for, and the result: see `prediction.targets.offer_targets`.
        self.resolved: tuple[ref[Any], Any] | None = None

    def __missing__(self, name: str) -> Instance:
        raise InputError(f"Unknown instance {name!r}: {nearest_instances(name, self)}.")

    def offers(self, name: str) -> tuple[Instance, ...]:
        """Every offer of an instance, default offer first; raises InputError for an unknown instance."""
        return self.by_instance[self[name].name]

    @cached_property
    def all_offers(self) -> tuple[Instance, ...]:
        """Every offer of every instance, in the catalog's order."""
        return tuple(row for rows in self.by_instance.values() for row in rows)

    def with_prices(self, usd_per_hour: Mapping[str, float]) -> Catalog:
        """Copy with custom prices in US dollars per hour, each in place of its instance's default offer."""
        if not usd_per_hour:
            return self
        own = {name: positive_number(f"The price of {self[name].name}", price) for name, price in usd_per_hour.items()}
        rows: list[Instance] = []
        for name, (usual, *others) in self.by_instance.items():
            if name in own:
                price = own[name]
                usual = replace(usual, usd_per_hour=price, market=CUSTOM_PRICE, as_of="", source="given by the user")
            rows += [usual, *others]
        return Catalog(rows)

    def with_custom(self, own: Iterable[Instance]) -> Catalog:
        """Copy with custom offers.

        A custom offer replaces the offer of the same instance, region, os and market. Others are added; new instances
        come last. A custom row's status, vcpus and host apply to all offers of its instance. Its provider and GPUs must
        match the catalog; CatalogError names instance and column.
        """
        own = [replace(row, custom=True) for row in own]
        if not own:
            return self
        first = {row.name: row for row in reversed(own)}
        taken = {row.offer_key for row in own}
        rows = [
            replace(row, status=mine.status, vcpus=mine.vcpus, host=mine.host) if (mine := first.get(row.name)) else row
            for row in self.all_offers
            if row.offer_key not in taken
        ]
        for row in own:
            if row.name in self:
                _check_same(self[row.name], row, ("provider", "gpu", "gpu_count", "gpu_memory_gib"))
        place = {name: number for number, name in enumerate(dict.fromkeys([*self, *(row.name for row in own)]))}
        return Catalog(sorted([*rows, *own], key=lambda row: place[row.name]))

    @cached_property
    def filter_options(self) -> dict[str, tuple[str, ...]]:
        """Field of `OfferFilter` -> what offers can be filtered by, sorted.

        Regions are whole ones, and what several have in common, such as "US" of "Texas, US, NA"; GPUs are models.
        """
        offers = self.all_offers
        regions = {offer.region for offer in offers}
        parts = Counter(part for region in regions for part in region.split(", "))
        # Links join names by commas.
        gpus = {gpu_model(name) for name in {offer.gpu for offer in offers} if "," not in name}
        return {
            "provider": tuple(sorted({offer.provider for offer in offers})),
            "region": tuple(sorted(regions | {part for part, times in parts.items() if times > 1})),
            "gpu": tuple(sorted(gpus, key=str.casefold)),
            "gpu_count": tuple(str(count) for count in sorted({offer.gpu_count for offer in offers})),
        }


def _rank(row: Instance) -> tuple[int, bool, bool, float]:
    market = _MARKET_ORDER.index(row.market) if row.market in _MARKET_ORDER else len(_MARKET_ORDER)
    return market, not row.custom, row.region != HOME_REGION, row.usd_per_hour


def _check_same(row: Instance, other: Instance, columns: Sequence[str]) -> None:
    for column in columns:
        first, second = getattr(row, column), getattr(other, column)
        if first != second:
            raise CatalogError(
                f"{row.name}: {column} is {first!r} in one row and {second!r} in another: make them equal."
            )


def nearest_instances(name: str, names: Iterable[str]) -> str:
    """Return the end of an unknown name's message."""
    return f"choose one of {nearest(name, names)} that `profet instances` lists"


class NoOffersError(InputError):
    """The catalog has no offer that passes the filter.

    Attributes
    ----------
    without : field of `OfferFilter` -> number of offers that pass without it, where there are some.
    """

    code = "no_offers"

    def __init__(self, message: str, *fields: str, without: Mapping[str, int] | None = None) -> None:
        super().__init__(message, *fields)
        self.without = without or {}


def offers_in_market(
    catalog: Catalog,
    market: str = ON_DEMAND,
    *,
    custom_usd_per_hour: Mapping[str, float] | None = None,
    spot_discount: float | None = None,
) -> tuple[Instance, ...]:
    """Offers to choose from, at most one per instance and market, in the catalog's order.

    Raises InputError for an unknown market or instance or an invalid number, NoOffersError if there is none.

    Parameters
    ----------
    market : one of `MARKET_CHOICES`; custom hardware belongs to each.
    custom_usd_per_hour : instance -> a custom price; it replaces the instance's offers in every market.
    spot_discount : discount of spot relative to on-demand, 0 to 1, for instances without a spot price in the catalog;
        None: no estimate is made.
    """
    if market not in MARKET_CHOICES:
        raise InputError(f"Unknown market {market!r}: choose one of {', '.join(MARKET_CHOICES)}.")
    own = custom_usd_per_hour or {}
    priced = catalog.with_prices(own)
    chosen: list[Instance] = []
    for name, offers in priced.by_instance.items():
        if name in own:
            chosen.append(offers[0])
            continue
        listed: dict[str, Instance] = {}
        for offer in offers:
            listed.setdefault(offer.market, offer)
        if spot_discount is not None and SPOT not in listed and ON_DEMAND in listed:
            if positive_number("The spot discount", spot_discount) >= 1:
                raise InputError(f"The spot discount must be between 0 and 1, such as 0.6, not {spot_discount:g}.")
            usd_per_hour = listed[ON_DEMAND].usd_per_hour * (1 - spot_discount)
            source = f"{_GUESSED} {spot_discount:.0%} below on-demand"
            listed[SPOT] = replace(listed[ON_DEMAND], usd_per_hour=usd_per_hour, market=SPOT, as_of="", source=source)
        chosen += [offer for key, offer in listed.items() if key == CUSTOM_HARDWARE or market in (key, ANY_MARKET)]
    if not chosen:
        more = ", or a spot discount" if market in (SPOT, ANY_MARKET) else ""
        raise NoOffersError(f"The catalog has no {market} prices: give your own prices{more}.")
    return tuple(chosen)


def is_guess(offer: Instance) -> bool:
    """Whether an offer's price is a spot price estimated from the user's discount."""
    return offer.source.startswith(_GUESSED)


#: Confidence levels, ascending.
CONFIDENCE_WORDS = ("rough", "fair", "good")
#: Minimum confidence -> what passes.
CONFIDENCE_LABELS = dict(zip(CONFIDENCE_WORDS, ("any", "fair or good", "good"), strict=True))
#: Filters that custom hardware need not pass.
_PLACES = ("region", "market")
_FIELD_WORDS = {"provider": "cloud", "region": "region", "market": "market", "gpu": "GPU"}
_Condition = Callable[[Instance], bool]


class OfferFilter(Struct, frozen=True, kw_only=True):
    """Filter of offers; fields that are None or empty don't filter.

    Attributes
    ----------
    provider : clouds, such as "aws", in any case; "own" for custom hardware.
    region : a whole region, or part of one such as "US" in "Texas, US, NA".
    market : one of `MARKET_CHOICES`; custom hardware belongs to each.
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
        force_setattr(self, "provider", tuple(name.strip().lower() for name in self.provider))
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
        """Minimum confidence level of a number, 1 to 3, as in `training.plans.Confidence`."""
        return 1 if self.confidence is None else 1 + CONFIDENCE_WORDS.index(self.confidence)

    @property
    def is_specific(self) -> bool:
        """Whether few offers remain, so that each can be listed: a market has hundreds."""
        return bool(self.given - {"market", "confidence"})

    @property
    def given(self) -> frozenset[str]:
        """Names of the fields that filter."""
        return frozenset(name for name in self.__struct_fields__ if getattr(self, name) not in (None, ()))

    @property
    def selects_offers(self) -> bool:
        """Whether a field filters offers; a confidence filters predictions."""
        return bool(self.given - {"confidence"})

    def conditions(self, gpus: Gpus) -> dict[str, _Condition]:
        """Field that filters offers -> its condition on an offer."""
        names = {gpu.name for text in self.gpu for gpu in gpus.matching(text)}
        texts = {text.strip().lower() for text in self.gpu if not gpus.named(text)}
        region = (self.region or "").strip().lower()
        every: dict[str, _Condition] = {
            "provider": lambda offer: offer.provider in self.provider,
            "region": lambda offer: region in (offer.region.lower(), *offer.region.lower().split(", ")),
            "market": lambda offer: self.market in (ANY_MARKET, offer.market),
            "gpu": lambda offer: offer.gpu in names or bool({offer.gpu.lower(), offer.gpu_model.lower()} & texts),
            "gpu_count": lambda offer: offer.gpu_count in self.gpu_count,
            "min_memory_gib": lambda offer: offer.gpu_memory_gib >= (self.min_memory_gib or 0),
        }
        return {name: asks for name, asks in every.items() if name in self.given}


def filtered_offers(offers: Iterable[Instance], offer_filter: OfferFilter, gpus: Gpus | None = None) -> list[Instance]:
    """Offers that pass the filter, in their order.

    Raises NoOffersError if none passes, or the region or market has none; one line says what to widen.
    """
    gpus = gpus or load_gpus()
    every, conditions = list(offers), offer_filter.conditions(gpus)
    unknown = [name for name in _PLACES if name in conditions and not any(map(conditions[name], every))]

    def passing(names: Iterable[str]) -> list[Instance]:
        wanted = [(conditions[name], name in _PLACES) for name in names]
        return [
            offer
            for offer in every
            if all((place and offer.market == CUSTOM_HARDWARE) or passes(offer) for passes, place in wanted)
        ]

    kept = passing(conditions)
    if not every or (kept and not unknown):
        return kept
    left = {name: count for name in conditions if (count := len(passing(conditions.keys() - {name})))}
    for name in conditions:
        if name in unknown or not passing([name]):
            if name == "gpu" and (line := gpus.without_offer(" ".join(offer_filter.gpu))):
                raise NoOffersError(line, without=left)
            there_is = _what_there_is(name, offer_filter, every)
            raise NoOffersError(f"No offer has {_words(name, offer_filter)}: {there_is}.", without=left)
    ways = [
        f"{_words(name, offer_filter)} ({count} offer{'s' if count > 1 else ''} without it)"
        for name, count in left.items()
    ]
    every_word = ", ".join(_words(name, offer_filter) for name in conditions)
    ways_out = " or ".join(ways) or "more than one of them"
    raise NoOffersError(f"No offer matches all of {every_word}: relax {ways_out}.", without=left)


def filtered_catalog(
    catalog: Catalog, offer_filter: OfferFilter, gpus: Gpus | None = None
) -> tuple[Catalog, frozenset[str]]:
    """Catalog in which the matching instances only have their matching offers, and the names of these instances.

    The default price of such an instance comes from its matching offers. Other instances stay unchanged because
    predictions depend on them. Raises as `filtered_offers`.
    """
    if not offer_filter.selects_offers:
        return catalog, frozenset(catalog)
    wanted = {offer.offer_key: offer.name for offer in filtered_offers(catalog.all_offers, offer_filter, gpus)}
    names = frozenset(wanted.values())
    return Catalog(row for row in catalog.all_offers if row.name not in names or row.offer_key in wanted), names


def _words(field: str, offer_filter: OfferFilter) -> str:
    """Condition of a field in words: 'cloud aws or gcp'."""
    value = getattr(offer_filter, field)
    texts = " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if field == "min_memory_gib":
        return f"{value:g} GiB per GPU"
    return f"{texts} GPUs" if field == "gpu_count" else f"{_FIELD_WORDS[field]} {texts}"


def _what_there_is(field: str, offer_filter: OfferFilter, offers: Sequence[Instance]) -> str:
    if field == "min_memory_gib":
        return f"the largest have {max(offer.gpu_memory_gib for offer in offers):g} GiB"
    if field == "gpu_count":
        return f"there are {', '.join(map(str, sorted({offer.gpu_count for offer in offers})))}"
    value = getattr(offer_filter, field)
    wanted = value[0] if isinstance(value, tuple) else str(value)
    return f"choose one of {nearest(wanted, sorted({str(getattr(offer, field)) for offer in offers}))}"


def filter_words(offer_filter: OfferFilter, options: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Field that filters -> what is chosen of `Catalog.filter_options`, in words: 'T4 or V100', 'not Verda'."""

    def chosen_words(name: str, words: Callable[[str], str] = str) -> str:
        chosen = getattr(offer_filter, name)
        # Those that aren't chosen, if they are few beside the others.
        excepted = [option for option in options[name] if option not in chosen]
        excepted = excepted if len(excepted) * 2 < len(chosen) else []
        # All of them: each is chosen while some are about to be removed.
        if len(chosen) == len(options[name]):
            return ""
        return f"not {' or '.join(map(words, excepted))}" if excepted else " or ".join(map(words, chosen))

    words_by_field = {
        "gpu": chosen_words("gpu"),
        "provider": chosen_words("provider", cloud_words),
        "region": offer_filter.region,
        "market": offer_filter.market,
        "min_memory_gib": offer_filter.min_memory_gib and f"{offer_filter.min_memory_gib:g} GiB or more",
        "gpu_count": offer_filter.gpu_count and f"GPUs in a machine: {' or '.join(map(str, offer_filter.gpu_count))}",
        "confidence": offer_filter.confidence and f"confidence: {CONFIDENCE_LABELS[offer_filter.confidence]}",
    }
    return {name: words for name, words in words_by_field.items() if words}
