"""Time and cost per step, epoch and training, from step latencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from profet_core.catalog.collection import Catalog
from profet_core.catalog.instance import Instance
from profet_core.frames import frame_of, offer_cells
from profet_core.units import MS_PER_S, S_PER_HOUR, positive_number, whole_number

#: A validation step runs forward only. The backward pass takes about two thirds of a training step (two backward
#: convolutions per forward convolution), so a validation step counts as one third.
VALIDATION_STEP_SHARE = 1 / 3

#: Measured epochs of the training data take this factor times steps x latency: median over all 11,052 runs.
#: `tests/lab/test_measurements.py` recomputes it.
MEASURED_EPOCH_FACTOR = (1.06, 1.09)


@dataclass(frozen=True, slots=True)
class CostRow:
    """Time and cost of a training on one offer; speedup is None if the anchor's latency is unknown."""

    offer: Instance
    latency_ms: float
    step_usd: float
    cost_per_1000_steps_usd: float
    images_per_s: float
    epoch_s: float
    epoch_usd: float
    total_s: float
    total_usd: float
    speedup: float | None

    @property
    def instance(self) -> str:
        """Name of the instance."""
        return self.offer.name

    @property
    def usd_per_hour(self) -> float:
        """Price of the whole instance."""
        return self.offer.usd_per_hour

    @property
    def status(self) -> str:
        """Whether it can be rented."""
        return self.offer.status


@dataclass(frozen=True, slots=True)
class CostTable:
    """Costs of one training on every instance, with their inputs."""

    images: int
    validation_images: int
    batch_size: int
    epochs: int
    rows: tuple[CostRow, ...]

    def to_frame(self) -> Any:
        """One row per instance, as a `pandas.DataFrame`: offer, latency, time and cost."""
        columns = [field.name for field in fields(CostRow) if field.name != "offer"]
        return frame_of(
            {**offer_cells(row.offer), **{name: getattr(row, name) for name in columns}} for row in self.rows
        )


def cost_table(
    latencies_ms: Mapping[str, float],
    catalog: Catalog,
    *,
    images: int,
    batch_size: int,
    epochs: int = 1,
    validation_images: int = 0,
    anchor: str | None = None,
) -> CostTable:
    """Time and cost of a training on each instance; raises InputError for an unknown one, or an invalid number.

    Parameters
    ----------
    latencies_ms : instance -> milliseconds per training step **at `batch_size`**.
    catalog : prices; `catalog.with_prices` adds custom prices.
    images, validation_images : images per epoch; the last, smaller batch counts as a step, as in Keras.
    anchor : reference instance of speedups.
    """
    steps = epoch_steps(images, batch_size, validation_images)
    epochs = whole_number("The number of epochs", epochs)
    reference_ms = latencies_ms.get(anchor) if anchor else None
    rows = []
    for name, value in latencies_ms.items():
        offer, latency_ms = catalog[name], positive_number(f"The latency of {name}", value)
        epoch_ms = steps * latency_ms
        row = CostRow(
            offer=offer,
            latency_ms=latency_ms,
            step_usd=cost_usd(latency_ms, offer.usd_per_hour),
            cost_per_1000_steps_usd=cost_usd(1000 * latency_ms, offer.usd_per_hour),
            images_per_s=batch_size / latency_ms * MS_PER_S,
            epoch_s=epoch_ms / MS_PER_S,
            epoch_usd=cost_usd(epoch_ms, offer.usd_per_hour),
            total_s=epochs * epoch_ms / MS_PER_S,
            total_usd=cost_usd(epochs * epoch_ms, offer.usd_per_hour),
            speedup=reference_ms / latency_ms if reference_ms else None,
        )
        rows.append(row)
    return CostTable(int(images), int(validation_images), int(batch_size), epochs, tuple(rows))


def cost_usd(duration_ms: float, usd_per_hour: float) -> float:
    """Cost of renting one instance for `duration_ms` milliseconds, US dollars.

    >>> cost_usd(3_600_000, usd_per_hour=1.5)
    1.5
    """
    return duration_ms / MS_PER_S / S_PER_HOUR * usd_per_hour


def epoch_steps(images: int, batch_size: int, validation_images: int = 0) -> float:
    """Training steps with the duration of an epoch; a validation step counts as `VALIDATION_STEP_SHARE` of one.

    >>> epoch_steps(images=50_000, batch_size=64)
    782.0
    >>> epoch_steps(images=50_000, batch_size=64, validation_images=10_000)
    834.3333333333334
    """
    steps = steps_per_epoch(images, batch_size)
    validation_steps = steps_per_epoch(validation_images, batch_size) if validation_images else 0
    return steps + validation_steps * VALIDATION_STEP_SHARE


def steps_per_epoch(images: int, batch_size: int) -> int:
    """Number of steps in one pass over `images` at `batch_size`; the last may be smaller.

    >>> steps_per_epoch(images=130, batch_size=64)
    3
    """
    images = whole_number("The number of images", images)
    return -(-images // whole_number("The batch size", batch_size))
