"""Input of multi-GPU scaling: one GPU's step, and its gradient size."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.units import positive_number, whole_number

#: Bytes per transferred gradient: BF16 and FP16 move half of FP32.
GRADIENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}
#: Maximum number of parameters.
MOST_PARAMETERS = 1e12


@dataclass(frozen=True, slots=True)
class GpuStep:
    """One GPU's training step at its own batch.

    Attributes
    ----------
    latency_ms : measured or predicted. log_sd : of its logarithm; 0: exact, None: unknown.
    batch_size : images per step on this GPU.
    parameters : of the network.
    gradients : precision in which they are sent, one of `GRADIENT_BYTES`.
    pixels : image height and width, for the copy of the input; None: unknown, and the copy is ignored.
    tensors : number of weight tensors, as the framework counts them; None: unknown, and strategies that need it are
        skipped.
    """

    latency_ms: float
    batch_size: int
    parameters: float
    gradients: str = "fp32"
    pixels: int | None = None
    tensors: int | None = None
    log_sd: float | None = None

    def __post_init__(self) -> None:
        positive_number("The step latency on one GPU", self.latency_ms)
        whole_number("The batch size of one GPU", self.batch_size)
        for what, number in (("pixels", self.pixels), ("weight tensors", self.tensors)):
            if number is not None:
                whole_number(f"The number of {what}", number)
        if positive_number("The number of parameters", self.parameters) > MOST_PARAMETERS:
            raise InputError(f"The number of parameters must be at most {MOST_PARAMETERS:g}, not {self.parameters:g}.")
        if self.gradients not in GRADIENT_BYTES:
            raise InputError(
                f"The precision of gradients must be one of {', '.join(GRADIENT_BYTES)}, not {self.gradients!r}."
            )

    @property
    def gradient_bytes(self) -> float:
        """Bytes that each GPU exchanges per step.

        >>> GpuStep(100, 32, 25.6e6).gradient_bytes, GpuStep(100, 32, 25.6e6, "fp16").gradient_bytes
        (102400000.0, 51200000.0)
        """
        return self.parameters * GRADIENT_BYTES[self.gradients]

    @property
    def input_bytes(self) -> float:
        """Images of a step as FP32 in three colors; 0 if the pixels are unknown."""
        return 0.0 if self.pixels is None else self.batch_size * self.pixels**2 * 3 * 4.0
