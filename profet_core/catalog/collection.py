"""All offers of the catalog, by instance: the usual one first, others by market and region."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar, overload
from weakref import ref

from profet_core.catalog.instance import MARKETPLACE, ON_DEMAND, OWN_PRICE, Instance, machine_of
from profet_core.catalog.naming import nearest
from profet_core.errors import CatalogError, InputError
from profet_core.units import positive_number

#: Prices are shown for this region and market unless someone asks for another.
HOME_REGION = "us-east-1"
Default = TypeVar("Default")
Resolved = TypeVar("Resolved")
_MARKET_ORDER = (OWN_PRICE, ON_DEMAND, MARKETPLACE)


class Catalog(Mapping[str, Instance]):
    """Instances by name, in the catalog's order, each at its usual price. Immutable.

    The usual price of an instance is on-demand where there is such an offer; among those one from the user's file
    before a shipped one, then `HOME_REGION`, then the cheapest. `offers` has them all.
    """

    def __init__(self, instances: Iterable[Instance]) -> None:
        offers: dict[str, list[Instance]] = {}
        for instance in instances:
            offers.setdefault(instance.name, []).append(instance)
        for name, rows in offers.items():
            if len({row.offer_key for row in rows}) != len(rows):
                raise CatalogError(f"The catalog lists {name} twice for a region and market: keep one row.")
            for row in rows[1:]:
                _check_same_machine(rows[0], row)
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
        """The instance of that name, or `default`; Mapping's own would raise, as `[]` raises no KeyError."""
        return self._usual.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._usual)

    def __len__(self) -> int:
        return len(self._usual)

    def offers(self, name: str) -> tuple[Instance, ...]:
        """Every offer of an instance, the usual one first.

        Raises
        ------
        InputError : there is no such instance.
        """
        return self._offers[self[name].name]

    def resolved(self, by: object, resolve: Callable[[], Resolved]) -> Resolved:
        """What `resolve` makes of these offers with `by`, such as a set of models; found again only for another one."""
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
        """A copy in which the named instances cost a price of the user's, US dollars an hour.

        It replaces the usual offer; the others of an instance stay.
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
        """The catalog with offers of the user's laid over it.

        One replaces the offer of the same instance, region, os and market; others are added, new instances at the end.
        An own row's status, vcpus and host count for all offers of its instance; its provider and GPUs must be the
        catalog's.

        Raises
        ------
        CatalogError : naming the instance and column in which an own row contradicts the catalog or another own row.
        """
        own = [replace(row, own=True) for row in own]
        first = {row.name: row for row in reversed(own)}
        taken = {row.offer_key for row in own}
        rows = [_as_owner_says(row, first.get(row.name)) for row in self.all_offers if row.offer_key not in taken]
        place = {name: number for number, name in enumerate(dict.fromkeys([*self, *(row.name for row in own)]))}
        for row in own:
            if row.name in self:
                for column in ("provider", "gpu", "gpu_count", "gpu_memory_gib"):
                    _check_same_column(self[row.name], row, column)
        return Catalog(sorted([*rows, *own], key=lambda row: place[row.name]))


def _rank(row: Instance) -> tuple[int, bool, bool, float]:
    market = _MARKET_ORDER.index(row.market) if row.market in _MARKET_ORDER else len(_MARKET_ORDER)
    return market, not row.own, row.region != HOME_REGION, row.usd_per_hour


def _as_owner_says(row: Instance, own: Instance | None) -> Instance:
    return row if own is None else replace(row, status=own.status, vcpus=own.vcpus, host=own.host)


def _check_same_machine(one: Instance, other: Instance) -> None:
    for column in machine_of(one):
        _check_same_column(one, other, column)


def _check_same_column(one: Instance, other: Instance, column: str) -> None:
    first, second = getattr(one, column), getattr(other, column)
    if first != second:
        raise CatalogError(f"{one.name}: {column} is {first!r} in one row and {second!r} in another: make them equal.")
