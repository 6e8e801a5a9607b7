"""What is still to do for machines of one's own before they are shown: their prices aren't known."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.catalog import load_catalog


def still_to_price(instances: Iterable[str]) -> list[str]:
    """A line for each instance that no catalogue has."""
    known = load_catalog()
    return [
        f"{name} is shown once it has a price: profet instances add {name} --gpu GPU --usd-per-hour N"
        for name in dict.fromkeys(instances)
        if name not in known
    ]
