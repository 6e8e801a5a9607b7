"""Tells an optimizer's update of the weights, in any of PyTorch's ways of doing it, as TensorFlow's operation of it."""

from __future__ import annotations

from collections.abc import Collection

#: PyTorch labels the call of every optimizer: "Optimizer.step#SGD.step".
OPTIMIZER_STEP = "Optimizer.step#"

_GRADIENT_DESCENT, _MOMENTUM = "ResourceApplyGradientDescent", "ResourceApplyMomentum"
_ADAM = "ResourceApplyAdam"
#: What the name of an optimizer's class holds, small letters, those that say more first.
_BY_NAME = (
    ("adagrad", "ResourceApplyAdagradV2"),
    ("adadelta", "ResourceApplyAdadelta"),
    ("adamax", "ResourceApplyAdaMax"),
    ("adam", _ADAM),
    ("lamb", _ADAM),
    ("adan", _ADAM),
    ("rmsprop", "ResourceApplyRMSProp"),
    ("ftrl", "ResourceApplyFtrl"),
)


def update_operation(label: str, operations: Collection[str]) -> str:
    """TensorFlow's type of the update that an optimizer's step makes.

    Parameters
    ----------
    label : "Optimizer.step#Adam.step".
    operations : names of PyTorch's operations inside: a running mean of the gradients takes a product, the mean of
        their squares a root.
    """
    name = label.removeprefix(OPTIMIZER_STEP).partition(".")[0].lower()
    if known := next((kind for part, kind in _BY_NAME if part in name), None):
        return known
    parts = [operation.removeprefix("aten::").strip("_").removeprefix("foreach_") for operation in operations]
    if "sgd" not in name and any(part.startswith(("sqrt", "addcdiv", "fused_adam")) for part in parts):
        return _ADAM
    return _MOMENTUM if "mul" in parts else _GRADIENT_DESCENT
