"""Operations are grouped by what they do; profiles that TensorFlow cut are inferred from complete ones."""

from __future__ import annotations

from collections import Counter

import pytest

from profet_core.ensemble.members import step_inputs
from profet_core.features.classes import CHEAP_MS, load_operation_classes
from profet_core.profiles.record import Profile

CLASSES = load_operation_classes()


def times_of(profile_us: dict[str, float]) -> dict[str, float]:
    """Class -> milliseconds, of classes that have any."""
    times, _ = CLASSES.encode([Profile(profile_us)])
    return {name: ms for name, ms in zip(CLASSES.names, times.times_ms[0], strict=True) if ms}


# --- the table ------------------------------------------------------------------------------------------------------


def test_all_55_device_operations_are_in_exactly_one_class():
    counts = Counter(operation for names in CLASSES.device.values() for operation in names)
    assert len(counts) == 55
    assert set(counts.values()) == {1}
    assert all(operation.startswith("Device_") for operation in counts)


# --- sums -----------------------------------------------------------------------------------------------------------


def test_times_of_a_class_are_added_up_and_in_milliseconds():
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
    [
        ("TopKV2", "elementwise"),
        ("aten::_fft_r2c", "elementwise"),
        ("CudnnRNNV3", "matrix product"),
    ],
)
def test_a_kind_the_models_never_saw_is_served_by_the_nearest_and_told_where_it_is_notable(operation, served_by):
    name = f"Device_{operation}"
    assert times_of({name: 3000.0}) == {served_by: 3.0}
    _, (unknown,) = CLASSES.encode([Profile({name: 3000.0, "Device_MatMul": 1000.0})])
    assert (dict(unknown.mapped), unknown.left_out, unknown.share) == ({name: served_by}, (), 0.75)
    _, (little,) = CLASSES.encode([Profile({name: 9.9, "Device_MatMul": 990.1})])
    assert (little.names, little.share) == ((), 0.0)


def test_an_operation_of_no_known_kind_is_unknown_and_its_time_kept_apart():
    times, (unknown,) = CLASSES.encode([Profile({"Device_FlashAttention": 3000.0, "Device_MatMul": 1000.0})])
    assert times.unknown_ms.tolist() == [3.0]
    assert times.times_ms.sum() == 1.0
    assert (dict(unknown.mapped), unknown.left_out, unknown.share) == ({}, ("Device_FlashAttention",), 0.75)


def test_letters_place_nothing():
    """Names like those of operations that the models know, but of no known kind; "Unknown" went to "DivNoNan"."""
    near = ("Unknown", "Conv2E", "MyConv2D", "MatMull", "Relu7", "DivNoNans", "Select_")
    assert CLASSES.place([f"Device_{name}" for name in near]) == dict.fromkeys([f"Device_{name}" for name in near])
    far = {"Device_Select": "elementwise", "Device_ResourceApplyAdam": "weight update", "Device_Pow": "elementwise"}
    assert {name: CLASSES.names[column] for name, column in CLASSES.place(list(far)).items()} == far


def test_communication_between_gpus_is_part_of_nothing_and_told():
    profile = Profile({"Device_MatMul": 1000.0, "Device_NcclAllReduce": 3000.0, "Device_CollectiveReduceV2": 2000.0})
    times, (unknown,) = CLASSES.encode([profile])
    assert (times.times_ms.sum(), times.unknown_ms.tolist()) == (1.0, [0.0])
    assert set(unknown.left_out) == {"Device_NcclAllReduce", "Device_CollectiveReduceV2"}
    assert unknown.share == pytest.approx(5 / 6)


def test_host_rows_outside_the_table_count_in_the_host_total_alone():
    profile = {"Host_Conv2D": 2000.0, "Host_IDLE": 5000.0, "Host_Dataset": 1000.0}
    times, (unknown,) = CLASSES.encode([Profile(profile)])
    assert times_of(profile) == {"host input": 1.0}
    assert times.host_total_ms.tolist() == [8.0]
    assert (times.unknown_ms.tolist(), unknown.names) == ([0.0], ())


def test_profiles_of_different_operations_are_encoded_in_their_order():
    profiles = [
        Profile({"Device_MatMul": 1000.0, "Device_Nothing_like_it": 7000.0}),
        Profile({"Device_Conv2D": 2000.0}),
        Profile({"Device_MatMul": 3000.0, "Device_Nothing_like_it": 8000.0}),
    ]
    times, unknown = CLASSES.encode(profiles)
    assert times.times_ms[:, CLASSES.names.index("matrix product")].tolist() == [1, 0, 3]
    assert times.unknown_ms.tolist() == [7, 0, 8]
    assert [len(each.left_out) for each in unknown] == [1, 0, 1]


# --- profiles that were cut -----------------------------------------------------------------------------------------

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
