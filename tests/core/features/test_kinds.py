"""The tables of kinds: whole, one class each, and nothing inferred from letters but four rules."""

from __future__ import annotations

import pytest

from profet_core import read_profile
from profet_core.features.classes import load_operation_classes
from profet_core.features.operations import is_set_aside, kind_of, load_operation_kinds
from profet_core.profiles.pytorch.translations import load_translations
from profet_lab.measurements.tables import data_folder

KINDS, CLASSES = load_operation_kinds(), load_operation_classes()


def test_every_kind_is_served_by_a_device_class_or_by_none():
    served = {kind.operation_class for kind in KINDS.kinds.values()}
    assert served - set(CLASSES.device) == {None}
    assert [name for name, kind in KINDS.kinds.items() if kind.operation_class is None] == [
        "files and text",
        "communication",
    ]
    assert {kind.gradient for kind in KINDS.kinds.values()} <= set(KINDS.kinds)


def test_every_operation_is_of_a_kind_in_the_table_and_every_kind_has_one():
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
    found = kind_of(operation)
    assert (found and found.name) == kind


def test_only_communication_is_set_aside():
    assert [
        name for name in KINDS.operations if is_set_aside(name) != (KINDS.operations[name] == "communication")
    ] == []
    assert is_set_aside("Device_NcclAllReduce") and not is_set_aside("Device_Unknown")


def test_what_the_pytorch_table_translates_is_known_by_both_names():
    for operation, translation in load_translations().items():
        if operation.startswith("aten::") and "*" not in operation and translation.types:
            assert kind_of(operation) is not None, operation
        assert all(kind_of(kind) is not None for kind in translation.types), operation


def test_of_a_profile_of_2021_hardly_anything_is_left_out():
    profile = read_profile((data_folder() / "real_profiles/pytorch/resnet50-torch1.8.pt.trace.json.gz").read_bytes())
    busy_us = {name: us for name, us in profile.operations.items() if name.startswith("Device_")}
    unplaced = [name for name, column in CLASSES.place(list(busy_us)).items() if column is None]
    assert sum(busy_us[name] for name in unplaced) < 0.005 * profile.busy_total_us
