"""What the pages should show, computed by profet_core alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from profet_core import Prediction, Profile, predict
from profet_core.advice.advise import Advice, advise
from profet_core.advice.request import Limits, Workload
from profet_core.artifacts.samples import Sample
from profet_core.catalog import load_gpus
from profet_core.catalog.nodes import without_larger_nodes
from profet_core.catalog.offers import offers_in_market
from profet_core.latency import StepTime
from profet_core.memory.fit import fits_by_instance
from profet_core.training.sizes import KnownStep, steps_at

FIRST = "resnet50-128px-b64-g4dn"


class Core:
    """Asks profet_core what the pages ask it.

    Parameters
    ----------
    models, catalog : the shipped ones.
    """

    def __init__(self, models, catalog) -> None:
        self.models, self.catalog = models, catalog

    def predict(self, of: Sample | Profile, anchor: str | None = None, **choices) -> Prediction:
        """A sample with its own anchor and latency, unless others are given; a profile from `anchor`."""
        if isinstance(of, Sample):
            choices.setdefault("latency_ms", of.latency_ms)
            return predict(self.models, self.catalog, of.profile, anchor or of.anchor, **choices)
        return predict(self.models, self.catalog, of, anchor or "g4dn.xlarge", **choices)

    def steps_at(self, *samples: Sample, batch_size: int, pixels: int | None = None) -> tuple[StepTime, ...]:
        """Steps of one or two samples of a network at another size."""
        known = [KnownStep(one.profile, self.predict(one), one.batch_size, one.pixels) for one in samples]
        return steps_at(self.models, known, batch_size=batch_size, pixels=pixels).step_times

    def advise(
        self,
        of: Sample | Profile,
        found: Prediction,
        limits: Limits | None = None,
        *,
        steps: tuple[StepTime, ...] | None = None,
        batch_size: int | None = None,
        pixels: int | None = None,
        retired: bool = False,
        market: str = "on-demand",
        prices: Mapping[str, float] | None = None,
        discount: float | None = None,
        keep: Collection[str] = (),
        **workload,
    ) -> Advice:
        """On a prediction's rows, or on other steps; 50,000 images and 10 epochs unless others are given."""
        profile = of.profile if isinstance(of, Sample) else of
        at = batch_size or profile.meta.batch_size or 1
        rows = found.predictions if steps is None else steps
        offers = offers_in_market(self.catalog, market, own_usd_per_hour=prices, spot_discount=discount)
        offers = without_larger_nodes((offer for offer in offers if retired or offer.status != "retired"), keep)
        offered = {offer.name for offer in offers}
        rows = [row for row in rows if row.instance in offered]
        names = [row.instance for row in rows if row.latency_ms is not None]
        return advise(
            rows,
            offers,
            Workload(**{"images": 50_000, "epochs": 10, **workload, "batch_size": at}),
            limits,
            include_retired=retired,
            fits=fits_by_instance(
                self.models.memory,
                self.catalog,
                load_gpus(),
                profile,
                found.anchor,
                names,
                batch_size=at,
                pixels=pixels or profile.meta.pixels,
            ),
            interval_level=found.interval_level,
        )
