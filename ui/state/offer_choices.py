"""What a visitor can narrow the offers by: the values that the catalogue's offers have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from profet_core.catalog import gpu_model
from ui.state.resources import Resources


@dataclass(frozen=True, slots=True)
class OfferChoices:
    """The values there are, in the order they are shown.

    Attributes
    ----------
    regions : whole ones, and what several have in common, such as "US" of "Texas, US, NA".
    gpus : models. gpu_counts : as text.
    """

    providers: tuple[str, ...]
    regions: tuple[str, ...]
    gpus: tuple[str, ...]
    gpu_counts: tuple[str, ...]


def offer_choices(resources: Resources) -> OfferChoices:
    """Those of the catalogue with the visitor's own rows."""
    offers = resources.catalog.all_offers
    # Links join names by commas.
    gpus = {gpu_model(name) for name in {offer.gpu for offer in offers} if "," not in name}
    return OfferChoices(
        providers=tuple(sorted({offer.provider for offer in offers})),
        regions=_regions({offer.region for offer in offers}),
        gpus=tuple(sorted(gpus, key=str.casefold)),
        gpu_counts=tuple(str(count) for count in sorted({offer.gpu_count for offer in offers})),
    )


def _regions(whole: set[str]) -> tuple[str, ...]:
    parts = Counter(part for region in whole for part in region.split(", "))
    return tuple(sorted(whole | {part for part, times in parts.items() if times > 1}))
