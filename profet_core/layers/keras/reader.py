"""Read a `.keras` file, or the JSON of a model, as a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from profet_core.errors import InputError, ProfileError
from profet_core.layers.counts import count
from profet_core.layers.given import packing_problem, shown
from profet_core.layers.keras.model import MODELS, KerasModel
from profet_core.layers.network import Network
from profet_core.profiles.containers.archives import files_in_archive
from profet_core.profiles.containers.unpacking import Content

CONFIG = "config.json"
#: The description of a network of a thousand layers has two megabytes.
MAX_JSON_BYTES = 16 * 2**20
#: What containers say of a file that starts with nothing but blanks.
_EMPTY = "The file is empty"


def read_archive(content: Content, name: str, pixels: int | None) -> Network:
    """The network in a `.keras` file, a zip archive with a model's description in it; its weights are not opened.

    Raises
    ------
    InputError : one line.
    """
    try:
        files = files_in_archive(content)
        descriptions = [file for file in files if file.name == CONFIG]
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
    """The network that a model's JSON describes: a `.keras` file's `config.json`, or what `model.to_json` writes."""
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
    return Network(name, _format(document), model.layers, counts, model.caveats.lines())


def _note_other_size(model: KerasModel, document: Mapping[str, Any], pixels: int) -> None:
    """Say what another size does to a network whose dense layers take all of the image."""
    try:
        own = KerasModel(document, None)
    except InputError:
        return
    here, there = (sum(layer.parameters for layer in each.layers) for each in (model, own))
    if here != there:
        said = f"At {pixels} pixels it has {here:,} parameters, and {there:,} at the file's {own.image[0]}"
        model.caveats.add(f"{said}: its dense layers take all of the image")


def _format(document: Mapping[str, Any]) -> str:
    version = document.get("keras_version")
    kind = document["class_name"]
    assert kind in MODELS
    return f"Keras {shown(version)} model" if isinstance(version, str) else "Keras model"
