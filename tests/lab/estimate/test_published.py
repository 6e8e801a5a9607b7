"""Published steps: what is judged, and how, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from profet_core.from_layers.model import load_estimate
from profet_core.layers.networks import counts_of
from profet_lab.estimate import published
from profet_lab.measurements.published import THROUGHPUT_FILE


def write(folder, *rows):
    columns = ["gpu", "memory_gib", "precision", "network", "pixels", "batch_size", "gpus", "images_per_s"]
    (folder / THROUGHPUT_FILE.parent).mkdir()
    pd.DataFrame(rows, columns=columns).to_csv(folder / THROUGHPUT_FILE, index=False)


def test_steps_on_one_gpu_of_known_networks_but_resnet_50_are_judged(models, tmp_path):
    write(
        tmp_path,
        ("A100-PCIE-40GB", 40, "tf32", "VGG16", 224, 64, 1, 640.0),
        ("A100-PCIE-40GB", 40, "fp32", "AlexNet", 227, 512, 1, 5120.0),
        ("A100-PCIE-40GB", 40, "tf32", "ResNet50", 224, 64, 1, 800.0),
        ("A100-PCIE-40GB", 40, "fp16", "VGG16", 224, 64, 1, 1280.0),
        ("A100-PCIE-40GB", 40, "tf32", "VGG16", 224, 64, 2, 1280.0),
        ("A100-PCIE-40GB", 40, "tf32", "SSD300 (ResNet-50)", 300, 64, 1, 200.0),
        ("Voodoo2", 1, "fp32", "VGG16", 224, 64, 1, 1.0),
    )
    model = load_estimate(models.folder)
    steps = published.published_steps(model, models.transfer, tmp_path)
    assert [(one.gpu, one.network) for one in steps] == [
        ("A100-PCIE-40GB", "VGG16"),
        ("A100-PCIE-40GB", "AlexNet (2014)"),
    ]
    # 64 images at 640 a second; the small AlexNet, of 61 million parameters.
    assert [one.latency_ms for one in steps] == pytest.approx([100, 100])
    assert counts_of("AlexNet (2014)", 227, 1_000).parameters < 65e6
    figures = published.published_report(model, models.transfer, tmp_path)
    ratios = [one.estimated_ms / 100 for one in steps]
    assert figures["all"]["n"] == 2
    assert figures["all"]["mape"] == pytest.approx(sum(abs(ratio - 1) for ratio in ratios) / 2 * 100)
    assert figures["by_network"]["VGG16"]["bias"] == pytest.approx(100 * (ratios[0] - 1))
