"""A collection's folder: its manifest, cells with their measurements, one checksummed line each, and its lock."""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from filelock import FileLock, Timeout
from msgspec import Meta, Struct, convert, to_builtins

from profet_core.errors import InputError
from profet_core.files import lock_path
from profet_profiles.whole_files import open_to_read, write_whole

Framework = Literal["pytorch", "tensorflow"]
Precision = Literal["fp32", "tf32", "amp"]
Status = Literal["ok", "out-of-memory", "failed"]

FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
STATUSES: tuple[Status, ...] = get_args(Status)

LAYOUT_VERSION = 1
MANIFEST_NAME, CELLS_NAME = "manifest.json", "cells.jsonl"
_MAX_COUNT, _MAX_FLOAT, _MAX_NAME_LENGTH = 2**31 - 2, sys.float_info.max, 200
_Count = Annotated[int, Meta(ge=1, le=_MAX_COUNT)]
_Line = Annotated[str, Meta(max_length=_MAX_NAME_LENGTH)]
_Name = Annotated[str, Meta(min_length=1, max_length=_MAX_NAME_LENGTH)]
_Time = Annotated[float, Meta(ge=0, le=_MAX_FLOAT)]


class Cell(Struct, frozen=True, order=True):
    """One workload: the values that distinguish it in a collection."""

    framework: Framework
    precision: Precision
    model: _Name
    pixels: _Count
    batch_size: _Count
    repeat: Annotated[int, Meta(ge=0, le=_MAX_COUNT)] = 0

    def __str__(self) -> str:
        return f"{self.model}, {self.pixels} pixels, batch {self.batch_size}, {self.precision}, {self.framework}"


class CellResult(Struct, frozen=True):
    """Result of a cell at a time (UTC, ISO 8601), and in one line why it is not "ok".

    Attributes
    ----------
    batch_latency_ms : median step latency; None if it did not run; then the next three are empty.
    peak_memory_bytes : of the device; on a CPU, of the process.
    operations_us : total per operation type in ONE step (`steps`).
    """

    cell: Cell
    framework_version: _Line
    status: Status
    recorded_at: _Line
    why: Annotated[str, Meta(max_length=10_000)] = ""
    batch_latency_ms: Annotated[float, Meta(gt=0, le=_MAX_FLOAT)] | None = None
    latency_repeats_ms: tuple[_Time, ...] = ()
    peak_memory_bytes: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    operations_us: Mapping[_Name, _Time] = {}
    steps: _Count = 1

    def __post_init__(self) -> None:
        lines = (self.cell.model, *self.operations_us, self.framework_version, self.recorded_at)
        if not all(map(str.isprintable, lines)) or (self.status == "ok" and self.batch_latency_ms is None):
            raise ValueError("no cell")

    def document(self) -> dict[str, Any]:
        """One flat JSON object."""
        values = to_builtins(self)
        return {**values.pop("cell"), **values}


def read_collection(folder: Path) -> tuple[dict[str, Any], tuple[CellResult, ...]]:
    """Read a folder that `profet collect` wrote: its manifest, and every finished cell in the order of measurement.

    The manifest has `layout_version`, `instance`, `device` ("gpu" or "cpu"), `gpu`, `driver`, `frameworks`, `host`,
    `seed` and `grid`. Raises InputError if the folder is no collection, or is damaged.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(f"{folder} has no {MANIFEST_NAME}: choose a folder that `profet collect` wrote.")
    return manifest, tuple(result for result, _ in whole_lines(read_cells(folder), CELLS_NAME))


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest; None if there is none. Raises InputError if it can't be read, or has another layout."""
    data = _read_or_none(folder / MANIFEST_NAME)
    if data is None:
        return None
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(f"{folder / MANIFEST_NAME} is damaged: collect into another folder.") from None
    version = manifest.get("layout_version") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or version != LAYOUT_VERSION:
        raise InputError(f"{folder} has layout {version!r}; this version reads layout {LAYOUT_VERSION}.")
    return manifest


def read_cells(folder: Path) -> bytes:
    """Read the bytes of the cells' file; empty if there is none."""
    return _read_or_none(folder / CELLS_NAME) or b""


def _read_or_none(path: Path) -> bytes | None:
    try:
        with open_to_read(path) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.") from None


def json_line(result: CellResult) -> bytes:
    """`{"crc": CRC-32 of the cell as sorted compact JSON, "cell": {...}}` and a newline."""
    cell = result.document()
    return _compact({"crc": zlib.crc32(_compact(cell)), "cell": cell}) + b"\n"


def whole_lines(data: bytes, name: str) -> Iterator[tuple[CellResult, int]]:
    """Each finished cell and the byte offset after its line; a truncated last line is skipped.

    Raises InputError if a line before the last is damaged, or a cell appears twice.
    """
    end, seen = 0, set()
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        end += len(line) + 1
        try:
            document = json.loads(line)
            if document["crc"] != zlib.crc32(_compact(document["cell"])):
                raise ValueError("another checksum")
            result = result_from(document["cell"])
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError, OverflowError):
            if end == len(data):
                # The newline reached the disk before the content did.
                return
            raise InputError(
                f"line {number} of {name} is damaged: remove that line, and its cell is measured again."
            ) from None
        if result.cell in seen:
            raise InputError(f"line {number} of {name} has a cell twice: remove one of the lines.")
        seen.add(result.cell)
        yield result, end


def _compact(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def result_from(document: Mapping[str, Any]) -> CellResult:
    """Parse a document of `CellResult.document`; raises ValidationError, a ValueError, for an invalid one."""
    return convert({**document, "cell": document}, CellResult)


#: What makes a machine another one, whose cells belong into another folder.
_MACHINE_FIELDS = ("instance", "device", "gpu", "threads")


class Store:
    """An open collection; `finished` are the cells that are on the disk. `open_store` makes it."""

    def __init__(self, folder: Path, handle: int, finished: dict[Cell, CellResult]) -> None:
        self._folder = folder
        self.handle = handle
        self.finished = finished

    def retry(self) -> None:
        """Forget the cells that did not run, so that they are measured again; the others' lines are written anew.

        Raises
        ------
        InputError : the disk is full or can't be written; what was there is untouched.
        """
        kept = {cell: result for cell, result in self.finished.items() if result.status == "ok"}
        if len(kept) == len(self.finished):
            return
        path = self._folder / CELLS_NAME
        try:
            write_whole(path, b"".join(map(json_line, kept.values())))
            handle = _opened(path)
        except OSError as error:
            raise InputError(f"{self._folder} can't be written: {error.strerror}; nothing was changed.") from None
        os.close(self.handle)
        self.handle, self.finished = handle, kept

    def append(self, result: CellResult) -> None:
        """Put a finished cell on the disk.

        Raises
        ------
        InputError : the disk is full or can't be written (existing data is untouched), or the cell exists.
        """
        if result.cell in self.finished:
            raise InputError(f"{result.cell} is already in {self._folder}.")
        before, data = os.fstat(self.handle).st_size, json_line(result)
        try:
            # A full disk takes a part before it refuses.
            while data:
                data = data[os.write(self.handle, data) :]
            os.fsync(self.handle)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self.handle, before)
            raise InputError(
                f"{self._folder} can't be written: {error.strerror}; its {len(self.finished)} finished cells are "
                "kept. Free some space and run the same command again."
            ) from None
        self.finished[result.cell] = result


@contextmanager
def only_collector(folder: Path) -> Iterator[None]:
    """No other program collects into the folder within the block; it is made, and goes again if nothing comes into it.

    Raises
    ------
    InputError : another program does, or the folder can't be written.
    """
    path = lock_path(folder / CELLS_NAME)
    try:
        missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0)
        lock.acquire()
    except Timeout:
        raise InputError(f"Another `profet collect` writes to {folder}: wait for it, or name another --out.") from None
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error.strerror}; name another --out.") from None
    try:
        yield
    finally:
        if not (folder / MANIFEST_NAME).exists():
            with suppress(OSError):
                path.unlink()
                for parent in missing:
                    parent.rmdir()
        lock.release()


@contextmanager
def open_store(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Store]:
    """Open a collection, a new one or one to go on with, which no other program may collect into.

    Raises
    ------
    InputError : another program collects into the folder, it holds another machine's cells (not of `manifest`, what is
        at hand without `layout_version`), or can't be written.
    """
    with only_collector(folder), locked_store(folder, manifest) as store:
        yield store


@contextmanager
def locked_store(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Store]:
    """Open the store within `only_collector`."""
    frameworks = _checked_frameworks(folder, manifest)
    lines = list(whole_lines(read_cells(folder), CELLS_NAME))
    try:
        written = {"layout_version": LAYOUT_VERSION, **manifest, "frameworks": frameworks}
        write_whole(folder / MANIFEST_NAME, json.dumps(written, indent=1).encode() + b"\n")
        handle = _opened(folder / CELLS_NAME)
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error.strerror}; name another --out.") from None
    store = Store(folder, handle, {result.cell: result for result, _ in lines})
    try:
        try:
            # What a killed program left of its last line: the next one would be written behind it.
            os.ftruncate(handle, lines[-1][1] if lines else 0)
        except OSError as error:
            raise InputError(f"{folder / CELLS_NAME} can't be truncated to complete lines: {error.strerror}.") from None
        with suppress(OSError):
            # The new file's name must be on the disk too, where the system allows that.
            names = os.open(folder, os.O_RDONLY)
            os.fsync(names)
            os.close(names)
        yield store
    finally:
        os.close(store.handle)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)


def _checked_frameworks(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return versions at hand and of frameworks that were measured; refuses another machine or version."""
    at_hand = dict(manifest.get("frameworks", {}))
    there = read_manifest(folder)
    if there is None:
        if read_cells(folder):
            raise InputError(f"{folder} has cells but no {MANIFEST_NAME}: name another --out.")
        return at_hand
    for key in _MACHINE_FIELDS:
        if there.get(key) != manifest.get(key):
            raise InputError(
                f"{folder} holds cells of {key} {there.get(key)!r}, not {manifest.get(key)!r}: name another --out."
            )
    before = there.get("frameworks") or {}
    for name in at_hand.keys() & before.keys():
        if at_hand[name] != before[name]:
            raise InputError(f"{folder} holds cells of {name} {before[name]}, not {at_hand[name]}: name another --out.")
    return {**before, **at_hand}
