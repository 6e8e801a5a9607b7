"""Read a layer table, a CSV file with one layer per line (docs/NETWORKS.md)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from profet_core.errors import InputError
from profet_core.layers import rules
from profet_core.layers.network import LayerList, Network, count, shown
from profet_core.layers.rules import MAX_SETTING, Kind, Layer, Padding, Shape

MAX_TABLE_BYTES = 4 * 2**20
COLUMNS = ("layer", "kind", "from", "channels", "kernel", "stride", "padding", "groups", "dilation", "bias", "pixels")
#: Image channels where no row of kind `input` says otherwise.
DEFAULT_CHANNELS = 3
_DELIMITERS = ",;\t"
_YES, _NO = frozenset({"yes", "true", "1", "y"}), frozenset({"no", "false", "0", "n"})


@dataclass(frozen=True, slots=True)
class Row:
    """One line, its fields as they were typed."""

    fields: Mapping[str, str]

    def text(self, column: str) -> str:
        """What stands in a column, "" for nothing."""
        return self.fields.get(column, "")

    def number(self, column: str, default: int | None = None) -> int:
        """A whole number above 0."""
        text = self.text(column)
        return default if default is not None and not text else _whole(text, column, 1)

    def height_width(self, column: str, default: int | None = None) -> tuple[int, int]:
        """ "3" or "3x5"."""
        text = self.text(column)
        return (default, default) if default is not None and not text else _pair(text, column, 1)

    def padding(self) -> Padding:
        """ "same", "valid" (the default), or how much on each side: "1" or "1x2"."""
        text = self.text("padding").lower()
        if text == "same":
            return "same"
        if text in ("", "valid", "none"):
            return "valid"
        height, width = _pair(text, "padding", 0)
        return ((height, height), (width, width))

    def window(self) -> dict[str, Any]:
        """Strides, padding, dilation and bias of a convolution."""
        bias = self.text("bias").lower()
        if bias and bias not in _YES | _NO:
            raise InputError(f"bias is {shown(bias)}: write yes or no.")
        return {
            "strides": self.height_width("stride", 1),
            "padding": self.padding(),
            "dilation": self.height_width("dilation", 1),
            "bias": bias not in _NO,
        }


def read_table(data: bytes, name: str, pixels: int | None) -> Network:
    """The network in a layer table.

    >>> read_table(b"kind,channels,kernel\\nconvolution,6,5\\nflatten,,\\ndense,10,", "mine.csv", 28).counts.parameters
    35026
    """
    net = LayerList()
    shapes: dict[str, Shape] = {}
    last: Shape = ()
    image = 0
    for number, row in _rows(data):
        try:
            kind = " ".join(row.text("kind").lower().replace("_", " ").replace("-", " ").split())
            label = row.text("layer")
            if label in shapes:
                raise InputError(f"a layer above is called {shown(label)} too: names stand for one layer each.")
            made: list[Layer] = []
            if not image:
                image, last = _image(row if kind == "input" else Row({}), pixels)
                made = [Layer(Kind.INPUT, last)] if kind == "input" else []
            for layer in made or _layers(kind, row, shapes, last):
                last = net.put(layer, name=shown(label))
            if label:
                shapes[label] = last
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None
    if not net:
        raise InputError("it has no layers: write one a line.")
    return Network(name, "layer table", tuple(net), count(net, image))


def _rows(data: bytes) -> Iterator[tuple[int, Row]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text: save the table as CSV in UTF-8.") from None
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = [column.strip().lower() for column in next(lines, [])]
        _check_header(header)
        for line in lines:
            fields = [field.strip() for field in line]
            if any(fields[len(header) :]):
                raise InputError(f"line {lines.line_num} has more fields than the first line has columns.")
            if any(fields):
                yield lines.line_num, Row(dict(zip(header, fields, strict=False)))
    except csv.Error:
        raise InputError(f"line {lines.line_num} is not CSV: quote fields that contain commas.") from None


def _check_header(header: list[str]) -> None:
    if "kind" not in header:
        raise InputError(f"its first line names no column `kind`: the columns are {', '.join(COLUMNS)}.")
    for column in filter(None, header):
        if column not in COLUMNS:
            raise InputError(f"it has a column {shown(column)}: the columns are {', '.join(COLUMNS)}.")
        if header.count(column) > 1:
            raise InputError(f"it has the column {column} twice.")


def _image(row: Row, pixels: int | None) -> tuple[int, Shape]:
    """Side and shape of the image, from the row that describes it or by default."""
    channels = row.number("channels", DEFAULT_CHANNELS)
    if pixels is None:
        if not row.text("pixels"):
            raise InputError("the image's size is missing: give the pixels, or a row of kind input with them.")
        pixels = row.number("pixels")
    return pixels, (pixels, pixels, channels)


def _layers(kind: str, row: Row, shapes: Mapping[str, Shape], last: Shape) -> list[Layer]:
    names = row.text("from").replace(";", " ").replace(",", " ").split()
    for name in names:
        if name not in shapes:
            raise InputError(f"no layer above is called {shown(name)}.")
    inputs = tuple(shapes[name] for name in names) or (last,)
    if kind in JOINING:
        return [JOINING[kind](inputs)]
    if kind not in RULES:
        raise InputError(f"its kind is {shown(kind)}: one of {', '.join((*RULES, *JOINING))} is needed.")
    made = RULES[kind](row, rules.only(inputs))
    return made if isinstance(made, list) else [made]


# --- kinds ------------------------------------------------------------------------------------------------------------


def _convolution(row: Row, shape: Shape) -> Layer:
    groups = row.number("groups", 1)
    return rules.convolution(shape, row.number("channels"), row.height_width("kernel"), **row.window(), groups=groups)


def _depthwise(row: Row, shape: Shape) -> Layer:
    filters, kernel = row.number("channels", shape[-1]), row.height_width("kernel")
    return rules.convolution(shape, filters, kernel, **row.window(), groups=shape[-1])


def _transposed(row: Row, shape: Shape) -> Layer:
    window, filters, kernel = row.window(), row.number("channels"), row.height_width("kernel")
    extra = (0, 0) if isinstance(window["padding"], tuple) else None
    groups = row.number("groups", 1)
    return rules.transposed_convolution(shape, filters, kernel, **window, groups=groups, output_padding=extra)


def _pooling(row: Row, shape: Shape) -> Layer:
    kernel = row.height_width("kernel")
    return rules.pooling(shape, kernel, row.height_width("stride") if row.text("stride") else kernel, row.padding())


def _squeeze_excite(row: Row, shape: Shape) -> list[Layer]:
    """Channels weighed: pooled, two 1 x 1 convolutions with activations, and multiplied to each channel."""
    bias, squeezed = row.window()["bias"], row.number("channels")
    pooled = rules.global_pooling(shape, keep_sides=True)
    first = rules.convolution(pooled.output, squeezed, (1, 1), bias=bias)
    second = rules.convolution(first.output, shape[-1], (1, 1), bias=bias)
    functions = [rules.elementwise(layer.output) for layer in (first, second)]
    return [pooled, first, functions[0], second, functions[1], rules.elementwise(shape, second.output)]


def _padded(row: Row, shape: Shape) -> Layer:
    padding = row.padding()
    if not isinstance(padding, tuple):
        raise InputError("its padding has to be a number: how much on each side.")
    return rules.margins(shape, padding)


#: Kinds of one input.
RULES: Mapping[str, Callable[[Row, Shape], Layer | list[Layer]]] = MappingProxyType(
    {
        "convolution": _convolution,
        "depthwise convolution": _depthwise,
        "transposed convolution": _transposed,
        "dense": lambda row, shape: rules.dense(shape, row.number("channels"), bias=row.window()["bias"]),
        "max pooling": _pooling,
        "average pooling": _pooling,
        "global pooling": lambda _, shape: rules.global_pooling(shape),
        "batch normalization": lambda _, shape: rules.normalization(shape),
        "layer normalization": lambda _, shape: rules.normalization(shape, averages=False),
        "activation": lambda _, shape: rules.elementwise(shape),
        "dropout": lambda _, shape: rules.elementwise(shape),
        "scale": lambda _, shape: rules.scaling(shape),
        "squeeze excite": _squeeze_excite,
        "flatten": lambda _, shape: rules.flattening(shape),
        "padding": _padded,
        "upsampling": lambda row, shape: rules.enlargement(shape, row.height_width("stride", 2)),
    }
)
#: Kinds of several.
JOINING: Mapping[str, Callable[[tuple[Shape, ...]], Layer]] = MappingProxyType(
    {
        "add": lambda shapes: rules.elementwise(*shapes),
        "multiply": lambda shapes: rules.elementwise(*shapes),
        "concatenate": rules.concatenation,
    }
)


def _whole(text: str, column: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 8 and least <= int(text) <= MAX_SETTING):
        given = f"{column} is {shown(text)}" if text else f"its {column} is missing"
        raise InputError(f"{given}: a whole number from {least} to {MAX_SETTING:,} is needed.")
    return int(text)


def _pair(text: str, column: str, least: int) -> tuple[int, int]:
    first, mark, second = text.lower().replace(" ", "").partition("x")
    return _whole(first, column, least), _whole(second if mark else first, column, least)
