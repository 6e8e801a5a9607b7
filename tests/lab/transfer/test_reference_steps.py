"""The shipped steps that throughputs are compared with are those of the measurements."""

from __future__ import annotations

from importlib import resources

import pytest

from profet_core.transfer.published import REFERENCE_STEPS_NAME, THROUGHPUT_LOG_SD
from profet_lab.measurements.tables import data_folder, load_architectures
from profet_lab.transfer.reference_steps import medians_of, reference_steps, steps_csv, throughput_log_sd


def test_the_shipped_table_and_its_spread_are_what_the_command_writes(measurements, models):
    steps = reference_steps(medians_of(measurements), load_architectures(data_folder()))
    shipped = resources.files("profet_core.transfer").joinpath(REFERENCE_STEPS_NAME).read_text(encoding="utf-8")
    assert steps_csv(steps) == shipped
    log_sd, count = throughput_log_sd(steps, models.transfer.step, data_folder())
    assert log_sd == pytest.approx(THROUGHPUT_LOG_SD, abs=0.01) and count == 8
