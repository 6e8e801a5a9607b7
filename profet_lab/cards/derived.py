"""Figures of the card's sections on derived GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.transfer import OtherGpu, Route, Served, TransferAccuracy
from profet_core.transfer.model import TransferModel


@dataclass(frozen=True, slots=True)
class DerivedRow:
    """A derived GPU, percent but for the ratio: T4 and V100 known, and as it is served."""

    gpu: str
    n: int
    law: float
    served: Errors
    median_ratio_to_t4: float


@dataclass(frozen=True, slots=True)
class DerivedSection:
    """What the template words.

    Attributes
    ----------
    routes : name of the correction -> between the GPUs that both sources have. routes_by_network : corrected; T4 to
        V100 and back, percent.
    served : GPU and one anchor. law_by_network : network -> error by GPU in their order, None where it never ran.
    law_log_sd : GPU -> the model's standard deviation of the logarithm. correction_log_sd : likewise, of what the
        correction leaves, each value once.
    as_if_unmeasured : the same GPUs reached as if unmeasured.
    """

    gpus: Sequence[DerivedRow]
    routes: Mapping[str, Route]
    routes_by_network: Mapping[str, tuple[float, float]]
    served: Sequence[tuple[str, Served]]
    law_by_network: Mapping[str, Sequence[float | None]]
    law_log_sd: Mapping[str, float]
    correction_log_sd: Sequence[str]
    as_if_unmeasured: Sequence[OtherGpu]


def derived_section(accuracy: TransferAccuracy, transfer: TransferModel) -> DerivedSection:
    """The sections' figures."""
    derived = accuracy.derived
    networks = dict.fromkeys(name for found in derived.values() for name in found.law_by_model)
    return DerivedSection(
        gpus=[
            DerivedRow(gpu, found.n, found.law, found.mean, found.median_ratio_to_t4) for gpu, found in derived.items()
        ],
        routes={name.replace("_", " "): route for name, route in accuracy.routes.items()},
        routes_by_network=accuracy.routes_by_model,
        served=[(gpu, row) for gpu, found in derived.items() for row in found.served],
        law_by_network={name: [found.law_by_model.get(name) for found in derived.values()] for name in networks},
        law_log_sd={gpu: law.log_sd for gpu, law in transfer.derived.items()},
        correction_log_sd=sorted({f"{law.bias_log_sd:.3f}" for law in transfer.derived.values()}),
        as_if_unmeasured=accuracy.other_gpus,
    )
