"""What is fitted to read profiles, and how it is judged on held-out networks and GPUs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from profet_core.layers.networks import measured_counts
from profet_lab.transfer import BENCHMARK, fit_readers, measured_medians, profiled_content
from profet_lab.validation.held_out_gpus import _directions, figures

pytestmark = pytest.mark.training


def test_of_a_held_out_network_the_kernels_are_about_as_many_as_its_layers_say(measurements):
    medians = measured_medians(measurements)
    for network, anchor in (("VGG16", "g4dn.xlarge"), ("ResNet34", "p3.2xlarge")):
        own = medians.architectures == network
        reader = fit_readers(medians, ~own, network)[anchor]
        _, kernels = reader.read(medians.with_latency[anchor].groups_ms[own])
        counted = measured_counts(network, 224).layers.operations
        # Of all networks they are off by 0.45 in the logarithm.
        assert np.median(kernels) == pytest.approx(counted, rel=0.5), network


def test_the_shipped_instances_are_those_that_the_measurements_have(measurements, models):
    medians = measured_medians(measurements)
    assert medians.workloads[medians.benchmark].to_numpy().tolist() == [[*BENCHMARK]]
    for name, row in profiled_content(medians).items():
        shipped = models.transfer.profiled[name]
        assert (row["gpu"], row["host"]) == (shipped.gpu, shipped.host.name)
        assert row["inferred_log_half_width"] == pytest.approx(shipped.inferred_log_half_width, rel=1e-4)


def test_figures_of_directions_by_hand():
    rows = [
        {"anchor": anchor, "target": target, "error": math.log(factor), "half": math.log(1.15)}
        for anchor, target, factor in (("a", "b", 1.1), ("a", "b", 0.8), ("b", "a", 1.3))
    ]
    report = _directions(pd.DataFrame(rows), "target")
    first, second = report["directions"]
    assert (first["anchor"], first["target"], first["n"]) == ("a", "b", 2)
    assert first["mape_with_latency"] == pytest.approx(15.0) and first["missed_90_with_latency"] == 50.0
    assert second["bias_with_latency"] == pytest.approx(30.0)
    assert report["mean"]["mape_with_latency"] == pytest.approx(22.5)
    assert report["worst"]["mape_with_latency"] == pytest.approx(30.0)
    assert report["by_gpu"]["b"]["mape_with_latency"] == pytest.approx(15.0)
    assert figures(pd.DataFrame(rows))["median_interval_pct_with_latency"] == pytest.approx(15.0)
