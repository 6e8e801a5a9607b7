"""The shipped steps that throughputs are compared with are those of the measurements."""

from __future__ import annotations

from importlib import resources

import pytest

from profet_core.transfer.own_gpu import OTHER_NETWORK_LOG_SD, REFERENCE_STEPS_NAME, THROUGHPUT_LOG_SD
from profet_lab.measurements.tables import DataError, data_folder, load_architectures
from profet_lab.transfer.reference_steps import medians_of, reference_steps, steps_csv, throughput_log_sds


def test_the_shipped_table_and_spreads_are_what_the_command_writes(measurements, models, tmp_path):
    steps = reference_steps(medians_of(measurements), load_architectures(data_folder()))
    shipped = resources.files("profet_core.transfer").joinpath(REFERENCE_STEPS_NAME).read_text(encoding="utf-8")
    assert steps_csv(steps) == shipped
    found = throughput_log_sds(steps, models.transfer.step, data_folder())
    assert found == pytest.approx((THROUGHPUT_LOG_SD, OTHER_NETWORK_LOG_SD), abs=0.01)
    with pytest.raises(DataError, match=r"No external/training_throughput\.csv in"):
        throughput_log_sds(steps, models.transfer.step, tmp_path)
