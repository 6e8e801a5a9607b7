"""Read a network from a file, whose format is known by its content."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import BinaryIO

from profet_core.errors import InputError, ProfileError
from profet_core.layers.given import packing_problem
from profet_core.layers.keras.reader import MAX_JSON_BYTES, read_archive, read_description
from profet_core.layers.network import Network
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS
from profet_core.layers.rules import Kind
from profet_core.layers.table import MAX_TABLE_BYTES, read_table
from profet_core.profiles.containers.archives import is_archive
from profet_core.profiles.containers.foreign_files import what_it_is
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.reading import shown_file_name

#: What is read, for a person.
FORMATS = "a .keras file, a model's JSON, an ONNX file or a layer table (CSV)"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TABLE_ENDINGS = (".csv", ".tsv")
_TORCH = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
#: ONNX opens with the version of its format, a number in field 1, or with who made it.
_ONNX_STARTS = (b"\x08", b"\x12", b"\x3a")


def read_network(source: bytes | Path | BinaryIO, name: str = "network", pixels: int | None = None) -> Network:
    """Read a network from a `.keras` file, a Keras model's JSON, an ONNX file or a layer table.

    No code of the file is run, no weights are read, and no other file is opened.

    Parameters
    ----------
    source : the bytes, a path, or a seekable binary file; plain or gzip.
    name : the file's name, for messages only.
    pixels : height and width of the image; None for what the file says.

    Raises
    ------
    InputError : one line that says what is wrong with this file and what to do.

    >>> read_network(b"kind,channels\\nflatten,\\ndense,10", "mine.csv", 28).counts.parameters
    23530
    """
    shown = shown_file_name(name)
    try:
        if pixels is not None and not MIN_PIXELS <= pixels <= MAX_PIXELS:
            raise InputError(f"images of {pixels:,} pixels are not supported: use {MIN_PIXELS} to {MAX_PIXELS:,}.")
        if isinstance(source, Path):
            with source.open("rb") as file:
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
        from profet_core.layers.onnx.reader import read_onnx

        with content.open() as stream:
            return read_onnx(stream, name, pixels)
    what, _ = what_it_is(head, name) or ("", "")
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
