"""Compare kernel-based with measured speeds: `python -m profet_lab.transfer.kernel_check`.

GPUs that have both kernels and a published or measured ResNet-50 speed tell what a speed by kernels alone is worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from profet_core.files import default_models_folder
from profet_core.transfer.model import TransferModel, load_transfer
from profet_core.transfer.speed import beside_reference, kernel_log_speed
from profet_lab.transfer.log_errors import root_mean_square


@dataclass(frozen=True, slots=True)
class KernelError:
    """A GPU's benchmark speed over the reference's in one precision, in the logarithm: by kernels, and as it is."""

    gpu: str
    precision: str
    by_kernels: float
    known: float

    @property
    def error(self) -> float:
        """By kernels less known."""
        return self.by_kernels - self.known


def kernel_errors(model: TransferModel) -> list[KernelError]:
    """One row a GPU and precision of which both are known."""
    return [
        KernelError(gpu, "TF32" if tf32 else "FP32", kernel_log_speed(model, model.gpus[gpu], tf32), known)
        for gpu, tf32, known in _known(model)
        if gpu in model.kernels
    ]


def _known(model: TransferModel) -> Iterator[tuple[str, bool, float]]:
    """GPU, whether in TF32, log speed: measured, then published of the GPU itself."""
    for instance, row in model.step.instances.items():
        yield row.gpu, False, beside_reference(model, instance)
    for points, other in ((model.points, False), (model.fp32_points, True)):
        for name, point in points.items():
            if point.measured_on == name:
                has_tf32 = model.gpus[name].tf32_tensor_dense_tflops is not None
                yield name, has_tf32 and not other, point.log_speed


def main() -> None:
    """Print each error, the root mean square and the largest."""
    errors = kernel_errors(load_transfer(default_models_folder()))
    for row in errors:
        print(f"{row.gpu:22} {row.precision}  kernels {row.by_kernels:+.3f}  known {row.known:+.3f}  {row.error:+.3f}")
    for precision in ("FP32", "TF32"):
        own = [row.error for row in errors if row.precision == precision]
        if own:
            print(f"{precision}: root mean square {root_mean_square(own):.3f}, largest {max(map(abs, own)):.3f}")


if __name__ == "__main__":
    main()
