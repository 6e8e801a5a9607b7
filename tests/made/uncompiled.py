"""Training in few steps: compiled for the processor first, as it is for many, it would take longer."""

from __future__ import annotations

from typing import Any

import pytest


def without_compiling(patch: pytest.MonkeyPatch) -> None:
    """Networks are trained by TensorFlow's own kernels; what they learn is the same but for rounding."""
    import tensorflow as tf

    function = tf.function

    def plain(*given: Any, jit_compile: bool | None = None, **others: Any) -> Any:
        return function(*given, **others)

    patch.setattr(tf, "function", plain)
