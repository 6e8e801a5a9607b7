"""Profiles become clustered feature vectors: columns, sums, and what happens to operations never seen before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core import Profile
from profet_core.features.operations import NO_UNKNOWN_OPERATIONS, FeatureSpec, OperationCluster

SPEC = FeatureSpec(
    clusters=(OperationCluster(("Conv2D", "Conv3D")), OperationCluster(("IDLE",)), OperationCluster(("Relu", "Relu6"))),
    host_operations=("Dataset", "IDLE"),
    near=2.0,
)


def encode_one(operations: dict[str, float], spec: FeatureSpec = SPEC):
    matrix, (unknown,) = spec.encode([Profile(operations)])
    return matrix[0].tolist(), unknown


def test_every_operation_seen_in_training_has_a_column():
    assert SPEC.names == ("Device_Conv2D&Conv3D", "Device_IDLE", "Device_Relu&Relu6", "Host_Dataset", "Host_IDLE")
    assert dict(SPEC.columns) == {
        "Device_Conv2D": 0,
        "Device_Conv3D": 0,
        "Device_IDLE": 1,
        "Device_Relu": 2,
        "Device_Relu6": 2,
        "Host_Dataset": 3,
        "Host_IDLE": 4,
    }


def test_an_unseen_operation_near_a_cluster_is_counted_there_with_its_share():
    # Conv1D is one letter from Conv2D and from Conv3D: 1 on average. Busy time 100 + 25 + 75 = 200, without idle.
    vector, unknown = encode_one({"Device_Conv2D": 100, "Device_Conv1D": 25, "Device_Relu": 75, "Host_IDLE": 800})
    assert vector == [125, 0, 75, 0, 800]
    assert dict(unknown.mapped) == {"Device_Conv1D": "Device_Conv2D&Conv3D"}
    assert unknown.left_out == ()
    assert unknown.names == ("Device_Conv1D",)
    assert unknown.share == 25 / 200


def test_an_unseen_operation_far_from_all_clusters_is_left_out_with_its_share():
    vector, unknown = encode_one({"Device_Conv2D": 60, "Device_BatchMatMulV2": 20, "Device_IDLE": 50})
    assert vector == [60, 50, 0, 0, 0]
    assert dict(unknown.mapped) == {}
    assert unknown.left_out == ("Device_BatchMatMulV2",)
    assert unknown.share == 20 / 80


def test_an_unseen_host_operation_is_left_out_however_near():
    vector, unknown = encode_one({"Device_Conv2D": 60, "Host_Datasets": 40, "Host_Conv2D": 100})
    assert vector == [60, 0, 0, 0, 0]
    assert unknown.left_out == ("Host_Conv2D", "Host_Datasets")
    assert unknown.share == 140 / 200


def test_near_is_the_average_distance_and_its_own_limit_counts():
    # Relu6x is 2 letters from Relu and 1 from Relu6: 1.5 on average; Relu6xy is 3 and 2: 2.5.
    assert SPEC.place(["Device_Relu6x"]) == {"Device_Relu6x": 2}
    assert SPEC.place(["Device_Relu6xy"]) == {"Device_Relu6xy": None}
    # IDLEab is exactly 2 letters from IDLE.
    assert SPEC.place(["Device_IDLEab"]) == {"Device_IDLEab": 1}
    assert SPEC.place(["Device_IDLEabc"]) == {"Device_IDLEabc": None}


def test_idle_time_without_a_column_is_neither_counted_nor_unknown():
    spec = FeatureSpec((OperationCluster(("Conv2D",)),), (), near=10.0)
    vector, unknown = encode_one({"Device_Conv2D": 1, "Device_IDLE": 3, "Host_IDLE": 5}, spec)
    assert vector == [1]
    assert unknown == NO_UNKNOWN_OPERATIONS


NAMES = [f"Device_{name}" for name in ("Conv2D", "Conv3D", "Conv1D", "IDLE", "Relu", "Relux", "Zzzzzz")]
NAMES += ["Host_Dataset", "Host_IDLE", "Host_Other"]
operations = st.dictionaries(st.sampled_from(NAMES), st.floats(0, 1e9), min_size=1)


@settings(max_examples=50)
@given(operations)
def test_no_time_is_lost_or_made_up(times):
    profile = Profile(times)
    matrix, (unknown,) = SPEC.encode([profile])
    left_out = sum(profile.operations[name] for name in unknown.left_out)
    assert matrix.sum() + left_out == pytest.approx(sum(profile.operations.values()))
    assert 0 <= unknown.share <= 1 + 1e-12


def test_the_shipped_features_are_in_the_manifests_order(models):
    assert list(models.features.names) == models.manifest["features"]["order"]
    operations = [name for cluster in models.features.clusters for name in cluster.operations]
    assert len(operations) == len(set(operations))
    assert len(models.features.columns) == len(operations) + len(models.features.host_operations)
