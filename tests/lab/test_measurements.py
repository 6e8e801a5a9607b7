"""The measurements and the published tables are read as what they are."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest

from profet_core import cost_table, load_catalog, load_models
from profet_core.prediction.models import load_samples
from profet_core.training.cost import MEASURED_EPOCH_FACTOR
from profet_lab.documented import fit_features
from profet_lab.measurements.published import load_points, mlperf_ratio, mlperf_speeds
from profet_lab.measurements.tables import (
    LATENCIES_FILE,
    PROFILES_FILE,
    WORKLOAD,
    DataError,
    data_folder,
    load_architectures,
    load_measurements,
)

pytestmark = pytest.mark.training

#: Images in an epoch of the measured workloads: epoch over step latency, times batch size, lands on these.
EPOCH_IMAGES = {32: 50_000, 64: 5_000, 128: 5_000, 224: 2_000, 256: 2_000}


def test_every_instance_has_the_same_workloads_which_the_shipped_models_were_trained_on(measurements):
    assert measurements.instances == ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
    assert len(measurements.workloads) == 307 * 9
    assert len(measurements.operations) == 65
    assert len(set(measurements.architectures)) == 15
    models = load_models()
    assert models.manifest["training_data"]["sha256"] == measurements.sha256
    assert models.features == fit_features(measurements, np.ones(len(measurements.workloads), bool))


def test_predicted_epochs_are_held_against_measured_ones(measurements):
    """An epoch is steps x latency; measured ones take a few per cent more (input, callbacks), never less."""
    catalog, table = load_catalog(), measurements.workloads
    runs = measurements.all_latencies
    medians = {}
    for instance in measurements.instances:
        epoch_s = table.merge(runs[runs["instance"] == instance], on=[*WORKLOAD, "repeat"])["epoch_latency_s"]
        assert len(epoch_s) == len(table)
        ratios = []
        for row in range(0, len(table), 9):
            costs = cost_table(
                {instance: measurements.latency_ms[instance][row]},
                catalog,
                images=EPOCH_IMAGES[table["pixels"][row]],
                batch_size=int(table["batch_size"][row]),
            )
            ratios.append(epoch_s[row] / costs[0].epoch_s)
        medians[instance] = float(np.median(ratios))
        assert np.quantile(ratios, 0.01) > 0.97
    low, high = MEASURED_EPOCH_FACTOR
    assert all(low - 0.005 <= median <= high + 0.005 for median in medians.values()), medians


def test_samples_are_the_medians_of_the_data_and_test_data_the_first_repeat(measurements):
    table = measurements.workloads
    for sample in load_samples():
        if not sample.measured_ms:
            continue  # Made from layer counts.
        rows = (
            (table["model"] == sample.model)
            & (table["pixels"] == sample.pixels)
            & (table["batch_size"] == sample.batch_size)
        )
        assert rows.sum() == 9
        for name, measured_ms in {sample.anchor: sample.latency_ms, **sample.measured_ms}.items():
            repeats_ms = measurements.latency_ms[name][rows]
            first = name == sample.anchor and sample.title.startswith("PROFET test")
            assert measured_ms == pytest.approx(repeats_ms[0] if first else np.median(repeats_ms), abs=5e-4)


def test_a_missing_folder_file_or_workload_is_named(tmp_path):
    with pytest.raises(DataError, match="No measurements in"):
        data_folder(tmp_path)

    with pytest.raises(DataError, match=r"No architectures\.csv in"):
        load_architectures(tmp_path)
    (tmp_path / PROFILES_FILE).parent.mkdir()
    (tmp_path / PROFILES_FILE).touch()
    with pytest.raises(DataError, match=r"No profet.latencies\.parquet in"):
        load_measurements(tmp_path)
    for read in (load_points, mlperf_speeds):
        with pytest.raises(DataError, match=r"No external/.*csv in"):
            read(tmp_path)
    pd.read_parquet(data_folder() / PROFILES_FILE)[1:].to_parquet(tmp_path / PROFILES_FILE)
    shutil.copy(data_folder() / LATENCIES_FILE, tmp_path / LATENCIES_FILE)
    with pytest.raises(DataError, match="has other workloads than the rest"):
        load_measurements(tmp_path)


def test_published_speeds_are_read_by_gpu_and_mlperf_compares_within_a_round():
    speeds = mlperf_speeds(data_folder())
    ratio, rounds = mlperf_ratio(speeds, "H100-PCIE-80GB", "A100-PCIE-80GB")
    assert (round(ratio, 3), rounds) == (1.417, 2)
    # An L4 is no L40S, and one GPU that no round shares with another has no ratio.
    assert mlperf_ratio(speeds, "L4", "A100-PCIE-80GB")[0] == pytest.approx(0.221, abs=0.001)
    assert mlperf_ratio(speeds, "A10G", "A100-PCIE-40GB") is None
    assert mlperf_ratio(speeds, "B200", "A100-PCIE-80GB") is None
    images_per_s = load_points(data_folder()).set_index(["gpu", "precision"]).images_per_s
    assert (
        images_per_s["H100-SXM5-80GB", "tf32"] == 1893
        and images_per_s["B200", "amp"] == 3076
        and images_per_s["A40", "amp"] == 654
    )
