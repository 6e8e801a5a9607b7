"""All offers of the catalog by instance, default offer first."""

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
