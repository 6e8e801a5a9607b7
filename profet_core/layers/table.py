"""Read a layer table, a CSV file with one layer per line (docs/NETWORKS.md)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from profet_core.errors import InputError
from profet_core.layers import rules
from profet_core.layers.builder import MAX_LAYERS, Builder
from profet_core.layers.counts import count
from profet_core.layers.given import shown
from profet_core.layers.network import Network
from profet_core.layers.rules import Kind, Layer
from profet_core.layers.shapes import MAX_SETTING, Padding, Shape

MAX_TABLE_BYTES = 4 * 2**20
COLUMNS = ("layer", "kind", "from", "channels", "kernel", "stride", "padding", "groups", "dilation", "bias", "pixels")
#: Image channels where no row of kind `input` says otherwise.
DEFAULT_CHANNELS = 3
_MAX_FIELD = 1_000
_MAX_INPUTS = 1_000
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
        if not text and default is not None:
            return default
        return _whole(text, column, 1)

    def pair(self, column: str, default: int | None = None) -> tuple[int, int]:
        """ "3" or "3x5"."""
        text = self.text(column)
        if not text and default is not None:
            return default, default
        return _pair(text, column, 1)

    def padding(self, default: Padding) -> Padding:
        """ "same", "valid", or how much on each side: "1" or "1x2"."""
        match self.text("padding").lower():
            case "":
                return default
            case "same":
                return "same"
            case "valid" | "none":
                return "valid"
            case text:
                height, width = _pair(text, "padding", 0)
                return ((height, height), (width, width))

    def bias(self) -> bool:
        """Whether the layer has one; default yes."""
        text = self.text("bias").lower()
        if text and text not in _YES | _NO:
            raise InputError(f"bias is {shown(text)}: write yes or no.")
        return text not in _NO


Rule = Callable[[Row, tuple[Shape, ...]], list[Layer]]


def read_table(data: bytes, name: str, pixels: int | None) -> Network:
    """The network in a layer table.

    Raises
    ------
    InputError : one line that names the line of the file.

    >>> read_table(b"kind,channels,kernel\\nconvolution,6,5\\nflatten,,\\ndense,10,", "mine.csv", 28).counts.parameters
    35026
    """
    net = Builder()
    shapes: dict[str, Shape] = {}
    last: Shape = ()
    image = 0
    for number, row in _rows(data):
        try:
            kind = " ".join(row.text("kind").lower().replace("_", " ").replace("-", " ").split())
            if not image:
                image, last = _image(row if kind == "input" else None, pixels)
                if kind == "input":
                    last = net.put(Layer(Kind.INPUT, last), name=shown(row.text("layer")))
                    _name(shapes, row, last)
                    continue
            if kind not in RULES:
                raise InputError(f"its kind is {shown(kind)}: one of {', '.join(RULES)} is needed.")
            for layer in RULES[kind](row, _inputs(row, shapes, last)):
                last = net.put(layer, name=shown(row.text("layer")))
            _name(shapes, row, last)
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None
    if not net.layers:
        raise InputError("it has no layers: write one a line.")
    return Network(name, "layer table", tuple(net.layers), count(net.layers, image))


def _rows(data: bytes) -> list[tuple[int, Row]]:
    if len(data) > MAX_TABLE_BYTES:
        raise InputError(f"it has more than {MAX_TABLE_BYTES // 2**20} MB, which no layer table has.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text: save the table as CSV in UTF-8.") from None
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = [column.strip().lower() for column in next(lines, [])]
        _check_header(header)
        found = []
        for fields in lines:
            if any(field.strip() for field in fields):
                found.append((lines.line_num, _row(header, fields, lines.line_num)))
            if len(found) > MAX_LAYERS:
                raise InputError(f"it has more than {MAX_LAYERS:,} layers.")
    except csv.Error:
        raise InputError(f"line {lines.line_num} is not CSV: quote fields that contain commas.") from None
    return found


def _check_header(header: list[str]) -> None:
    if "kind" not in header:
        raise InputError(f"its first line names no column `kind`: the columns are {', '.join(COLUMNS)}.")
    for column in header:
        if column and column not in COLUMNS:
            raise InputError(f"it has a column {shown(column)}: the columns are {', '.join(COLUMNS)}.")
        if column and header.count(column) > 1:
            raise InputError(f"it has the column {column} twice.")


def _row(header: list[str], fields: list[str], number: int) -> Row:
    stripped = [field.strip() for field in fields]
    if any(stripped[len(header) :]):
        raise InputError(f"line {number} has more fields than the first line has columns.")
    if max(map(len, stripped), default=0) > _MAX_FIELD:
        raise InputError(f"line {number} has a field of more than {_MAX_FIELD:,} characters.")
    return Row(dict(zip(header, stripped, strict=False)))


def _image(row: Row | None, pixels: int | None) -> tuple[int, Shape]:
    """Side and shape of the image, from the row that describes it or by default."""
    channels = DEFAULT_CHANNELS if row is None else row.number("channels", DEFAULT_CHANNELS)
    if pixels is None:
        if row is None or not row.text("pixels"):
            raise InputError("the image's size is missing: give the pixels, or a row of kind input with them.")
        pixels = row.number("pixels")
    return pixels, (pixels, pixels, channels)


def _inputs(row: Row, shapes: Mapping[str, Shape], last: Shape) -> tuple[Shape, ...]:
    names = row.text("from").replace(";", " ").replace(",", " ").split()
    if len(names) > _MAX_INPUTS:
        raise InputError(f"it has more than {_MAX_INPUTS:,} inputs.")
    for name in names:
        if name not in shapes:
            raise InputError(f"no layer above is called {shown(name)}.")
    return tuple(shapes[name] for name in names) or (last,)


def _name(shapes: dict[str, Shape], row: Row, shape: Shape) -> None:
    name = row.text("layer")
    if not name:
        return
    if name in shapes:
        raise InputError(f"a layer above is called {shown(name)} too: names stand for one layer each.")
    shapes[name] = shape


# --- kinds ------------------------------------------------------------------------------------------------------------


def _convolution(row: Row, shapes: tuple[Shape, ...]) -> list[Layer]:
    kernel, groups = row.pair("kernel"), row.number("groups", 1)
    return [_convolved(row, rules.only(shapes), row.number("channels"), kernel, groups)]


def _depthwise(row: Row, shapes: tuple[Shape, ...]) -> list[Layer]:
    channels = rules.only(shapes)[-1]
    return [_convolved(row, rules.only(shapes), row.number("channels", channels), row.pair("kernel"), channels)]


def _convolved(row: Row, shape: Shape, filters: int, kernel: tuple[int, int], groups: int) -> Layer:
    return rules.convolution(
        shape,
        filters,
        kernel,
        row.pair("stride", 1),
        row.padding("valid"),
        dilation=row.pair("dilation", 1),
        groups=groups,
        bias=row.bias(),
    )


def _transposed(row: Row, shapes: tuple[Shape, ...]) -> list[Layer]:
    padding = row.padding("valid")
    return [
        rules.transposed_convolution(
            rules.only(shapes),
            row.number("channels"),
            row.pair("kernel"),
            row.pair("stride", 1),
            padding,
            dilation=row.pair("dilation", 1),
            groups=row.number("groups", 1),
            output_padding=(0, 0) if isinstance(padding, tuple) else None,
            bias=row.bias(),
        )
    ]


def _pooling(row: Row, shapes: tuple[Shape, ...]) -> list[Layer]:
    kernel = row.pair("kernel")
    strides = row.pair("stride") if row.text("stride") else kernel
    return [rules.pooling(rules.only(shapes), kernel, strides, row.padding("valid"))]


def _squeeze_excite(row: Row, shapes: tuple[Shape, ...]) -> list[Layer]:
    shape = rules.only(shapes)
    pooled = rules.global_pooling(shape, keep_sides=True)
    squeezed = rules.convolution(pooled.output, row.number("channels"), (1, 1), bias=row.bias())
    weights = rules.convolution(squeezed.output, shape[-1], (1, 1), bias=row.bias())
    activated = [rules.elementwise(layer.output) for layer in (squeezed, weights)]
    return [pooled, squeezed, activated[0], weights, activated[1], rules.elementwise(shape, weights.output)]


def _upsampling(row: Row, shapes: tuple[Shape, ...]) -> list[Layer]:
    return [rules.enlargement(rules.only(shapes), row.pair("stride", 2))]


def _padded(row: Row, shapes: tuple[Shape, ...]) -> list[Layer]:
    padding = row.padding("valid")
    if not isinstance(padding, tuple):
        raise InputError("its padding has to be a number: how much on each side.")
    return [rules.margins(rules.only(shapes), padding)]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "convolution": _convolution,
        "depthwise convolution": _depthwise,
        "transposed convolution": _transposed,
        "dense": lambda row, shapes: [rules.dense(rules.only(shapes), row.number("channels"), bias=row.bias())],
        "max pooling": _pooling,
        "average pooling": _pooling,
        "global pooling": lambda _, shapes: [rules.global_pooling(rules.only(shapes))],
        "batch normalization": lambda _, shapes: [rules.normalization(rules.only(shapes))],
        "layer normalization": lambda _, shapes: [rules.normalization(rules.only(shapes), averages=False)],
        "activation": lambda _, shapes: [rules.elementwise(rules.only(shapes))],
        "dropout": lambda _, shapes: [rules.elementwise(rules.only(shapes))],
        "scale": lambda _, shapes: [rules.scaling(rules.only(shapes))],
        "add": lambda _, shapes: [rules.elementwise(*shapes)],
        "multiply": lambda _, shapes: [rules.elementwise(*shapes)],
        "concatenate": lambda _, shapes: [rules.concatenation(shapes)],
        "squeeze excite": _squeeze_excite,
        "flatten": lambda _, shapes: [rules.flattening(rules.only(shapes))],
        "padding": _padded,
        "upsampling": _upsampling,
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
