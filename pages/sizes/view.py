"""What Sizes shows: rows at sizes along an axis, on the offers that count, and what fits there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pages.sizes.rows import SizeRow, size_row
from pages.sizes.source import Source
from profet_core.advice.plans import Plan
from profet_core.answers.narrowed import narrowed_rows
from profet_core.catalog import Instance
from profet_core.memory.fit import FitAnswer, does_not_fit
from profet_core.scaling.axes import KNOTS, axis_range
from ui.inputs.narrowing import chosen_narrowing
from ui.memory import fits_of
from ui.state.resources import Resources


@dataclass(frozen=True, slots=True)
class SizesView:
    """What the page shows: steps along an axis, on the offers that count."""

    resources: Resources
    source: Source
    axis: str
    offers: Mapping[str, Instance]

    def rows(self, sizes: Sequence[int]) -> dict[str, list[SizeRow]]:
        """Instance -> a row at each size, where its latency is known at all of them."""
        found = {}
        workloads = [self.source.workload(self.axis, size) for size in sizes]
        for name, steps in self.source.curves(self.resources, self.axis, sizes, self.offers).items():
            if all(step.latency_ms is not None for step in steps):
                offer = self.offers[name]
                found[name] = [size_row(step, offer, work, None) for step, work in zip(steps, workloads, strict=True)]
        return found

    def plans(self) -> list[Plan]:
        """The training at the recorded size, else the smallest one, on each offer; the cheapest first."""
        at = self.source.recorded(self.axis) or axis_range(self.axis)[0]
        rows = [by_size[0] for by_size in self.rows([at]).values()]
        sure = narrowed_rows(
            (row.step for row in rows), chosen_narrowing(self.resources), self.offers, self.source.anchor
        )
        names = {step.instance for step in sure}
        return [row.plan for row in sorted(rows, key=_by_cost) if row.instance in names]

    def narrowed(self, plans: Iterable[Plan]) -> SizesView:
        """The view of these plans' instances alone."""
        return replace(self, offers={plan.instance: plan.offer for plan in plans})

    def rows_at(self, size: int) -> list[SizeRow]:
        """A row an instance at one size, with whether it fits there; the cheapest first."""
        rows = [by_size[0] for by_size in self.rows([size]).values()]
        fits = self._fits(size, [row.instance for row in rows])
        return sorted((replace(row, fit=fits.get(row.instance)) for row in rows), key=_by_cost)

    def at_largest(self, rows: Sequence[SizeRow]) -> list[SizeRow]:
        """Each GPU at the largest batch that fits in its memory, as far as steps are carried; others are left out."""
        smallest, most = axis_range("batch")
        found = []
        for row in rows:
            largest = row.fit and row.fit.largest_batch
            if largest and largest >= smallest:
                batch_size = min(largest, most)
                (step,) = self.source.curves(self.resources, "batch", [batch_size], [row.instance])[row.instance]
                offer = self.offers[row.instance]
                found.append(size_row(step, offer, self.source.workload("batch", batch_size), row.fit))
        return sorted(found, key=_by_cost)

    def largest_fits(self, instances: Sequence[str]) -> dict[str, int]:
        """Instance -> the largest measured size that may fit in its memory; absent where all may, 0 for none."""
        sizes = KNOTS[self.axis]
        by_size = {size: self._fits(size, instances) for size in sizes}
        found = {}
        for name in instances:
            beyond = [size for size, fits in by_size.items() if does_not_fit(fits.get(name))]
            if beyond:
                found[name] = max((size for size in sizes if size < min(beyond)), default=0)
        return found

    def _fits(self, size: int, instances: Iterable[str]) -> Mapping[str, FitAnswer]:
        """Instance -> whether a step of that size fits there; nothing where no profile tells."""
        network = self.source.network
        if network is None:
            return {}
        batch_size, pixels = (size, self.source.pixels) if self.axis == "batch" else (self.source.batch_size, size)
        return fits_of(self.resources, network.outcome, instances, batch_size, pixels, network.second)


def _by_cost(row: SizeRow) -> tuple[float, float]:
    return row.plan.total_usd, row.plan.total_s
