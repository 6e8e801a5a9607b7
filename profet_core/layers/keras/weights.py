"""What a file says of a layer's weights that makes them others than its class has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from profet_core.errors import InputError


def check_weights(config: Mapping[str, Any]) -> None:
    """Refuse weights that are quantized, or adapted by others beside them.

    Raises
    ------
    InputError : they are.
    """
    if _is_quantized(config.get("dtype")):
        raise InputError("it is quantized, which training isn't: save the float model.")
    if config.get("lora_rank"):
        raise InputError("its weights are adapted by LoRA, which isn't counted: save the model without lora_rank.")


def _is_quantized(policy: object) -> bool:
    """Whether a policy of dtypes is one of Keras' quantized ones, which alone have a mode."""
    match policy:
        case {"class_name": "DTypePolicyMap", "config": {"default_policy": default, "policy_map": dict(by_layer)}}:
            return any(_has_mode(each) for each in (default, *by_layer.values()))
    return _has_mode(policy)


def _has_mode(policy: object) -> bool:
    match policy:
        case {"config": {"mode": _}}:
            return True
    return isinstance(policy, str) and "_from_" in policy
