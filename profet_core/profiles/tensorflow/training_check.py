"""Tells whether a trace holds a training step of TensorFlow's: JAX' traces and forward passes look like one."""

from __future__ import annotations

import re
from collections.abc import Iterable

FORWARD_ONLY = (
    "This is a forward pass (without gradients or weight updates): profile a training step, model.fit or a step "
    "with tf.GradientTape."
)
JAX = (
    "This is a JAX profile: XLA fuses its operations, and the models support TensorFlow and PyTorch only. Record a "
    "training step of the same network with one of these."
)

#: What JAX calls its programs and calls.
_JAX = re.compile(r"(?:jit|pjit|pmap)[_(]|PjitFunction|PjRtCApi|PjRtStreamExecutor|jax")
_FORWARD = re.compile(r"_?(?:Fused)?(?:DepthwiseConv2dNative|Conv[23]D|MatMul|BatchMatMul(?:V[23])?)")
#: Gradients, optimisers' updates, and the updates that Keras 3 makes of single operations.
_BACKWARD = re.compile(r"Grad|Backprop|Apply|AssignSub")


def has_gradient(name: str) -> bool:
    """True for the name of an operation of a gradient: "gradient_tape/net/...", "gradients/net/...", "GradientTape"."""
    return "gradient" in name or "Gradient" in name


def is_jax_name(name: str) -> bool:
    """True for the name of a program or call of JAX'; a network of TensorFlow's may have such a name too."""
    return _JAX.match(name) is not None


def is_forward(kind: str) -> bool:
    """True for a type that does a network's work in its forward pass."""
    return _FORWARD.fullmatch(kind) is not None


def training_refusal(operations: Iterable[str], gradient_seen: bool) -> str:
    """Why a step is none of a training, and what to do; empty if it is one or that is open.

    Parameters
    ----------
    operations : "Device_Conv2D", "Host_MatMul".
    gradient_seen : some operation's name says that it is of a gradient.
    """
    kinds = [name.partition("_")[2] for name in operations]
    forward = any(map(is_forward, kinds))
    if gradient_seen or not forward or any(_BACKWARD.search(kind) for kind in kinds):
        return ""
    return FORWARD_ONLY
