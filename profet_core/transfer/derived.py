"""Latency on a GPU that another source of measurements ran the same networks on, from two profiled instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.catalog.gpus import Gpu
from profet_core.latency import Basis, Estimate, Reach, Relative, combined_sd
from profet_core.messages import Code, Note


@dataclass(frozen=True, slots=True)
class DerivedLaw:
    """log t = log base + intercept + by_ratio * log(other / base) + by_size * log base, milliseconds.

    Attributes
    ----------
    base, other : the two instances. log_sd : spread on networks left out of the fit. bias_log_sd : spread of what the
        source's correction leaves, seen where both sources measured the same GPUs.
    tf32 : whether the source ran with TF32 allowed.
    other_precision_log_sd : assumed spread where the user's choice of TF32 differs from the source's.
    """

    base: str
    other: str
    intercept: float
    by_ratio: float
    by_size: float
    log_sd: float
    bias_log_sd: float
    networks: int
    workloads: int
    tf32: bool
    other_precision_log_sd: float

    @property
    def instances(self) -> tuple[str, str]:
        """Instances whose latency must be known."""
        return self.base, self.other

    @property
    def powers(self) -> dict[str, float]:
        """Instance -> the power of its latency in the law."""
        return {self.base: 1 - self.by_ratio + self.by_size, self.other: self.by_ratio}

    def notes(self, gpu: Gpu, tf32: bool) -> tuple[Note, ...]:
        """Where the estimate is from, and what its interval assumes."""
        note = Note.of(Code.THIRD_PARTY, networks=self.networks)
        if self.ran_as(gpu, tf32):
            return (note,)
        return note, Note.of(Code.THIRD_PARTY_TF32, how="allowed" if self.tf32 else "off")

    def ran_as(self, gpu: Gpu, tf32: bool) -> bool:
        """Whether the source ran in the precision that is asked for."""
        return gpu.tf32_tensor_dense_tflops is None or tf32 == self.tf32


def derive(law: DerivedLaw, known: Mapping[str, Estimate], gpu: Gpu | None = None, tf32: bool = True) -> Estimate:
    """Latencies on the law's GPU from those on its two instances.

    The known latencies' errors are taken for one and the same, with the sign that harms most.

    Parameters
    ----------
    gpu : the law's, with the precision that is asked for; None: as the source ran.
    """
    base, other = (np.log(known[name].latency_ms) for name in law.instances)
    latency_ms = np.exp(base + law.intercept + law.by_ratio * (other - base) + law.by_size * base)
    found = Estimate(
        latency_ms=latency_ms,
        log_sd=_log_sd(law, known, 1 - law.by_ratio + law.by_size),
        basis=Basis.DERIVED,
        relative=Relative(law.base, _log_sd(law, known, law.by_size - law.by_ratio)),
        reach=Reach(
            weights={name: np.full(latency_ms.shape, power) for name, power in law.powers.items()},
            free_ms=latency_ms,
            launch_ms=np.zeros(latency_ms.shape),
        ),
    )
    if gpu is None:
        return found
    found = replace(found, notes=law.notes(gpu, tf32))
    return found if law.ran_as(gpu, tf32) else found.widened(law.other_precision_log_sd)


def _log_sd(law: DerivedLaw, known: Mapping[str, Estimate], by_base: float) -> FloatArray:
    """(profiles,); `by_base`: power of the base's latency in what is told."""
    base, other = (known[name].log_sd for name in law.instances)
    found: FloatArray = combined_sd(abs(by_base) * base + abs(law.by_ratio) * other, law.log_sd, law.bias_log_sd)
    return found
