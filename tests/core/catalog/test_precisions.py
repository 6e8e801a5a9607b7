"""Names of precisions."""

import pytest

from profet_core.catalog.gpus import AS_PROFILED, canonical, is_half, requested_precision
from profet_core.errors import InputError


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        "FP32": "fp32",
        "float32": "fp32",
        "fp32-inferred": "fp32",
        "tf32-conv": "tf32",
        "fp16": "amp",
        "mixed fp16": "amp",
        "mixed_float16": "amp",
        "mixed precision": "amp",
        "mixed bf16": "bf16",
        "mixed_bfloat16": "bf16",
        "int8": None,
        "fp64": None,
    }.items(),
)
def test_what_recorders_and_data_write_means_one_precision(written, meant):
    assert canonical(written) == meant
    assert is_half(written) is (meant in ("amp", "bf16"))


def test_a_question_asks_for_a_known_precision():
    assert requested_precision("as profiled") == AS_PROFILED and requested_precision("FP16") == "amp"
    with pytest.raises(InputError, match="int8"):
        requested_precision("int8")
