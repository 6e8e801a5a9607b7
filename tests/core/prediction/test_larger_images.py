"""Images larger than PROFET measured: the published speeds of one network at two sizes are within the intervals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from profet_core import advise
from profet_core.latency import quantile
from profet_core.prediction.growth import MAX_AREA_POWER
from profet_core.prediction.scaler import LARGEST_PIXELS, sizes_for

#: Columns of forward speeds of one GPU and PyTorch version.
SPEEDS = ("rtx3090_pt240", "rtx4090_pt240", "rtx4090_pt291", "rtx5090_pt291", "rtxpro6000maxq_pt291")


@pytest.fixture(scope="module")
def pairs(repository) -> pd.DataFrame:
    """Log ratio of areas, and of times, of each network at two sizes, the larger above 256 pixels."""
    table = pd.read_csv(repository / "data" / "external" / "timm_forward_throughput.csv", low_memory=False)
    slopes = []
    for speed in SPEEDS:
        for _, rows in table.dropna(subset=[speed]).groupby("model"):
            known = sorted(zip(rows["pixels"], rows[speed], strict=True))
            for (small, fast), (large, slow) in combinations(known, 2):
                if large > 256 and large > small:
                    slopes.append((2 * np.log(large / small), np.log(fast / slow)))
    return pd.DataFrame(slopes, columns=["log_area", "log_time"])


def test_intervals_hold_the_published_growth_with_larger_images(models, pairs):
    assert len(pairs) > 1_000 and pairs["log_area"].max() > 1.5
    area = pairs["log_area"].to_numpy()
    for name, scaling in models.growth.models.items():
        # Of a step of average features that grows as a whole, as steps of large images do.
        power = MAX_AREA_POWER / (1 + np.exp(-scaling.area[0]))
        off = np.abs(pairs["log_time"].to_numpy() - power * area)
        # At least as narrow as intervals get, and those of a step of which a twentieth doesn't grow.
        for share, least in ((1.0, 0.885), (0.95, 0.94)):
            log_sd = models.growth.error.log_sd(np.array(share), np.zeros(len(area)), area)
            within = np.mean(off <= quantile() * log_sd)
            assert within >= least, (name, share, within)


@pytest.mark.parametrize("pixels", [800, 1152])
def test_a_detector_grows_as_published_speeds_do(models, catalog, pairs, counted_sample, pixels):
    """Not as its kinds of operations would say: 2.7 times at twice the side, where its layers say 3.9."""
    anchor, known_ms = counted_sample.anchor, 827.0
    asked = {"latency_ms": known_ms, "images": 1_000, "at_pixels": pixels, "gpu": "T4"}
    table = advise(models, catalog, counted_sample.profile, anchor, **asked).to_frame()
    of_anchor = table.set_index("instance").loc[anchor]
    log_area = 2 * np.log(pixels / counted_sample.pixels)
    near = pairs[np.abs(pairs["log_area"] / log_area - 1) < 0.1]
    low, high = (np.log(of_anchor[end] / known_ms) for end in ("low_ms", "high_ms"))
    assert len(near) > 50 and near["log_time"].between(low, high).mean() > 0.85


def test_larger_sizes_are_offered_to_profiles_of_larger_images_alone():
    assert sizes_for("pixels", 224) == sizes_for("pixels", 256) == list(range(32, 257))
    large = sizes_for("pixels", 600)
    assert (large[0], large[-1], 600 in large) == (32, LARGEST_PIXELS, True)
    assert {256, 288, 320, 512, 640, 800, 1024, 1280} <= set(large)
    assert sizes_for("batch", 600)[-2:] == [256, 600]
