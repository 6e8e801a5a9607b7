"""Read a collection, even while it is being written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profet_core.collected.lines import whole_lines
from profet_core.collected.record import CellResult
from profet_core.errors import InputError

LAYOUT_VERSION = 1
MANIFEST_NAME, CELLS_NAME = "manifest.json", "cells.jsonl"


@dataclass(frozen=True, slots=True)
class Collection:
    """A folder that `profet collect` wrote.

    Attributes
    ----------
    manifest : `layout_version`, `instance`, `device` ("gpu" or "cpu"), `gpu`, `driver`, `frameworks`, `host`, `seed`,
        `grid`.
    results : finished cells in the order in which they were measured.
    """

    manifest: Mapping[str, Any]
    results: tuple[CellResult, ...]


def read_collection(folder: Path) -> Collection:
    """Read the manifest and every finished cell of a folder.

    Raises
    ------
    InputError : the folder is not a collection, has another layout, or is damaged.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(f"{folder} has no {MANIFEST_NAME}: choose a folder that `profet collect` wrote.")
    return Collection(manifest, tuple(result for result, _ in whole_lines(read_cells(folder), CELLS_NAME)))


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest; None if there is none.

    Raises
    ------
    InputError : it can't be read, is damaged, or has another layout.
    """
    try:
        manifest = json.loads((folder / MANIFEST_NAME).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{folder / MANIFEST_NAME} can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{folder / MANIFEST_NAME} is damaged: collect into another folder.") from None
    version = manifest.get("layout_version") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or version != LAYOUT_VERSION:
        raise InputError(f"{folder} has layout {version!r}; this version reads layout {LAYOUT_VERSION}.")
    return manifest


def read_cells(folder: Path) -> bytes:
    """Read the bytes of the cells' file; empty if there is none."""
    try:
        return (folder / CELLS_NAME).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"{folder / CELLS_NAME} can't be read: {error.strerror}.") from None
