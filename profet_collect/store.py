"""Writes a collection: one program at a time, a line a finished cell, each on the disk before the next is measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from profet_collect.record import (
    CELLS_NAME,
    LAYOUT_VERSION,
    MANIFEST_NAME,
    Cell,
    CellResult,
    line_of,
    read_cells,
    read_manifest,
    whole_lines,
)
from profet_core.errors import InputError
from profet_core.files import lock_path
from profet_recorder.whole_files import write_whole

#: What makes a machine another one, whose cells belong into another folder.
_SAME = ("instance", "device", "gpu", "threads")


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
            write_whole(path, b"".join(map(line_of, kept.values())))
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
        before, data = os.fstat(self.handle).st_size, line_of(result)
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
        made = [one for one in (folder, *folder.parents) if not one.exists()]
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
                for one in made:
                    one.rmdir()
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
    """The same within `only_collector`."""
    frameworks = _checked_frameworks(folder, manifest)
    found = list(whole_lines(read_cells(folder), CELLS_NAME))
    try:
        written = {"layout_version": LAYOUT_VERSION, **manifest, "frameworks": frameworks}
        write_whole(folder / MANIFEST_NAME, json.dumps(written, indent=1).encode() + b"\n")
        handle = _opened(folder / CELLS_NAME)
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error.strerror}; name another --out.") from None
    store = Store(folder, handle, {result.cell: result for result, _ in found})
    try:
        try:
            # What a killed program left of its last line: the next one would be written behind it.
            os.ftruncate(handle, found[-1][1] if found else 0)
        except OSError as error:
            raise InputError(f"{folder / CELLS_NAME} can't be truncated to complete lines: {error.strerror}.") from None
        with suppress(OSError):
            # The new file's name must be on the disk too, where the system can be asked for that.
            names = os.open(folder, os.O_RDONLY)
            os.fsync(names)
            os.close(names)
        yield store
    finally:
        os.close(store.handle)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)


def _checked_frameworks(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The versions at hand and those of frameworks that were measured before; refuses another machine or version."""
    at_hand = dict(manifest.get("frameworks", {}))
    there = read_manifest(folder)
    if there is None:
        if read_cells(folder):
            raise InputError(f"{folder} has cells but no {MANIFEST_NAME}: name another --out.")
        return at_hand
    for key in _SAME:
        if there.get(key) != manifest.get(key):
            raise InputError(
                f"{folder} holds cells of {key} {there.get(key)!r}, not {manifest.get(key)!r}: name another --out."
            )
    before = there.get("frameworks") or {}
    for name in at_hand.keys() & before.keys():
        if at_hand[name] != before[name]:
            raise InputError(f"{folder} holds cells of {name} {before[name]}, not {at_hand[name]}: name another --out.")
    return {**before, **at_hand}
