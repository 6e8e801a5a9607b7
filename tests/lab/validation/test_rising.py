"""Falls are counted between neighboring sizes of one network, from one anchor, on one GPU."""

from __future__ import annotations

import pandas as pd
import pytest


def test_falls_are_counted_along_each_axis():
    from profet_lab.validation.rising import rising_table

    rows = [
        ("a", "H100", "net", pixels, batch, ms)
        for pixels, batch, ms in ((32, 16, 10.0), (32, 64, 9.9), (32, 256, 20.0), (64, 16, 10.0), (64, 64, 5.0))
    ]
    columns = ["anchor", "gpu", "model", "pixels", "batch_size", "latency_ms"]
    found = rising_table(pd.DataFrame(rows, columns=columns)).set_index("axis")
    assert found.loc["batch", "n"] == 3 and found.loc["pixels", "n"] == 2
    assert found.loc["batch", "falls"] == pytest.approx(200 / 3), "10 to 9.9 and 10 to 5"
    assert found.loc["batch", "notable"] == pytest.approx(100 / 3)
    assert found.loc["pixels", "falls"] == found.loc["pixels", "notable"] == 50
