"""Read the index of a folder of real profiles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from profet_core.errors import InputError
from profet_core.profiles import Profile, read_profile

INDEX_NAME = "index.json"
_Line = Annotated[str, msgspec.Meta(pattern=r"^\S(.*\S)?\Z")]
_Count = Annotated[int, msgspec.Meta(ge=1)]
_Ms = Annotated[float, msgspec.Meta(gt=0)]


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload of the PROFET measurements."""

    model: _Line
    pixels: _Count
    batch_size: _Count


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step latency on some GPU, milliseconds, and who measured it."""

    latency_ms: _Ms
    source: _Line


class RealProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One profile of the index.

    Attributes
    ----------
    file : its path below the folder.
    framework : name, then version. kind : what was trained, as tables show it.
    steps : how many the file covers. step_ms : latency of one, milliseconds. None: not known.
    elsewhere : GPU -> what the same workload took there.
    measured : the same workload in the PROFET measurements.
    source, licence : who published it, and under what terms.
    """

    file: _Line
    gpu: _Line
    framework: _Line
    kind: _Line
    steps: _Count | None = None
    step_ms: _Ms | None = None
    elsewhere: dict[str, Known] = {}
    measured: Measured | None = None
    source: str = ""
    licence: str = ""


@dataclass(frozen=True)
class RealIndex:
    """The profiles of a folder, and where they lie."""

    folder: Path
    profiles: tuple[RealProfile, ...]

    def read(self, entry: RealProfile) -> Profile:
        """One of the profiles.

        Raises
        ------
        ProfetError : it can't be read.
        """
        path = self.folder / entry.file
        try:
            with path.open("rb") as file:
                return read_profile(file, path.name)
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror}.") from None


class _Index(msgspec.Struct, forbid_unknown_fields=True):
    profiles: Annotated[tuple[RealProfile, ...], msgspec.Meta(min_length=1)]


def read_index(folder: Path | str) -> RealIndex:
    """Read `index.json` of `folder`.

    Raises
    ------
    InputError : one line that says what is wrong with the folder or the index.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"Folder {folder} not found.")
    path = folder / INDEX_NAME
    if not path.is_file():
        raise InputError(f"{folder} has no {INDEX_NAME}: add one that lists its profiles.")
    try:
        entries = msgspec.json.decode(path.read_bytes(), type=_Index).profiles
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from None
    for entry in entries:
        if not (folder / entry.file).is_file():
            raise InputError(f"{path} lists {entry.file}, which is missing: add the file or remove the entry.")
    return RealIndex(folder, entries)
