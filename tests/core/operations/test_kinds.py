"""The tables of kinds: whole, one class each, and nothing told by letters but four rules."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from profet_core import Profile, read_profile
from profet_core.operations.classes import load_operation_classes
from profet_core.operations.kinds import is_set_aside, kind_of, load_operation_kinds, stem
from profet_core.profiles.pytorch.translations import load_translations

KINDS, CLASSES = load_operation_kinds(), load_operation_classes()
REAL = Path(os.environ.get("PROFET_DATA", "../shared/data")) / "real_profiles"


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


def test_two_spellings_of_one_operation_are_of_one_kind():
    """What the rule on prefix and version looks an operation up by must not be of two kinds."""
    kinds: dict[str, set[str]] = {}
    for name, kind in KINDS.operations.items():
        kinds.setdefault(stem(name), set()).add(kind)
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Conv2D", "Conv2D"),
        ("FusedBatchNormV3", "FusedBatchNorm"),
        ("_MklNativeFusedBatchNormV3", "FusedBatchNorm"),
        ("__MklDummyConv2DWithBias", "Conv2DWithBias"),
        ("AdjustContrastv2", "AdjustContrast"),
        ("aten::_softmax", "aten::softmax"),
        ("aten::add_", "aten::add"),
        ("V2", ""),
        ("", ""),
        ("a\nb", "a\nb"),
    ],
)
def test_a_stem_is_a_name_without_who_wrote_the_kernel(name, short):
    assert stem(name) == short


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("Device_Conv2D", "convolution"),
        ("Host_Conv2D", "convolution"),
        ("Conv2D", "convolution"),
        ("Device_MatMulV7", "matrix product"),
        ("Device__MklNativeLeakyRelu", "activation"),
        ("Device_SwishGrad", "activation gradient"),
        ("Device_MaxPool3DGradGradV2", "pooling gradient"),
        ("Device_LayerNormGrad", "normalisation gradient"),
        ("Device_ExpGrad", "elementwise"),
        ("Device_aten::gelu", "activation"),
        ("Device_aten::celu_backward", "activation gradient"),
        ("Device_aten::addmm_", "matrix product"),
        ("Device_aten::scaled_dot_product_attention", "attention"),
        ("Device_aten::upsample_nearest2d", "picture processing"),
        ("Device_aten::embedding_dense_backward", "gather and scatter"),
        ("Device_aten::sort", "sorting and counting"),
        ("Device_ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication"),
        ("Device_c10d::allreduce_", "communication"),
        ("Device_HorovodGroupedAllreduce", "communication"),
        ("Host_ParallelMapDatasetV2", "input pipeline"),
        ("Host_WriteSummary", "files and text"),
        ("Device_Unknown", None),
        ("Device_UnknownGrad", None),
        ("Device_MyCustomOp", None),
        ("Device_MyConv2DGrad", None),
        ("Device_Grad", None),
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
    for operation, translation in load_translations().exact.items():
        if operation.startswith("aten::") and translation.types:
            assert kind_of(operation) is not None, operation
        assert all(kind_of(kind) is not None for kind in translation.types), operation


def unplaced_share(profile: Profile) -> float:
    """Part of the GPU's busy time that has no class."""
    busy = {name: us for name, us in profile.operations.items() if name.startswith("Device_") and name != "Device_IDLE"}
    placed = CLASSES.place(list(busy))
    return sum(us for name, us in busy.items() if placed[name] is None) / sum(busy.values())


@pytest.mark.data
@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real profiles in {REAL}")
def test_of_real_profiles_hardly_anything_is_left_out():
    rows = json.loads((REAL / "tensorflow_one_step.json").read_text())
    profiles = [Profile(row["operations_us"]) for row in rows]
    profiles += [read_profile(path.read_bytes(), path.name) for path in sorted((REAL / "pytorch").iterdir())]
    assert len(profiles) == 11
    assert max(unplaced_share(profile) for profile in profiles) < 0.005
