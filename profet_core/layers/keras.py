"""Read a `.keras` file, or the JSON of a model: follow it from input to outputs, and count its layers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from profet_core.errors import InputError, ProfileError, no_vision
from profet_core.layers.network import (
    MAX_DIMENSIONS,
    Caveats,
    Kind,
    Layer,
    LayerList,
    Network,
    Shape,
    count,
    image_sides,
    packing_problem,
    shape_text,
    shown,
    whole,
)
from profet_core.layers.rules import AUGMENTATION, KINDS, Settings, apply_rule, elementwise, is_function, resized
from profet_profiles.unpacking import Content, files_in_archive

#: In names of recurrent layers, also ConvLSTM2D and StackedRNNCells.
_RECURRENT = ("LSTM", "GRU", "RNN")
#: Operations that take an average over sides, and make a matrix, unlike the layers and functions of these names.
_OTHER_OPERATIONS = frozenset({"Average", "Identity"})
MODELS = frozenset({"Sequential", "Functional", "Model"})
_INPUT = "InputLayer"
#: A shape with the batch, where the file has one, and those before and after a layer.
_Stated = tuple[int | None, ...] | None
_Recorded = tuple[_Stated, _Stated]

#: A call: the layer's name and which of its calls it is.
Call = tuple[str, int]
#: A tensor that a layer is called on: the call that puts it out, which of its outputs it is, and its shape.
Tensor = tuple[Call, int, _Stated]


class LayerRecord(Struct, frozen=True):
    """One layer of a model."""

    name: str
    class_name: str
    config: Mapping[str, Any]
    record: Mapping[str, Any]
    calls: tuple[tuple[Tensor, ...], ...]


def layer_records(layers: object) -> list[LayerRecord]:
    """Return the layers of a model's config."""
    if not isinstance(layers, list) or not layers:
        raise InputError("it has no layers: save a model that was built.")
    records: dict[str, LayerRecord] = {}
    for number, record in enumerate(layers, 1):
        match record:
            case {"class_name": str(class_name), "config": dict(config)}:
                name = record.get("name", config.get("name", f"number {number}"))
                nodes = record.get("inbound_nodes") or []
            case _:
                name = nodes = None
        if not isinstance(name, str) or not isinstance(nodes, list):
            raise InputError(f"its layer {number} is not written as Keras writes layers: save the model again.")
        if name in records:
            raise InputError(f"two of its layers are called {shown(name)}: save the model again.")
        called = [[node.get("args"), node.get("kwargs")] if isinstance(node, dict) else node for node in nodes]
        records[name] = LayerRecord(name, class_name, config, record, tuple(tuple(_tensors(node)) for node in called))
    return list(records.values())


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors of one call, in order: records of Keras 3, or lists of Keras 2."""
    match value:
        case {"class_name": "__keras_tensor__", "config": {"keras_history": [str(name), int(call), int(index)]}}:
            yield (name, call), index, recorded_shape(value["config"].get("shape"))
        case ["_CONSTANT_VALUE", *_]:
            return
        case [str(name), int(call), int(index), *rest]:
            yield (name, call), index, None
            yield from _tensors(rest)
        case dict() | list():
            for inner in value.values() if isinstance(value, dict) else value:
                yield from _tensors(inner)


def recorded_shape(shape: object) -> _Stated:
    """Return a shape with the batch as a file has it, None if it is none."""
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS + 1:
        return None
    return tuple(shape) if all(side is None or isinstance(side, int) for side in shape) else None


def in_order(layers: list[LayerRecord]) -> list[Call]:
    """Every call, after those whose tensors it takes."""
    needs: dict[Call, list[Call]] = {}
    for layer in layers:
        for number, tensors in enumerate(layer.calls or ((),)):
            needs[layer.name, number] = [call for call, _, _ in tensors]
    for call, others in needs.items():
        for other in others:
            if other not in needs:
                raise InputError(f"layer {shown(call[0])} is called on {shown(other[0])}, which isn't there.")
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        name = shown(error.args[1][0][0])
        raise InputError(f"its layers are called in a circle: {name} needs its own output.") from None


class KerasModel:
    """One model at one image size."""

    def __init__(self, document: Mapping[str, Any], pixels: int | None) -> None:
        self.caveats = Caveats()
        self.image: Shape = ()
        self._pixels = pixels
        self.layers = LayerList()
        self._counted: set[tuple[str, ...]] = set()
        self.outputs = self._model(document, None, ())
        if not self.image:
            raise InputError("it has no image as its input.")

    def _model(self, record: Mapping[str, Any], inputs: list[Shape] | None, path: tuple[str, ...]) -> list[Shape]:
        """Return outputs of a model; `inputs` None for the file's own model, which brings its own."""
        class_name, config = record.get("class_name"), record.get("config")
        if not isinstance(class_name, str):
            raise InputError("its JSON names no class of a model: save it with `model.save` or `model.to_json`.")
        if class_name not in MODELS:
            raise InputError(
                f"it is a {shown(class_name)}, whose layers only its code defines: save a functional model."
            )
        if not isinstance(config, dict):
            raise InputError("it has no layers: save a model that was built.")
        layers = layer_records(config.get("layers"))
        if class_name != "Sequential":
            return self._graph(layers, config, inputs, path)
        shapes = [self._sequence_input(layers, record)] if inputs is None else inputs
        built = [*map(_built_shape, layers), None]
        for index, layer in enumerate(layers):
            if layer.class_name != _INPUT:
                shapes = self._call(layer, shapes, path, (built[index], built[index + 1]))
        return shapes

    def _sequence_input(self, layers: list[LayerRecord], record: Mapping[str, Any]) -> Shape:
        first = layers[0]
        config = record.get("config")
        listed = [first.config.get("batch_shape"), first.config.get("batch_input_shape")]
        listed += [config.get("build_input_shape")] if isinstance(config, dict) else []
        built = first.record.get("build_config") if first.class_name not in MODELS else None
        listed += [built.get("input_shape")] if isinstance(built, dict) else []
        for shape in listed:
            if isinstance(shape, list):
                return self._input_shape(shape)
        if first.class_name in MODELS:
            inner = first.config.get("layers")
            if first.class_name == "Sequential":
                return self._sequence_input(layer_records(inner), {"config": first.config})
            for layer in layer_records(inner):
                if layer.class_name == _INPUT:
                    return self._input_shape(_batch_shape(layer))
        if self._pixels is None:
            raise InputError("it doesn't say the image's size: give the pixels, or save a model that was built.")
        self.caveats.add("The file doesn't say how many channels an image has: 3 are taken")
        return self._input_shape([None, None, None, 3])

    def _graph(
        self, layers: list[LayerRecord], config: Mapping[str, Any], inputs: list[Shape] | None, path: tuple[str, ...]
    ) -> list[Shape]:
        # A tensor, a list of them, or a record of them.
        entries, ends = (list(_tensors(config.get(key))) for key in ("input_layers", "output_layers"))
        by_name = {layer.name: layer for layer in layers}
        recorded = {call: stated for layer in layers for tensors in layer.calls for call, _, stated in tensors}
        outputs: dict[Call, list[Shape]] = {}
        if inputs is not None:
            if len(entries) != len(inputs):
                raise InputError(f"it is called on {len(inputs):,} tensors and has {len(entries):,} inputs.")
            outputs = {call: [shape] for (call, _, _), shape in zip(entries, inputs, strict=True)}
        for call in in_order(layers):
            if call in outputs:
                continue
            layer = by_name[call[0]]
            if layer.class_name == _INPUT:
                shape = self._input_shape(_batch_shape(layer))
                outputs[call] = [self.layers.put(Layer(Kind.INPUT, shape), name=shown(layer.name))]
                continue
            tensors = layer.calls[call[1]] if layer.calls else ()
            shapes = [self._tensor(tensor, outputs) for tensor in tensors]
            before = tensors[0][2] if len(tensors) == 1 else None
            outputs[call] = self._call(layer, shapes, path, (before, recorded.get(call)))
        if not ends:
            raise InputError("it has no outputs.")
        return [self._tensor(end, outputs) for end in ends]

    def _tensor(self, tensor: Tensor, outputs: Mapping[Call, list[Shape]]) -> Shape:
        call, index, stated = tensor
        shapes = outputs.get(call)
        if shapes is None or not 0 <= index < len(shapes):
            raise InputError(f"layer {shown(call[0])} doesn't have the output that the file names.")
        shape = shapes[index]
        if self._pixels is None and stated is not None:
            sides = stated[1:]
            if len(sides) != len(shape) or any(a not in (None, b) for a, b in zip(sides, shape, strict=True)):
                where = f"layer {shown(call[0])} would put out {shape_text(shape)} by its settings"
                raise InputError(f"{where}, and the file says otherwise: save the model again.")
        return shape

    def _call(self, layer: LayerRecord, shapes: list[Shape], path: tuple[str, ...], recorded: _Recorded) -> list[Shape]:
        """Return outputs of a layer; `recorded` are the shapes before and after it, where the file has them."""
        here = (*path, layer.name)
        if layer.class_name in MODELS:
            return self._model(layer.record, shapes, here)
        is_shared = here in self._counted
        try:
            if layer.config.get("data_format") == "channels_first":
                raise InputError("it has channels first, which isn't counted: save it with channels last.")
            made = self._layers(layer, tuple(shapes), recorded)
        except InputError as error:
            raise InputError(f"layer {shown(layer.name)} ({shown(layer.class_name)}): {error}") from None
        self._counted.add(here)
        output: Shape = ()
        for made_layer in made:
            if is_shared:
                # It has the parameters it had.
                made_layer = replace(made_layer, parameters=0, trainable=0)
            elif made_layer.trainable and layer.config.get("trainable") is False:
                self.caveats.add("Frozen in the file, and counted without gradients", shown(layer.name))
                made_layer = replace(made_layer, trainable=0)
            output = self.layers.put(made_layer, name=shown(layer.name))
        return [output]

    def _layers(self, layer: LayerRecord, shapes: tuple[Shape, ...], recorded: _Recorded) -> list[Layer]:
        name = layer.class_name
        if name == "Lambda" and _keeps_shape(shapes, recorded):
            self.caveats.add("Code that is not run, counted as elementwise", shown(layer.name))
            return [elementwise(shapes[0])]
        if name == "Lambda":
            raise InputError("what its code does can't be known, as it is not run: replace it by Keras' own layers.")
        settings = Settings(layer.config)
        if _is_keras(layer.record.get("module")) and ".ops" in shown(layer.record["module"]):
            # Of Keras 3, called on tensors; some have the name of a layer and do otherwise.
            if f"ops.{name}" in KINDS:
                return apply_rule(f"ops.{name}", settings, shapes)
            if is_function(name) and name not in _OTHER_OPERATIONS:
                return [elementwise(*shapes)]
            if (output := _operation_output(name, shapes, recorded)) is None:
                raise InputError("this operation of Keras isn't counted: replace it by Keras' own layers.")
            self.caveats.add("Operations counted by their output", shown(layer.name))
            return [resized(output)]
        if not _is_custom_class(layer):
            if name in AUGMENTATION:
                self.caveats.add("Augmentation, counted as elementwise", shown(layer.name))
            if name.isidentifier() and name in KINDS:
                return apply_rule(name, settings, shapes)
            function = layer.config.get("function") if name == "TFOpLambda" else name
            if isinstance(function, str) and is_function(function):
                return [elementwise(*shapes)]
        if any(word in name for word in _RECURRENT):
            raise InputError(no_vision("the network is no vision network", "it has recurrent layers", "Give one"))
        raise InputError("this kind of layer isn't counted, and no code is run: replace it by Keras' own layers.")

    def _input_shape(self, batch_shape: object) -> Shape:
        """Return the shape of an input, at the requested pixels if it is an image."""
        if not isinstance(batch_shape, list) or not 2 <= len(batch_shape) <= 6:
            raise InputError("its input has no shape: save a model that was built.")
        sides = tuple(batch_shape[1:])
        if len(sides) in (2, 3):
            image = image_sides(sides[0], sides[1], self._pixels)
            rest = tuple(whole(side, "number of channels") for side in sides[2:])
            self.image = self.image or (*image, *rest)
            return (*image, *rest)
        if any(side is None for side in sides):
            raise InputError("it leaves the size of an input open: fix it, and save the model again.")
        return tuple(whole(side, "input's size") for side in sides)


def _batch_shape(layer: LayerRecord) -> object:
    return layer.config.get("batch_shape", layer.config.get("batch_input_shape"))


def _built_shape(layer: LayerRecord) -> _Stated:
    """Return the shape that a layer of a sequence was built for, where the file has it."""
    built = layer.record.get("build_config")
    return recorded_shape(built.get("input_shape")) if isinstance(built, dict) else None


def _keeps_shape(shapes: tuple[Shape, ...], recorded: _Recorded) -> bool:
    """Whether one tensor goes in, and the file has the shape behind it as the one before."""
    before, after = recorded
    return len(shapes) == 1 and before is not None and before == after


def _operation_output(name: str, shapes: tuple[Shape, ...], recorded: _Recorded) -> Shape | None:
    """Return the output's shape of an operation of Keras that has no rule, None where it isn't known.

    Known are operations that keep shapes, and the two that take channels apart and together, as the preprocessing of
    Keras' own networks does.
    """
    before, after = recorded
    if _keeps_shape(shapes, recorded):
        return shapes[0]
    if name == "GetItem" and len(shapes) == 1 and before and after == before[:-1]:
        return shapes[0][:-1]
    if name == "Stack" and shapes and len(set(shapes)) == 1 and after and after[-1] == len(shapes):
        return (*shapes[0], len(shapes))
    return None


def _is_custom_class(layer: LayerRecord) -> bool:
    """Return a class of the user's may be called as one of Keras', and do something else."""
    module, registered = layer.record.get("module"), layer.record.get("registered_name")
    if module is None:
        # Keras 2 writes modules nowhere, and registered names before a mark.
        if registered is None:
            return False
        return shown(registered).partition(">")[0] not in ("keras", "Keras", layer.class_name)
    return not _is_keras(module)


def _is_keras(module: object) -> bool:
    return shown(module).removeprefix("tensorflow.").partition(".")[0] in ("keras", "tf_keras")


CONFIG = "config.json"
#: The description of a network of a thousand layers has two megabytes.
MAX_JSON_BYTES = 16 * 2**20
#: What containers say of a file that starts with nothing but blanks.
_EMPTY = "The file is empty"


def read_archive(content: Content, name: str, pixels: int | None) -> Network:
    """Return the network in a `.keras` file, a zip archive with a model's description; its weights are not opened."""
    try:
        files = files_in_archive(content)
        descriptions = [file for file in files if file.name == CONFIG]
        if not descriptions and any(file.name.endswith("data.pkl") for file in files):
            raise InputError("this is a PyTorch checkpoint, without layers: export the model with torch.onnx.export.")
        if len(descriptions) != 1:
            has = "two descriptions" if descriptions else "no config.json, so it is not a .keras file"
            raise InputError(f"the archive has {has}: save the model with model.save('model.keras').")
        data = descriptions[0].open(2**16).read(MAX_JSON_BYTES)
    except ProfileError as error:
        problem = packing_problem(error)
        if problem == _EMPTY:
            raise InputError(f"its {CONFIG} is blank: save the model again.") from None
        raise InputError(f"{problem}: save the model again, or give its {CONFIG}.") from None
    return read_description(data, name, pixels)


def read_description(data: bytes, name: str, pixels: int | None) -> Network:
    """Return the network in a model's JSON: a `.keras` file's `config.json`, or what `model.to_json` writes."""
    try:
        document = json.loads(data)
    except ValueError:
        raise InputError("it is not valid JSON, or cut short: save the model again.") from None
    if not isinstance(document, dict) or "class_name" not in document:
        raise InputError("its JSON describes no Keras model: save it with `model.save` or `model.to_json`.")
    model = KerasModel(document, pixels)
    if pixels is not None:
        _note_other_size(model, document, pixels)
    size = model.caveats.square(*model.image[:2])
    classes = model.outputs[0][-1] if model.outputs[0] else 1
    counts = count(model.layers, size, classes)
    version = document.get("keras_version")
    source = f"Keras {shown(version)} model" if isinstance(version, str) else "Keras model"
    return Network(name, source, tuple(model.layers), counts, model.caveats.lines())


def _note_other_size(model: KerasModel, document: Mapping[str, Any], pixels: int) -> None:
    """Say what another size does to a network whose dense layers take all of the image."""
    try:
        own = KerasModel(document, None)
    except InputError:
        return
    here, there = (sum(layer.parameters for layer in network.layers) for network in (model, own))
    if here != there:
        change = f"At {pixels} pixels it has {here:,} parameters, and {there:,} at the file's {own.image[0]}"
        model.caveats.add(f"{change}: its dense layers take all of the image")
