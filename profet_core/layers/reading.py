"""Read a network from a file, whose format is known by its content, also in a limited process."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

from msgspec.structs import asdict, replace

from profet_core.errors import InputError, ProfileError
from profet_core.layers.keras import MAX_JSON_BYTES, read_archive, read_description
from profet_core.layers.network import (
    MAX_LAYERS,
    Kind,
    Layer,
    LayerList,
    Network,
    Shape,
    count,
    packing_problem,
    shown,
    whole,
)
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.layers.rules import TABLE_KINDS, Settings, apply_rule
from profet_profiles.errors import shown_file_name
from profet_profiles.reading import is_text, other_file
from profet_profiles.sandbox import SMALL_BYTES, Progress, Task, is_line, read_file
from profet_profiles.unpacking import Content, is_archive
from profet_profiles.whole_files import open_to_read

#: What is read, for a person.
FORMATS = "a .keras file, a model's JSON, an ONNX file or a layer table (CSV)"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TABLE_ENDINGS = (".csv", ".tsv")
#: Of files that are known by their names alone: what they are, and what to do.
_OTHER_ENDINGS = {
    ".pb": "TensorFlow's SavedModel: load it in Keras, then model.save('model.keras'), or convert it by tf2onnx",
    ".tflite": "TensorFlow Lite's, for inference: give the model that it was made from",
    ".safetensors": "weights without layers: export the model with torch.onnx.export",
    ".mlmodel": "Core ML's, for inference: give the model that it was made from",
    ".engine": "TensorRT's, for inference: give the model that it was made from",
    ".caffemodel": "Caffe's: convert it to ONNX",
    ".prototxt": "Caffe's: convert it to ONNX",
}
_TORCH = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
#: ONNX opens with the version of its format, a number in field 1, or with who made it.
_ONNX_STARTS = (b"\x08", b"\x12", b"\x3a")


def read_network(source: bytes | Path | BinaryIO, name: str = "network", pixels: int | None = None) -> Network:
    r"""Read a network from a `.keras` file, a Keras model's JSON, an ONNX file or a layer table.

    No code of the file is run, no weights are read, and no other file is opened.

    Parameters
    ----------
    source : the bytes, a path, or a seekable binary file; plain or gzip.
    name : the file's name, for messages only.
    pixels : height and width of the image; None for what the file says.

    Raises
    ------
    InputError : one line that says what is wrong with this file and what to do.

    >>> read_network(b"kind,channels\nflatten,\ndense,10", "mine.csv", 28).counts.parameters
    23530
    """
    shown = shown_file_name(name)
    try:
        if pixels is not None and not MIN_PIXELS <= pixels <= MAX_PIXELS:
            raise InputError(f"images of {pixels:,} pixels are not supported: use {MIN_PIXELS} to {MAX_PIXELS:,}.")
        if isinstance(source, Path):
            with open_to_read(source) as file:
                return _checked(_read(Content(file), shown, pixels))
        return _checked(_read(Content(source), shown, pixels))
    except OSError as error:
        raise InputError(f"{shown}: it can't be read: {error.strerror}.") from None
    except RecursionError:
        raise InputError(f"{shown}: it is nested too deeply to be a network.") from None
    except InputError as error:
        raise InputError(f"{shown}: {error}") from None
    except ProfileError as error:
        raise InputError(f"{shown}: {packing_problem(error)}: save the model again, or give {FORMATS}.") from None


def _checked(network: Network) -> Network:
    if all(layer.kind is Kind.INPUT for layer in network.layers):
        raise InputError("it has an input but no layers.")
    return network


def _read(content: Content, name: str, pixels: int | None) -> Network:
    head = content.head
    if is_archive(content):
        return read_archive(content, name, pixels)
    start = head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"{"):
        if other := other_file(head, name):
            raise InputError(f"this is {other[0]}, not a network that can be read: give {FORMATS}.")
        return read_description(content.read(MAX_JSON_BYTES, "its description is too large."), name, pixels)
    if head.startswith(_UTF16):
        raise InputError("it is UTF-16 text: save it in UTF-8, a layer table as CSV.")
    if head.startswith(_HDF5):
        raise InputError("this is Keras' old HDF5 format: load it in Keras, then model.save('model.keras').")
    if head.startswith(_TORCH):
        raise InputError("this is a pickle of PyTorch, which would run code: export the model with torch.onnx.export.")
    if is_table(head):
        return read_table(content.read(MAX_TABLE_BYTES, "it is too large for a layer table."), name, pixels)
    if head.startswith(_ONNX_STARTS):
        # Here, because the other formats need the standard library alone: numpy takes a tenth of a second.
        from profet_core.layers.onnx import read_onnx

        with content.open() as stream:
            return read_onnx(stream, name, pixels)
    if start.lower().startswith((b"[net]", b"[network]")):
        raise InputError("this is a Darknet configuration: convert the model to ONNX.")
    for ending, advice in _OTHER_ENDINGS.items():
        if name.lower().endswith(ending):
            raise InputError(f"this is {advice}.")
    what, _ = other_file(head, name) or ("plain text" if is_text(head) else "", "")
    if what == "plain text" and name.lower().endswith(_TABLE_ENDINGS):
        # For its line on what the table lacks.
        return read_table(content.read(MAX_TABLE_BYTES, "it is too large for a layer table."), name, pixels)
    raise InputError(f"this is {what and what + ', '}not a network that can be read: give {FORMATS}.")


def is_table(head: bytes) -> bool:
    """Whether a file's first line names a layer table's columns, `kind` among them."""
    line = head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0].decode("utf-8", "replace").lower()
    for mark in ";\t":
        line = line.replace(mark, ",")
    return "kind" in {column.strip().strip('"') for column in line.split(",")}


# --- layer tables (docs/NETWORKS.md) ----------------------------------------------------------------------------------

MAX_TABLE_BYTES = 4 * 2**20
#: Column -> the settings that it is, as Keras names them.
_SETTINGS = {
    "channels": ("filters", "units"),
    "kernel": ("kernel_size", "pool_size"),
    "stride": ("strides", "size"),
    "padding": ("padding",),
    "groups": ("groups",),
    "dilation": ("dilation_rate",),
    "bias": ("use_bias",),
}
COLUMNS = ("layer", "kind", "from", *_SETTINGS, "pixels")
_NAMES = {setting: column for column, settings in _SETTINGS.items() for setting in settings}
#: Image channels where no row of kind `input` says otherwise.
DEFAULT_CHANNELS = 3
_DELIMITERS = ",;\t"
_NUMBER = re.compile(r"-?\d{1,8}", re.ASCII)
_FLAGS = dict.fromkeys(("yes", "true", "1", "y"), True) | dict.fromkeys(("no", "false", "0", "n"), False)


def read_table(data: bytes, name: str, pixels: int | None) -> Network:
    r"""Read the network in a layer table, a CSV file with one layer a line.

    >>> read_table(b"kind,channels,kernel\nconvolution,6,5\nflatten,,\ndense,10,", "mine.csv", 28).counts.parameters
    35026
    """
    net = LayerList()
    shapes: dict[str, Shape] = {}
    last: Shape = ()
    image = 0
    for number, row in _rows(data):
        try:
            kind = " ".join(row.get("kind", "").lower().replace("_", " ").replace("-", " ").split())
            label = row.get("layer", "")
            if label in shapes:
                raise InputError(f"a layer above is called {shown(label)} too: names stand for one layer each.")
            made: list[Layer] = []
            if not image:
                given = row if kind == "input" else {}
                channels = _setting("channels", given["channels"]) if given.get("channels") else DEFAULT_CHANNELS
                if pixels is None and not given.get("pixels"):
                    raise InputError("the image's size is missing: give the pixels, or a row of kind input with them.")
                image = whole(_setting("pixels", given["pixels"]), "pixels") if pixels is None else pixels
                last = (image, image, whole(channels, "channels"))
                made = [Layer(Kind.INPUT, last)] if kind == "input" else []
            for layer in made or _table_layers(kind, row, shapes, last):
                last = net.put(layer, name=shown(label))
            if label:
                shapes[label] = last
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None
    if not net:
        raise InputError("it has no layers: write one a line.")
    return Network(name, "layer table", tuple(net), count(net, image))


def _rows(data: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Return the number and fields of each line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text: save the table as CSV in UTF-8.") from None
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = [column.strip().lower() for column in next(lines, [])]
        if "kind" not in header:
            raise InputError(f"its first line names no column `kind`: the columns are {', '.join(COLUMNS)}.")
        for column in filter(None, header):
            if column not in COLUMNS:
                raise InputError(f"it has a column {shown(column)}: the columns are {', '.join(COLUMNS)}.")
            if header.count(column) > 1:
                raise InputError(f"it has the column {column} twice.")
        for line in lines:
            fields = [field.strip() for field in line]
            if any(fields[len(header) :]):
                raise InputError(f"line {lines.line_num} has more fields than the first line has columns.")
            if any(fields):
                yield lines.line_num, dict(zip(header, fields, strict=False))
    except csv.Error:
        raise InputError(f"line {lines.line_num} is not CSV: quote fields that contain commas.") from None


def _table_layers(kind: str, row: Mapping[str, str], shapes: Mapping[str, Shape], last: Shape) -> list[Layer]:
    names = row.get("from", "").replace(";", " ").replace(",", " ").split()
    for name in names:
        if name not in shapes:
            raise InputError(f"no layer above is called {shown(name)}.")
    if kind not in TABLE_KINDS:
        raise InputError(f"its kind is {shown(kind)}: one of {', '.join(TABLE_KINDS)} is needed.")
    given = {column: _setting(column, row[column]) for column in _SETTINGS if row.get(column)}
    values = {setting: given[column] for setting, column in _NAMES.items() if column in given}
    return apply_rule(TABLE_KINDS[kind], Settings(values, _NAMES), tuple(shapes[name] for name in names) or (last,))


def _setting(column: str, text: str) -> Any:
    """Read a field as Keras writes it: 3, [3, 5], "same", true; the text itself where it makes no sense."""
    text = text.lower()
    if column == "bias":
        if text not in _FLAGS:
            raise InputError(f"bias is {shown(text)}: write yes or no.")
        return _FLAGS[text]
    if column == "padding" and text == "none":
        return "valid"
    numbers = [int(part) if _NUMBER.fullmatch(part) else part for part in text.replace(" ", "").split("x", 1)]
    if column == "padding":
        return [[side, side] for side in (numbers * 2)[:2]] if isinstance(numbers[0], int) else text
    return numbers if len(numbers) > 1 else numbers[0]


# --- in a limited process ---------------------------------------------------------------------------------------------

#: Twenty thousand layers, some two hundred and fifty bytes each.
_MAX_ANSWER_BYTES = 8 * 2**20
_MAX_CAVEATS = 100


def read_network_guarded(source: bytes | BinaryIO, name: str = "network", pixels: int | None = None) -> Network:
    """Read a third-party network file as `read_network` does, within limits; as `read_file` has it."""

    def begin(start: bytes) -> Task[Network] | Network:
        return read_network(start, name, pixels) if len(start) <= SMALL_BYTES and is_table(start) else TASK

    network = read_file(source, name, begin, [] if pixels is None else [str(pixels)])
    return replace(network, name=shown_file_name(name))


def work(file: BinaryIO, name: str, pixels: Sequence[str], _: Progress) -> dict[str, Any]:
    """In the process: read a network at the pixels, or at the file's own."""
    return network_document(read_network(file, name, int(pixels[0]) if pixels else None))


class _Document(TypedDict):
    name: str
    source_format: str
    pixels: int
    classes: int
    caveats: list[str]
    layers: tuple[Layer, ...]


def network_document(network: Network) -> dict[str, Any]:
    """Return a network as JSON values."""
    texts = {"name": network.name, "source_format": network.source_format, "caveats": network.caveats}
    layers = [asdict(layer) for layer in network.layers]
    return {**texts, "pixels": network.counts.pixels, "classes": network.counts.classes, "layers": layers}


def network_in(document: object) -> Network:
    """Return the network in a document of `network_document`."""
    import msgspec  # late, as few commands read a network's file

    fields = msgspec.convert(document, _Document)
    layers, texts = fields["layers"], [fields["name"], fields["source_format"], *fields["caveats"]]
    numbers = (
        number
        for layer in layers
        for number in (layer.parameters, layer.trainable, layer.flops, layer.input_elements, *layer.channels)
    )
    if (
        not 0 < len(layers) <= MAX_LAYERS
        or len(texts) > _MAX_CAVEATS
        or min(fields["pixels"], fields["classes"]) < 1
        or min(numbers) < 0
        or not all(map(is_line, (*texts, *(layer.name for layer in layers))))
    ):
        raise ValueError("no network")
    # Summed again: the counts are those of the layers, whatever the process says.
    counts = count(layers, fields["pixels"], fields["classes"])
    return Network(fields["name"], fields["source_format"], layers, counts, tuple(fields["caveats"]))


TASK = Task(__name__, network_in, InputError, "give the model's config.json, or a layer table", _MAX_ANSWER_BYTES)
