"""What is documented of the diagnosis of profiles holds for the measured ones."""

import pandas as pd
import pytest

from profet_lab.validation.diagnosis_check import diagnosed, summary


def test_the_summary_counts_by_hand():
    table = pd.DataFrame({"kind": ["idle", "busy", "busy", "busy"], "speedup": [1.0, 1.4, 2.0, 3.0]})
    found = summary(table)
    assert found.loc["busy"].tolist() == [3, 0.75, 2.0, pytest.approx(2 / 3)]
    assert found.loc["idle"].tolist() == [1, 0.25, 1.0, 0.0]


def test_another_gpu_seldom_helps_a_step_that_is_called_idle(measurements):
    found = summary(diagnosed(measurements, latency_known=True))
    assert found.loc["idle", "share"] == pytest.approx(0.0566, abs=0.0005)
    assert found.loc["idle", "helped"] == pytest.approx(0.061, abs=0.0005)
    assert found.loc["busy", "helped"] == pytest.approx(0.735, abs=0.0005)
    assert found.loc["input", "profiles"] == 15
