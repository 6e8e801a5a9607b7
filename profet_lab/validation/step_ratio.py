"""Ratio of a step's device rows to its latency, for `profet_core.prediction.steps`.

`python -m profet_lab.validation.step_ratio [--data DIR]` prints quantiles over every measured profile, all instances
together and each alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np

from profet_core.units import US_PER_MS
from profet_lab.measurements.tables import Measurements, data_folder, load_measurements

#: Percent of the profiles that lie at or below.
QUANTILES = (0.1, 1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0, 99.9, 100.0)


def step_ratios(measurements: Measurements) -> dict[str, np.ndarray]:
    """Instance -> sum of the device rows, idle included, over the step's latency, (rows,)."""
    return {
        name: measurements.device_total_us(name) / US_PER_MS / measurements.latency_ms[name]
        for name in measurements.instances
    }


def ratio_quantiles(ratios: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The `QUANTILES` of all ratios, named "all", then of each instance's."""
    groups = {"all": np.concatenate(list(ratios.values())), **ratios}
    return {name: np.percentile(values, QUANTILES) for name, values in groups.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    ratios = step_ratios(load_measurements(data_folder(parser.parse_args().data)))
    print(f"{sum(map(len, ratios.values())):,} profiles")
    print("percent     " + "".join(f"{'max' if share == 100 else f'{share:g}':>8}" for share in QUANTILES))
    for name, values in ratio_quantiles(ratios).items():
        print(f"{name:<12}" + "".join(f"{value:8.3f}" for value in values))


if __name__ == "__main__":
    main()
