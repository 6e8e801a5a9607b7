"""Read the index of a folder of real profiles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from profet_core.errors import InputError, ProfetError
from profet_core.profiles import Profile, read_profile
from profet_core.profiles.decoding.strict_json import parse_json

INDEX_NAME = "index.json"
#: A record of a published table of totals -> meta of a profile.
_META = ("gpu", "framework", "precision", "steps")
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
    file : its path below the folder. record : its place in the file's list, from 0; None if the file is one profile.
    framework : name, then version. kind : what was trained, as tables show it.
    steps : how many the file covers. step_ms : latency of one, milliseconds. None: not known.
    workload : what is the same in other profiles of the index: their step latencies are what it took elsewhere. Empty:
        nothing.
    elsewhere : GPU -> what the same workload took there.
    measured : the same workload in the PROFET measurements.
    source, licence : who published it, and under what terms.
    """

    file: _Line
    gpu: _Line
    framework: _Line
    kind: _Line
    record: Annotated[int, msgspec.Meta(ge=0)] | None = None
    steps: _Count | None = None
    step_ms: _Ms | None = None
    workload: str = ""
    elsewhere: dict[str, Known] = {}
    measured: Measured | None = None
    source: str = ""
    licence: str = ""

    @property
    def name(self) -> str:
        """The file, and the record in it."""
        return self.file if self.record is None else f"{self.file}, {self.record}"


@dataclass(frozen=True)
class RealIndex:
    """The profiles of a folder, and where they lie."""

    folder: Path
    profiles: tuple[RealProfile, ...]

    def read(self, entry: RealProfile) -> Profile:
        """One of the profiles.

        Raises
        ------
        ProfetError : it can't be read, or holds no such record.
        """
        path = self.folder / entry.file
        try:
            if entry.record is None:
                with path.open("rb") as file:
                    return read_profile(file, path.name)
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror}.") from None
        try:
            records = parse_json(data)
        except ProfetError as error:
            raise InputError(f"{path}: {error}") from None
        if not isinstance(records, list) or entry.record >= len(records):
            raise InputError(f"{path} holds no record {entry.record}: it must be a list; the first record is 0.")
        return read_profile(json.dumps(_version_2(records[entry.record])).encode(), entry.name)


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


def _version_2(record: object) -> object:
    """A published record of totals as a profile; any other record as it is."""
    if not isinstance(record, dict) or "operations_us" not in record:
        return record
    return {"operations": record["operations_us"], "meta": {key: record[key] for key in _META if key in record}}
