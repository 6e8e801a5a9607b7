"""Precision by the names that a profile's meta has, for both frameworks."""

from __future__ import annotations

#: From compute capability 8 on (Ampere), float32 products run as TF32 unless that is switched off.
TF32_CAPABILITY = (8, 0)
#: Name of a floating-point type in both frameworks -> precision.
PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
