"""Whether a training step fits in each instance's memory, as the commands print it beside time and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, load_gpus
from profet_core.memory.fit import FitAnswer, fits_by_instance
from profet_core.profiles import Profile


def fits_in_memory(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    instances: Iterable[str],
    batch_size: int | None = None,
) -> dict[str, FitAnswer]:
    """The answer by instance, as recorded or at another batch size; empty if these models have no memory law."""
    return fits_by_instance(models.memory, catalog, load_gpus(), profile, anchor, instances, batch_size=batch_size)


def fit_cell(fits: Mapping[str, FitAnswer], instance: str) -> str:
    """For a table: 'fits, to 320', the largest batch that does; '-' where there is no answer."""
    answer = fits.get(instance)
    if answer is None:
        return "-"
    return answer.verdict if answer.largest_batch is None else f"{answer.verdict}, to {answer.largest_batch}"
