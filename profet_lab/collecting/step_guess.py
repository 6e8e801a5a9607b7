"""Fit the step latency that `profet collect --plan` expects.

Run as `python -m profet_lab.collecting.step_guess [DATA]`.

Prints the constants of `profet_collect/expected.py` and how far off they are on the published latencies.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from profet_core.catalog import load_catalog, load_gpus
from profet_core.layers.networks import counts_of
from profet_lab.collecting.quick_cells import latencies_of
from profet_lab.measurements.tables import data_folder

NAMES = (
    "START_MS",
    "LAYER_MS",
    "FLOPS_FACTOR",
    "DEPTHWISE_PASSES",
    "ACTIVATION_PASSES",
    "PARAMETER_PASSES",
    "COPY_MS_PER_MB",
)
_BEGIN = (1.0, 0.05, 2.0, 5.0, 3.0, 3.0, 0.1)


def terms(latencies: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """What each constant is multiplied with, (steps, constants), and the latencies in ms, (steps,)."""
    catalog, gpus = load_catalog(), load_gpus()
    rows, measured_ms = [], []
    for instance in latencies.columns:
        gpu = gpus.find(catalog[instance].gpu, catalog[instance].gpu_memory_gib)
        for (model, pixels, batch), latency_ms in zip(latencies.index, latencies[instance], strict=True):
            counts = counts_of(model, pixels)
            products = counts.convolution_flops + counts.dense_flops
            rows.append(
                (
                    1.0,
                    counts.layers,
                    3 * batch * products / gpu.fp32_tflops / 1e9,
                    3 * batch * counts.depthwise_flops / gpu.bandwidth_gb_per_s / 1e6,
                    counts.activation_bytes() * batch / gpu.bandwidth_gb_per_s / 1e6,
                    counts.parameter_bytes() / gpu.bandwidth_gb_per_s / 1e6,
                    pixels**2 * 12 * batch / 1e6,
                )
            )
            measured_ms.append(latency_ms)
    return np.array(rows), np.array(measured_ms)


def main() -> None:
    """Fit and print."""
    columns, measured_ms = terms(latencies_of(data_folder(sys.argv[1] if len(sys.argv) > 1 else None)))

    def misses(logs: np.ndarray) -> np.ndarray:
        return np.log(columns @ np.exp(logs)) - np.log(measured_ms)

    fitted = least_squares(misses, np.log(_BEGIN), loss="soft_l1").x
    for name, value in zip(NAMES, np.exp(fitted), strict=True):
        print(f"{name} = {value:.4g}")
    print(f"mean error {100 * np.abs(np.expm1(misses(fitted))).mean():.0f}%")


if __name__ == "__main__":
    main()
