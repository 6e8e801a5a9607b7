"""Check the diagnosis of profiles: how many it flags, and whether another GPU was faster.

`python -m profet_lab.validation.diagnosis_check [--data DIR]` diagnoses every measured profile, with its latency and
without, and counts how much faster the fastest of the other instances ran the same step.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from profet_core.prediction.diagnosis import diagnose
from profet_core.profiles import Profile
from profet_lab.measurements.tables import Measurements, data_folder, load_measurements

#: Another instance "helps" where it ran the step more than this many times as fast.
HELPS = 1.5


def diagnosed(measurements: Measurements, latency_known: bool) -> pd.DataFrame:
    """One row a profile: `kind`, as `diagnose` says, and `speedup` on the fastest of the other instances."""
    rows = []
    for instance in measurements.instances:
        others = [measurements.latency_ms[name] for name in measurements.instances if name != instance]
        speedup = measurements.latency_ms[instance] / np.min(others, axis=0)
        for times_us, latency_ms, faster in zip(
            measurements.times_us[instance], measurements.latency_ms[instance], speedup, strict=True
        ):
            profile = Profile(dict(zip(measurements.operations, times_us, strict=True)))
            found = diagnose(profile, float(latency_ms) if latency_known else None)
            rows.append((found.kind, float(faster)))
    return pd.DataFrame(rows, columns=["kind", "speedup"])


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """For each kind: number and share of profiles, median speed-up, and the share that another instance helped."""
    groups = table.groupby("kind")["speedup"]
    return pd.DataFrame(
        {
            "profiles": groups.size(),
            "share": groups.size() / len(table),
            "median_speedup": groups.median(),
            "helped": groups.agg(lambda values: float((values > HELPS).mean())),
        }
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    measurements = load_measurements(data_folder(parser.parse_args().data))
    for known in (True, False):
        print(f"latency {'known' if known else 'not known'}")
        print(summary(diagnosed(measurements, known)).to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
