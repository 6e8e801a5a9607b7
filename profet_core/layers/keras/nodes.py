"""Read the graph of a Keras file: which layer is called on which tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from profet_core.errors import InputError
from profet_core.layers.network import shown
from profet_core.layers.rules import MAX_DIMENSIONS

#: A call: the layer's name and which of its calls it is.
Call = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that a layer is called on."""

    call: Call
    index: int
    recorded: tuple[int | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """One layer of a model."""

    name: str
    class_name: str
    config: Mapping[str, Any]
    record: Mapping[str, Any]
    calls: tuple[tuple[Tensor, ...], ...]


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One model."""

    layers: list[LayerRecord]
    inputs: list[Tensor]
    outputs: list[Tensor]


def model_record(config: object) -> ModelRecord:
    """The model that a config describes."""
    if not isinstance(config, dict):
        raise InputError("it has no layers: save a model that was built.")
    # A tensor, a list of them, or a record of them.
    tensors = (list(_tensors(config.get(key))) for key in ("input_layers", "output_layers"))
    return ModelRecord(layer_records(config.get("layers")), *tensors)


def layer_records(layers: object) -> list[LayerRecord]:
    """The layers of a model's config."""
    if not isinstance(layers, list) or not layers:
        raise InputError("it has no layers: save a model that was built.")
    found: dict[str, LayerRecord] = {}
    for number, record in enumerate(layers):
        layer = _layer_record(record, number)
        if layer.name in found:
            raise InputError(f"two of its layers are called {shown(layer.name)}: save the model again.")
        found[layer.name] = layer
    return list(found.values())


def _layer_record(record: Any, number: int) -> LayerRecord:
    match record:
        case {"class_name": str(class_name), "config": dict(config)}:
            name = record.get("name", config.get("name", f"number {number + 1}"))
            nodes = record.get("inbound_nodes") or []
            if isinstance(name, str) and isinstance(nodes, list):
                called = [[each.get("args"), each.get("kwargs")] if isinstance(each, dict) else each for each in nodes]
                return LayerRecord(name, class_name, config, record, tuple(tuple(_tensors(each)) for each in called))
    raise InputError(f"its layer {number + 1} is not written as Keras writes layers: save the model again.")


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors of one call, in order: records of Keras 3, or lists of Keras 2."""
    match value:
        case {"class_name": "__keras_tensor__", "config": {"keras_history": [str(name), int(call), int(index)]}}:
            yield Tensor((name, call), index, recorded_shape(value["config"].get("shape")))
        case ["_CONSTANT_VALUE", *_]:
            return
        case [str(name), int(call), int(index), *rest]:
            yield Tensor((name, call), index)
            yield from _tensors(rest)
        case dict() | list():
            for each in value.values() if isinstance(value, dict) else value:
                yield from _tensors(each)


def recorded_shape(shape: object) -> tuple[int | None, ...] | None:
    """A shape with the batch as a file has it, None if it is none."""
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS + 1:
        return None
    return tuple(shape) if all(side is None or isinstance(side, int) for side in shape) else None


def in_order(layers: list[LayerRecord]) -> list[Call]:
    """Every call, after those whose tensors it takes."""
    needs: dict[Call, list[Call]] = {}
    for layer in layers:
        for number, tensors in enumerate(layer.calls or ((),)):
            needs[layer.name, number] = [tensor.call for tensor in tensors]
    for call, others in needs.items():
        for other in others:
            if other not in needs:
                raise InputError(f"layer {shown(call[0])} is called on {shown(other[0])}, which isn't there.")
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        name = shown(error.args[1][0][0])
        raise InputError(f"its layers are called in a circle: {name} needs its own output.") from None
