"""Accuracy of PROFET's documented method on our folds; "original" in reports.

Re-run with TensorFlow 2.21 and scikit-learn 1.9: clusters by edit distance over all names; line, forest and dense
network with the settings of PROFET's scripts; leave-one-architecture-out, all nine repeats.
"""

from __future__ import annotations

from importlib import resources

import pandas as pd

#: The baseline on the eight architectures without a near twin in the data, with and without latency, percent.
WITHOUT_TWIN_MAPE = (15.7, 16.3)

#: Mean error of PROFET's scaler over the inner sizes from true end latencies, percent, and per instance.
SCALER_MAPE = {
    "batch": {"g3s.xlarge": 3.91, "g4dn.xlarge": 4.81, "p2.xlarge": 6.06, "p3.2xlarge": 5.16, "mean": 5.01},
    "pixels": {"g3s.xlarge": 7.90, "g4dn.xlarge": 7.23, "p2.xlarge": 10.14, "p3.2xlarge": 6.89, "mean": 7.98},
}


def baseline_pairs() -> pd.DataFrame:
    """Per (anchor, target): MAPE of ensembles and members in percent, R2, RMSE in milliseconds."""
    return _read("baseline_pairs.csv").set_index(["anchor", "target"])


def baseline_architectures() -> pd.DataFrame:
    """Per architecture: MAPE with and without the anchor's latency, percent, over all pairs."""
    return _read("baseline_architectures.csv").set_index("model")


def _read(name: str) -> pd.DataFrame:
    with resources.files("profet_lab.documented").joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file)
