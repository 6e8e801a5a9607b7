"""Derive latency on a GPU that another source measured."""

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
    base, other : the two instances. log_sd : spread on networks held out of the fit. bias_log_sd : residual spread
        after the source's correction, estimated where both sources measured the same GPUs.
    tf32 : whether the source ran with TF32 allowed.
    other_precision_log_sd : assumed spread if the user's choice of TF32 differs from the source's.
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
        """Instances with a required latency."""
        return self.base, self.other

    @property
    def powers(self) -> dict[str, float]:
        """Instance -> power of its latency in the model."""
        return {self.base: 1 - self.by_ratio + self.by_size, self.other: self.by_ratio}

    def notes(self, gpu: Gpu, tf32: bool) -> tuple[Note, ...]:
        """Source of the estimate, and the assumption of its interval."""
        note = Note.of(Code.THIRD_PARTY, networks=self.networks)
        if self.ran_as(gpu, tf32):
            return (note,)
        return note, Note.of(Code.THIRD_PARTY_TF32, how="allowed" if self.tf32 else "off")

    def ran_as(self, gpu: Gpu, tf32: bool) -> bool:
        """Whether the source ran in the requested precision."""
        return gpu.tf32_tensor_dense_tflops is None or tf32 == self.tf32


def derive(law: DerivedLaw, known: Mapping[str, Estimate], gpu: Gpu | None = None, tf32: bool = True) -> Estimate:
    """Latencies on the model's GPU from those on its two instances.

    The known latencies' errors are assumed fully correlated, with the worst sign.

    Parameters
    ----------
    gpu : the model's, with the requested precision; None: as the source ran.
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
    """Log standard deviation, (profiles,); `by_base`: power of the base's latency in the result."""
    base, other = (known[name].log_sd for name in law.instances)
    found: FloatArray = combined_sd(abs(by_base) * base + abs(law.by_ratio) * other, law.log_sd, law.bias_log_sd)
    return found
