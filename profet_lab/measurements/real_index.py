"""Read the index of a folder of real profiles."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from profet_core.errors import InputError, ProfetError
from profet_core.profiles import Profile, read_profile
from profet_core.profiles.decoding.strict_json import parse_json
from profet_core.units import positive_number, whole_number

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

INDEX_NAME = "index.json"
_Kind = TypeVar("_Kind", bound="DataclassInstance")
#: A record of a published table of totals -> meta of a profile.
_META = ("gpu", "framework", "precision", "steps")


@dataclass(frozen=True, slots=True)
class Measured:
    """A workload of the PROFET measurements."""

    model: str
    pixels: int
    batch_size: int


@dataclass(frozen=True, slots=True)
class Known:
    """A step latency on some GPU, milliseconds, and who measured it."""

    latency_ms: float
    source: str


@dataclass(frozen=True)
class RealProfile:
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

    file: str
    gpu: str
    framework: str
    kind: str
    record: int | None = None
    steps: int | None = None
    step_ms: float | None = None
    workload: str = ""
    elsewhere: Mapping[str, Known] = field(default_factory=lambda: MappingProxyType({}))
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
    entries = _entries(path.read_bytes(), str(path))
    for entry in entries:
        if not (folder / entry.file).is_file():
            raise InputError(f"{path} lists {entry.file}, which is missing: add the file or remove the entry.")
    return RealIndex(folder, entries)


def _version_2(record: object) -> object:
    """A published record of totals as a profile; any other record as it is."""
    if not isinstance(record, dict) or "operations_us" not in record:
        return record
    return {"operations": record["operations_us"], "meta": {key: record[key] for key in _META if key in record}}


def _entries(data: bytes, where: str) -> tuple[RealProfile, ...]:
    try:
        document = parse_json(data)
    except ProfetError as error:
        raise InputError(f"{where}: {error}") from None
    if not isinstance(document, dict) or set(document) != {"profiles"} or not isinstance(document["profiles"], list):
        raise InputError(f'{where} must be an object with a list of "profiles" and nothing else.')
    if not document["profiles"]:
        raise InputError(f"{where} lists no profile.")
    return tuple(
        _of_type(RealProfile, row, f"{where}: profile {number}", _FIELDS)
        for number, row in enumerate(document["profiles"], 1)
    )


def _of_type(kind: type[_Kind], row: object, what: str, readers: Mapping[str, Callable]) -> _Kind:
    """A record of the index as a dataclass: nothing missing, nothing misspelt, every value of its type."""
    if not isinstance(row, dict):
        raise InputError(f"{what} must be an object.")
    unknown = [name for name in row if name not in readers]
    if unknown:
        raise InputError(f"{what}: unknown field {unknown[0]!r}; known are {', '.join(readers)}.")
    needed = {entry.name for entry in fields(kind) if _is_needed(entry)}
    missing = [name for name in readers if name in needed and row.get(name) is None]
    if missing:
        raise InputError(f"{what}: {missing[0]} is missing.")
    return kind(**{name: readers[name](f"{what}: {name}", value) for name, value in row.items() if value is not None})


def _is_needed(entry: Field) -> bool:
    return entry.default is entry.default_factory  # both are MISSING


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InputError(f"{what} must be a text of one line.")
    return value.strip()


def _record(what: str, value: object) -> int:
    return whole_number(what, value, at_least=0)


def _elsewhere(what: str, value: object) -> Mapping[str, Known]:
    if not isinstance(value, dict):
        raise InputError(f'{what} must be an object such as {{"Tesla T4": {{"latency_ms": 151.8, "source": "..."}}}}.')
    readers = {"latency_ms": positive_number, "source": _text}
    return MappingProxyType({gpu: _of_type(Known, known, f"{what}, {gpu}", readers) for gpu, known in value.items()})


def _measured(what: str, value: object) -> Measured:
    return _of_type(Measured, value, what, {"model": _text, "pixels": whole_number, "batch_size": whole_number})


_FIELDS: Mapping[str, Callable] = {
    "file": _text,
    "record": _record,
    "gpu": _text,
    "framework": _text,
    "kind": _text,
    "workload": _text,
    "steps": whole_number,
    "step_ms": positive_number,
    "elsewhere": _elsewhere,
    "measured": _measured,
    "source": _text,
    "licence": _text,
}
