"""What the project says about the measurements holds for the measurements."""

import numpy as np
import pytest

from profet_core import cost_table, load_catalog, load_models
from profet_core.artifacts.samples import load_samples
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_lab.documented.ensemble import fit_features
from profet_lab.measurements.tables import (
    PROFILES_FILE,
    WORKLOAD,
    DataError,
    data_folder,
    load_architectures,
    load_measurements,
)

#: Images in an epoch of the measured workloads: epoch over step latency, times batch size, lands on these.
EPOCH_IMAGES = {32: 50_000, 64: 5_000, 128: 5_000, 224: 2_000, 256: 2_000}


def test_every_instance_has_the_same_workloads(measurements):
    assert measurements.instances == ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
    assert len(measurements.workloads) == 307 * 9
    assert len(measurements.operations) == 65
    assert len(set(measurements.architectures)) == 15


def test_the_shipped_models_were_trained_on_these_measurements(measurements):
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
            ratios.append(epoch_s[row] / costs.rows[0].epoch_s)
        medians[instance] = float(np.median(ratios))
        assert np.quantile(ratios, 0.01) > 0.97
    low, high = MEASURED_EPOCH_FACTOR
    assert all(low - 0.005 <= median <= high + 0.005 for median in medians.values()), medians


def test_samples_are_the_medians_of_the_data(measurements):
    table = measurements.workloads
    for sample in load_samples():
        rows = (
            (table["model"] == sample.model)
            & (table["pixels"] == sample.pixels)
            & (table["batch_size"] == sample.batch_size)
        )
        assert rows.sum() == 9
        for name, measured_ms in {sample.anchor: sample.latency_ms, **sample.measured_ms}.items():
            assert measured_ms == pytest.approx(np.median(measurements.latency_ms[name][rows]), abs=5e-4)


def test_a_missing_folder_or_file_is_named(tmp_path):
    with pytest.raises(DataError, match="No measurements in"):
        data_folder(tmp_path)

    with pytest.raises(DataError, match=r"No architectures\.csv in"):
        load_architectures(tmp_path)
    (tmp_path / PROFILES_FILE).parent.mkdir()
    (tmp_path / PROFILES_FILE).touch()
    with pytest.raises(DataError, match=r"No profet.latencies\.parquet in"):
        load_measurements(tmp_path)
