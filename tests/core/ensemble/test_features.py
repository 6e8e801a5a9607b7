"""Operations are grouped by what they do; profiles that TensorFlow cut are inferred from complete ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core import Profile, read_profile
from profet_core.ensemble.members import step_inputs
from profet_core.ensemble.operations import (
    CHEAP_MS,
    NO_UNKNOWN_OPERATIONS,
    FeatureSpec,
    is_set_aside,
    kind_of,
    load_operation_classes,
    load_operation_kinds,
    repair_factor,
)
from profet_lab.measurements.tables import data_folder
from profet_profiles.pytorch_events import load_translations

CLASSES = load_operation_classes()


def times_of(profile_us: dict[str, float]) -> dict[str, float]:
    """Class -> milliseconds, of classes that have any."""
    times, _ = CLASSES.encode([Profile(profile_us)])
    return {name: ms for name, ms in zip(CLASSES.names, times.times_ms[0], strict=True) if ms}


def test_55_device_operations_are_in_one_class_each_whose_times_are_added_up():
    counts = Counter(operation for names in CLASSES.device.values() for operation in names)
    assert len(counts) == 55
    assert set(counts.values()) == {1}
    assert all(operation.startswith("Device_") for operation in counts)
    profile = {"Device_Relu": 1000.0, "Device_Relu6": 500.0, "Device_BiasAdd": 250.0, "Device_IDLE": 4000.0}
    assert times_of(profile) == {"activation": 1.75, "idle": 4.0}


@pytest.mark.parametrize(
    ("operation", "served_by"),
    [
        ("Conv3D", "convolution"),
        ("_MklNativeConv2DBackpropFilterWithBias", "convolution filter gradient"),
        ("ResourceApplyAdam", "weight update"),
        ("Exp", "elementwise"),
        ("aten::native_layer_norm_backward", "batch norm gradient"),
        ("aten::_fused_adamw_", "weight update"),
    ],
)
def test_an_operation_of_a_kind_the_models_saw_counts_as_that_and_is_not_unknown(operation, served_by):
    assert times_of({f"Device_{operation}": 3000.0}) == {served_by: 3.0}
    times, (unknown,) = CLASSES.encode([Profile({f"Device_{operation}": 3000.0, "Device_MatMul": 1000.0})])
    assert (times.unknown_ms.tolist(), unknown.names, unknown.share) == ([0.0], (), 0.0)


@pytest.mark.parametrize(
    ("operation", "served_by"),
    [("TopKV2", "elementwise"), ("aten::_fft_r2c", "elementwise"), ("CudnnRNNV3", "matrix product")],
)
def test_a_kind_the_models_never_saw_is_served_by_the_nearest_and_reported_where_it_is_notable(operation, served_by):
    name = f"Device_{operation}"
    assert times_of({name: 3000.0}) == {served_by: 3.0}
    _, (unknown,) = CLASSES.encode([Profile({name: 3000.0, "Device_MatMul": 1000.0})])
    assert (dict(unknown.mapped), unknown.unused, unknown.share) == ({name: served_by}, (), 0.75)
    _, (little,) = CLASSES.encode([Profile({name: 9.9, "Device_MatMul": 990.1})])
    assert (little.names, little.share) == ((), 0.0)


def test_letters_place_nothing_and_time_of_no_known_kind_is_kept_apart():
    """Names like those of operations that the models know, but of no known kind; "Unknown" went to "DivNoNan"."""
    near = ("Unknown", "Conv2E", "MyConv2D", "MatMull", "Relu7", "DivNoNans", "Select_")
    assert CLASSES.place([f"Device_{name}" for name in near]) == dict.fromkeys([f"Device_{name}" for name in near])
    far = {"Device_Select": "elementwise", "Device_ResourceApplyAdam": "weight update", "Device_Pow": "elementwise"}
    assert {name: CLASSES.names[column] for name, column in CLASSES.place(list(far)).items()} == far
    times, (unknown,) = CLASSES.encode([Profile({"Device_FlashAttention": 3000.0, "Device_MatMul": 1000.0})])
    assert times.unknown_ms.tolist() == [3.0]
    assert times.times_ms.sum() == 1.0
    assert (dict(unknown.mapped), unknown.unused, unknown.share) == ({}, ("Device_FlashAttention",), 0.75)


def test_communication_between_gpus_alone_is_set_aside_and_reported():
    profile = Profile({"Device_MatMul": 1000.0, "Device_NcclAllReduce": 3000.0, "Device_CollectiveReduceV2": 2000.0})
    times, (unknown,) = CLASSES.encode([profile])
    assert (times.times_ms.sum(), times.unknown_ms.tolist()) == (1.0, [0.0])
    assert set(unknown.unused) == {"Device_NcclAllReduce", "Device_CollectiveReduceV2"}
    assert unknown.share == pytest.approx(5 / 6)
    assert [
        name for name in KINDS.operations if is_set_aside(name) != (KINDS.operations[name] == "communication")
    ] == []
    assert is_set_aside("Device_NcclAllReduce") and not is_set_aside("Device_Unknown")


def test_host_rows_outside_the_table_count_alone_and_translated_ones_have_two_names():
    profile = {"Host_Conv2D": 2000.0, "Host_IDLE": 5000.0, "Host_Dataset": 1000.0}
    times, (unknown,) = CLASSES.encode([Profile(profile)])
    assert times_of(profile) == {"host input": 1.0}
    assert times.host_total_ms.tolist() == [8.0]
    assert (times.unknown_ms.tolist(), unknown.names) == ([0.0], ())
    for operation, translation in load_translations().items():
        if operation.startswith("aten::") and "*" not in operation and translation.types:
            assert kind_of(operation) is not None, operation
        assert all(kind_of(kind) is not None for kind in translation.types), operation


def test_profiles_of_different_operations_are_encoded_in_their_order():
    profiles = [
        Profile({"Device_MatMul": 1000.0, "Device_Nothing_like_it": 7000.0}),
        Profile({"Device_Conv2D": 2000.0}),
        Profile({"Device_MatMul": 3000.0, "Device_Nothing_like_it": 8000.0}),
    ]
    times, unknown = CLASSES.encode(profiles)
    assert times.times_ms[:, CLASSES.names.index("matrix product")].tolist() == [1, 0, 3]
    assert times.unknown_ms.tolist() == [7, 0, 8]
    assert [len(names.unused) for names in unknown] == [1, 0, 1]


CUT = {"Device_Conv2D": 50_000.0, "Device_IDLE": 10.0}
LOSS = "Device_SoftmaxCrossEntropyWithLogits"


@pytest.mark.parametrize(
    ("more", "truncated", "severely"),
    [
        ({}, True, True),
        ({LOSS: 60.0}, True, False),
        ({"Device_MatMul": 60.0}, False, False),
        ({"Device_Softmax": 60.0}, False, False),
        ({"Device_MatMul": 0.0}, True, True),
        ({"Device_Cast": 1000 * CHEAP_MS + 1}, True, True),
        ({"Device_Cast": 1000 * CHEAP_MS}, False, False),
        ({"Host_Cast": 3.0}, True, True),
        ({"Device_Nothing_like_it": 3.0}, False, False),
    ],
)
def test_a_profile_without_end_of_step_and_without_cheap_operations_was_cut(more, truncated, severely):
    times, _ = CLASSES.encode([Profile({**CUT, **more})])
    assert (times.truncated.tolist(), times.severely.tolist()) == ([truncated], [severely])


def test_a_network_without_matrix_product_and_softmax_is_not_repaired_if_it_has_cheap_operations():
    """A segmentation network, say: its host rows would suggest that half of its step is missing."""
    profile = Profile({**CUT, "Device_AssignAddVariableOp": 4.0, "Host_IDLE": 200_000.0})
    times, _ = CLASSES.encode([profile])
    device, idle = len(CLASSES.device), CLASSES.names.index("idle")
    assert step_inputs(times, device, idle, None, None).repaired.tolist() == [1.0]
    cut, _ = CLASSES.encode([Profile({**CUT, "Host_IDLE": 200_000.0})])
    assert step_inputs(cut, device, idle, None, None).repaired[0] > 1


KINDS = load_operation_kinds()


def test_every_operation_has_a_kind_and_every_kind_a_device_class_or_none():
    served = {kind.operation_class for kind in KINDS.kinds.values()}
    assert served - set(CLASSES.device) == {None}
    assert [name for name, kind in KINDS.kinds.items() if kind.operation_class is None] == [
        "files and text",
        "communication",
    ]
    assert {kind.gradient for kind in KINDS.kinds.values()} <= set(KINDS.kinds)
    assert len(KINDS.operations) > 2900
    assert set(KINDS.operations.values()) == set(KINDS.kinds)
    assert not any(name.startswith(("Device_", "Host_")) for name in KINDS.operations)


def test_training_operations_keep_their_class_and_their_kind_says_the_same():
    """What the models were trained on is written down by name; only the small ones of "rest" are of other kinds."""
    for operation, column in CLASSES.columns.items():
        assert CLASSES.place([operation]) == {operation: column}
        kind = kind_of(operation)
        assert kind is not None, operation
        if operation.startswith("Device_") and CLASSES.names[column] != "rest":
            assert kind.operation_class == CLASSES.names[column], operation


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("Host_Conv2D", "convolution"),
        ("Conv2D", "convolution"),
        ("Device_MatMulV7", "matrix product"),
        ("Device__MklNativeLeakyRelu", "activation"),
        ("Device_MaxPool3DGradGradV2", "pooling gradient"),
        ("Device_ExpGrad", "elementwise"),
        ("Device_aten::celu_backward", "activation gradient"),
        ("Device_aten::addmm_", "matrix product"),
        ("Device_ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication"),
        ("Device_c10d::allreduce_", "communication"),
        ("Device_Unknown", None),
        ("Device_UnknownGrad", None),
        ("Device_MyConv2DGrad", None),
        ("Device_aten::", None),
        ("Device_", None),
        ("Device_Relu" + "Grad" * 49, "activation gradient"),
        ("Device_Relu" + "Grad" * 50, None),
        ("Device_aten::" + "_" * 10**6 + "y", None),
    ],
)
def test_kinds_by_table_and_rules(operation, kind):
    operation_kind = kind_of(operation)
    assert (operation_kind and operation_kind.name) == kind


def test_of_a_profile_of_2021_hardly_anything_is_left_out():
    profile = read_profile((data_folder() / "real_profiles/pytorch/resnet50-torch1.8.pt.trace.json.gz").read_bytes())
    busy_us = {name: us for name, us in profile.operations.items() if name.startswith("Device_")}
    unplaced = [name for name, column in CLASSES.place(list(busy_us)).items() if column is None]
    assert sum(busy_us[name] for name in unplaced) < 0.005 * profile.busy_total_us


STEP_MS, IDLE_MS = 100.0, 10.0


def factor_of(device_ms, idle_ms, host_ms, latency_ms=None, truncated=True, severely=False) -> tuple[float, float]:
    factor, doubt = repair_factor(
        np.array([float(device_ms)]),
        np.array([float(idle_ms)]),
        np.array([float(host_ms)]),
        np.array([truncated]),
        np.array([severely]),
        None if latency_ms is None else np.array([float(latency_ms)]),
    )
    return float(factor[0]), float(doubt[0])


@pytest.mark.parametrize("severely", [False, True])
@pytest.mark.parametrize("threads", [1, 1.5, 3.5])
def test_a_profile_that_lost_30_percent_is_scaled_back(threads, severely):
    # Complete: device rows of 100 ms, 10 of them idle. 30 ms of 90 busy ones are lost: 90 / 60 = 1.5 restores them.
    factor, doubt = factor_of(70, IDLE_MS, 1.03 * threads * STEP_MS, latency_ms=95, severely=severely)
    assert factor == pytest.approx(1.5, rel=0.06)
    assert 0 < doubt < 0.15


@pytest.mark.parametrize("latency_ms", [None, 95])
def test_complete_profiles_and_those_without_host_or_device_time_are_left_exactly_alone(latency_ms):
    assert factor_of(70, 10, 412, latency_ms, truncated=False) == (1.0, 0.0)
    for device_ms, idle_ms, host_ms in ((70, 10, 0), (0, 0, 412), (10, 10, 412)):
        assert factor_of(device_ms, idle_ms, host_ms, latency_ms) == (1.0, 0.0)


def test_profiles_are_repaired_each_on_its_own_exactly_with_one_plausible_thread_count():
    device, host = np.array([70.0, 70.0, 15.0]), np.array([412.0, 309.0, 100.0])
    idle, truncated, severely = np.full(3, 5.0), np.array([True, False, True]), np.array([False, False, True])
    together, _ = repair_factor(device, idle, host, truncated, severely, None)
    alone = [factor_of(*row)[0] for row in zip(device, idle, host, [None] * 3, truncated, severely, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    # 103 ms of host rows are one thread's 100 ms: the other counts give less than the latency and hardly weigh.
    factor, _ = factor_of(70, IDLE_MS, 103, latency_ms=95)
    assert factor == pytest.approx((STEP_MS - IDLE_MS) / 60, rel=1e-3)


@given(
    device_ms=st.floats(0, 1e6),
    idle_share=st.floats(0, 1),
    host_ms=st.floats(0, 1e7),
    latency_ms=st.none() | st.floats(1e-3, 1e6),
    severely=st.booleans(),
)
def test_any_factor_is_a_number_between_1_and_2(device_ms, idle_share, host_ms, latency_ms, severely):
    factor, doubt = factor_of(device_ms, idle_share * device_ms, host_ms, latency_ms, severely=severely)
    assert 1 <= factor <= 2
    assert 0 <= doubt < np.inf


SPEC = FeatureSpec(
    clusters=(("Conv2D", "Conv3D"), ("IDLE",), ("Relu", "Relu6")), host_operations=("Dataset", "IDLE"), near=2.0
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


def test_far_operations_and_unseen_host_ones_are_left_out_with_their_share_but_no_idle_time():
    vector, unknown = encode_one({"Device_Conv2D": 60, "Device_BatchMatMulV2": 20, "Device_IDLE": 50})
    assert vector == [60, 50, 0, 0, 0]
    assert dict(unknown.mapped) == {}
    assert unknown.unused == ("Device_BatchMatMulV2",)
    assert unknown.share == 20 / 80
    vector, unknown = encode_one({"Device_Conv2D": 60, "Host_Datasets": 40, "Host_Conv2D": 100})
    assert vector == [60, 0, 0, 0, 0]
    assert unknown.unused == ("Host_Conv2D", "Host_Datasets")
    assert unknown.share == 140 / 200
    spec = FeatureSpec((("Conv2D",),), (), near=10.0)
    vector, unknown = encode_one({"Device_Conv2D": 1, "Device_IDLE": 3, "Host_IDLE": 5}, spec)
    assert vector == [1]
    assert unknown == NO_UNKNOWN_OPERATIONS


def test_an_unseen_operation_near_a_cluster_on_average_is_counted_there_with_its_share():
    # Relu6x is 2 letters from Relu and 1 from Relu6: 1.5 on average; Relu6xy is 3 and 2: 2.5.
    assert SPEC.place(["Device_Relu6x"]) == {"Device_Relu6x": 2}
    assert SPEC.place(["Device_Relu6xy"]) == {"Device_Relu6xy": None}
    # IDLEab is exactly 2 letters from IDLE.
    assert SPEC.place(["Device_IDLEab"]) == {"Device_IDLEab": 1}
    assert SPEC.place(["Device_IDLEabc"]) == {"Device_IDLEabc": None}
    # Conv1D is one letter from Conv2D and from Conv3D: 1 on average. Busy time 100 + 25 + 75 = 200, without idle.
    vector, unknown = encode_one({"Device_Conv2D": 100, "Device_Conv1D": 25, "Device_Relu": 75, "Host_IDLE": 800})
    assert vector == [125, 0, 75, 0, 800]
    assert dict(unknown.mapped) == {"Device_Conv1D": "Device_Conv2D&Conv3D"}
    assert unknown.unused == ()
    assert unknown.names == ("Device_Conv1D",)
    assert unknown.share == 25 / 200


NAMES = [f"Device_{name}" for name in ("Conv2D", "Conv3D", "Conv1D", "IDLE", "Relu", "Relux", "Zzzzzz")]
NAMES += ["Host_Dataset", "Host_IDLE", "Host_Other"]
operations = st.dictionaries(st.sampled_from(NAMES), st.floats(0, 1e9), min_size=1)


@settings(max_examples=50)
@given(operations)
def test_no_time_is_lost_or_made_up(times):
    profile = Profile(times)
    matrix, (unknown,) = SPEC.encode([profile])
    left_out = sum(profile.operations[name] for name in unknown.unused)
    assert matrix.sum() + left_out == pytest.approx(sum(profile.operations.values()))
    assert 0 <= unknown.share <= 1 + 1e-12


def test_the_shipped_features_are_in_the_manifests_order(models):
    assert list(models.features.names) == models.manifest["features"]["order"]
    operations = [name for cluster in models.features.clusters for name in cluster]
    assert len(operations) == len(set(operations))
    assert len(models.features.columns) == len(operations) + len(models.features.host_operations)
