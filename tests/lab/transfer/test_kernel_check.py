"""What kernels tell of a GPU is compared with what was measured or published of it, and their spread is no smaller."""

from __future__ import annotations

import math

import pytest

from profet_core.transfer.model import load_transfer
from profet_core.transfer.speed import kernel_log_speed, tf32_log_gain
from profet_lab.transfer.kernel_check import kernel_errors
from profet_lab.transfer.transfer_file import KERNEL_LOG_SD

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def model(repository):
    return load_transfer(repository / "models")


def test_each_gpu_with_kernels_and_a_speed_of_its_own_is_compared(model):
    found = {(row.gpu, row.precision): row for row in kernel_errors(model)}
    assert {("Tesla T4", "FP32"), ("Tesla P100-PCIE-16GB", "FP32"), ("A100-PCIE-40GB", "FP32")} <= found.keys()
    assert {("A100-PCIE-80GB", "TF32"), ("H100-SXM5-80GB", "TF32")} <= found.keys()
    # L4 has kernels and nothing to compare them with.
    assert "L4" in model.kernels and not any(gpu == "L4" for gpu, _ in found)
    steps = model.step.instances
    t4 = found["Tesla T4", "FP32"]
    assert t4.known == pytest.approx(
        math.log(steps["p3.2xlarge"].benchmark_work_ms / steps["g4dn.xlarge"].benchmark_work_ms)
    )
    assert t4.by_kernels == kernel_log_speed(model, model.gpus["Tesla T4"], False)
    assert found["A100-PCIE-40GB", "FP32"].known == model.fp32_points["A100-PCIE-40GB"].log_speed


def test_the_spread_of_speeds_by_kernels_covers_what_was_seen(model):
    """In FP32, and in TF32 by the square root of the peaks' ratio: one factor of 1.4 is off by up to 0.55."""
    largest = max(abs(row.error) for row in kernel_errors(model))
    assert largest <= KERNEL_LOG_SD <= largest + 0.05
    assert model.kernel_log_sd == KERNEL_LOG_SD


def test_tf32_gains_the_root_of_the_peaks_ratio(model):
    assert math.exp(tf32_log_gain(model.gpus["A100-SXM4-40GB"])) == pytest.approx(math.sqrt(156 / 19.49))
    assert tf32_log_gain(model.gpus["Tesla T4"]) == 0
