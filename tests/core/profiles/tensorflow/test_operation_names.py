"""Types of operations in TensorFlow's names: what oneDNN adds is taken away, labels with levels are taken apart."""

from __future__ import annotations

import pytest

from profet_core.profiles.tensorflow.operation_names import kernel_operation, operation_type, public_type


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        ("_MklNativeFusedConv2D", "_FusedConv2D"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2DBackpropFilter"),
        ("_MklFusedBatchNormV3", "FusedBatchNormV3"),
        ("_MklNativeFusedBatchNormGradV3", "FusedBatchNormGradV3"),
        ("_MklNativeFusedBatchNormEx", "_FusedBatchNormEx"),
        ("Conv2D", "Conv2D"),
        ("_Mkl", "_Mkl"),
        ("_mkl_secret", "Unknown"),
    ],
)
def test_what_onednn_adds_to_a_type_is_taken_away(kind, plain):
    assert public_type(kind) == plain
    assert operation_type(f"net/layer:{kind}") == plain


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("net/c:Conv2D#a=b#", "Conv2D"),
        ("a::b::net/c:Conv2D#a=b#::net/r:Relu", "Conv2D"),
        ("a/_4:_Recv#from=x,to=y#::#edge_name=e#", "_Recv"),
        ("MEMCPYHtoD", "MemcpyHToD"),
        ("MakeTensorFromProto", "MemcpyHToD"),
        ("jit(f)/jit(main)/dot_general:", "Unknown"),
        ("", "Unknown"),
        (":" * 4096, "Unknown"),
    ],
)
def test_the_first_level_of_a_kernels_label_with_a_type_tells(label, kind):
    assert kernel_operation(label) == kind
