"""What one measured latency gains."""

import numpy as np
import pandas as pd
import pytest

from profet_core.prediction.correction import share_carried_over
from profet_core.profiles import ProfileMeta
from profet_lab.validation.default import measured_report


def table(log_errors: dict[int, float]) -> pd.DataFrame:
    """One network on one pair, a row a batch size, predicted 100 ms and measured 100 * exp(error)."""
    return pd.DataFrame(
        [
            {
                "anchor": "a",
                "target": "b",
                "model": "X",
                "pixels": 64,
                "batch_size": batch,
                "true_ms": 100 * np.exp(error),
                "with_latency": 100.0,
            }
            for batch, error in log_errors.items()
        ]
    )


def test_an_error_shrinks_to_what_the_weight_leaves():
    weight = share_carried_over(ProfileMeta(batch_size=16, pixels=64), ProfileMeta(batch_size=32, pixels=64))
    found = measured_report(table({16: 0.2, 32: 0.2}), ("with_latency",))
    assert found["mape_with_latency"] == pytest.approx(100 * (1 - np.exp(-0.2 * (1 - weight))))

    # Without an error at the measured workload nothing changes.
    found = measured_report(table({16: 0.0, 32: 0.1}), ("with_latency",))
    first = 100 * (np.exp(0.1 * weight) - 1)  # corrected by the other's error, though it had none
    second = 100 * (1 - np.exp(-0.1))  # corrected by nothing
    assert found["mape_with_latency"] == pytest.approx((first + second) / 2)
