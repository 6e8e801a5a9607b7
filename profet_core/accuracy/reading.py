"""Reads a report of measured accuracy: what is damaged is refused in one line, every figure is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, finite_number, manifest_checksum, shown, strict_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: What reading a document that isn't one of ours runs into.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError, RecursionError)

Value = TypeVar("Value")
Record = TypeVar("Record", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report that ships with the models.

    Attributes
    ----------
    title : what it is called at the beginning of a sentence.
    command : writes it.
    """

    path: Path
    title: str
    command: str

    def read(self, parse: Callable[[JsonObject], Value]) -> Value:
        """What `parse` makes of the report.

        Raises
        ------
        ArtifactError : it is missing or damaged.
        """
        found = self.read_if_there(parse)
        if found is None:
            raise ArtifactError(f"{self.title} {shown(self.path)} is missing: {self._remedy}.")
        return found

    def read_signed(self, parse: Callable[[JsonObject], Value], **made_for: str) -> Value:
        """The same of a report with a checksum of its own.

        Parameters
        ----------
        made_for : name of a file of coefficients, without its ending -> the checksum of the loaded one.

        Raises
        ------
        ArtifactError : it is missing, damaged or changed, or was made for other coefficients.
        """

        def checked(report: JsonObject) -> Value:
            if report.get("checksum") != manifest_checksum(report):
                raise ValueError("changed")
            for name, loaded in made_for.items():
                self.check_belongs(report.get(f"{name}_checksum"), loaded, f"{name}.json")
            return parse(report)

        return self.read(checked)

    def read_if_there(self, parse: Callable[[JsonObject], Value]) -> Value | None:
        """The same; None where it is missing.

        Raises
        ------
        ArtifactError : it is damaged.
        """
        try:
            document = strict_json(self.path)
            if not isinstance(document, Mapping):
                raise TypeError("no object")
            return parse(document)
        except OSError:
            return None
        except ArtifactError:
            raise
        except _DAMAGE:
            raise ArtifactError(f"{self.title} {shown(self.path)} is damaged: {self._remedy}.") from None

    def check_belongs(self, found: object, loaded: str, what: str) -> None:
        """Refuse a report whose checksum is not that of what is loaded: "models", "transfer.json", ...

        Raises
        ------
        ArtifactError : it is of something else.
        """
        if found != loaded:
            other = f"other {what} than those" if what == "models" else f"another {what} than that"
            raise ArtifactError(f"The figures in {shown(self.path)} belong to {other} loaded: {self._remedy}.")

    @property
    def _remedy(self) -> str:
        return f"restore it (git checkout models) or run `{self.command}`"


def read_record(
    kind: type[Record], row: JsonObject, readers: Mapping[str, Callable[[Any], object]] | None = None
) -> Record:
    """A record whose fields a row names as the record does; `readers` : type of a field -> what reads it, if unusual.

    Raises
    ------
    KeyError, TypeError, ValueError : a field is missing or is none.
    """
    by_type = {**_READERS, **(readers or {})}
    return kind(**{field.name: by_type[str(field.type)](row[field.name]) for field in fields(kind)})


def text(value: object) -> str:
    """A text; TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    return value


def flag(value: object) -> bool:
    """True or false; TypeError for anything else."""
    if not isinstance(value, bool):
        raise TypeError(f"neither true nor false: {value!r}")
    return value


def positive(value: object) -> float:
    """A number above 0, such as a latency; TypeError or ValueError for anything else."""
    number = finite_number(value)
    if number <= 0:
        raise ValueError(f"not above 0: {value!r}")
    return number


def count(value: object) -> int:
    """A whole number, 0 or more; TypeError or ValueError for anything else."""
    number = finite_number(value)
    if number < 0 or not number.is_integer():
        raise ValueError(f"no count: {value!r}")
    return int(number)


def optional(reader: Callable[[Any], Value]) -> Callable[[object], Value | None]:
    """What `reader` reads, or None."""
    return lambda value: None if value is None else reader(value)


def by_name(rows: JsonObject, reader: Callable[[Any], Value]) -> dict[str, Value]:
    """Each value of a table of names as `reader` reads it."""
    return {text(name): reader(value) for name, value in rows.items()}


_READERS: Mapping[str, Callable[[Any], object]] = {
    "str": text,
    "bool": flag,
    "int": count,
    "int | None": optional(count),
    "float": finite_number,
    "float | None": optional(finite_number),
}
