"""Operation clusters and features."""

import numpy as np
import pytest

from profet_core.profiles import Profile
from profet_core.profiles.record import US_DIGITS
from profet_lab.documented.ensemble import cluster_names, encode_table, fit_features


def operations(clusters):
    return [cluster.operations for cluster in clusters]


def test_average_not_single_linkage_decides():
    # a-b 1, b-c 6, a-c 7: joined to {a, b} at the average 6.5, above the cut of 6 (single linkage would join at 6).
    a, b, c = "xxxxxxx", "xxxxxxy", "zzzzzzy"
    assert operations(cluster_names([a, b, c], cut=6)) == [(a, b), (c,)]
    assert operations(cluster_names([a, b, c], cut=6.5)) == [(a, b, c)]


@pytest.mark.parametrize("names", [[], ["Conv2D"]])
def test_fewer_than_two_names_need_no_linkage(names):
    assert operations(cluster_names(names)) == [(name,) for name in names]


def test_features_come_from_the_given_rows_alone(small):
    without_c = fit_features(small, small.architectures != "C")
    assert "Device_OnlyInC" not in without_c.columns
    assert "Device_OnlyInC" in fit_features(small, small.architectures == "C").columns


def test_a_table_is_encoded_as_its_profiles_are(small):
    spec = fit_features(small, small.architectures != "C")
    # A profile keeps its times to the picosecond.
    times_us = small.times_us["slow"].round(US_DIGITS)
    table = encode_table(spec, small.operations, times_us)
    profiles = [Profile(dict(zip(small.operations, row, strict=True))) for row in times_us]
    np.testing.assert_allclose(table, spec.encode(profiles)[0], rtol=1e-12)


def test_clusters_of_the_real_names_are_those_of_the_baseline(measurements):
    spec = fit_features(measurements, np.ones(len(measurements.workloads), bool))
    found = operations(spec.clusters)
    assert len(found) == 23
    assert ("AvgPool", "AvgPoolGrad", "MaxPool", "MaxPoolGrad") in found
    assert ("ConcatV2", "Conv2D") in found
    assert ("DepthwiseConv2dNative",) in found
    assert len(spec.host_operations) == 10
