"""How predictions from profiles that strangers recorded compare with what was measured: records of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TypeVar

from profet_core.accuracy.validation import Errors
from profet_core.artifacts.models import Models
from profet_core.errors import ArtifactError
from profet_core.files import finite_number, strict_json
from profet_core.latency import Basis

REAL_REPORT_NAME = "real_profiles.json"

_Key = TypeVar("_Key")
_WRITE_AGAIN = "get it again (git checkout models) or run `profet validate --real DIR --card`"


@dataclass(frozen=True, slots=True)
class Said:
    """A predicted step latency and its 90 % interval, milliseconds."""

    latency_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class RealCheck:
    """One profile towards one GPU on which the same workload was measured.

    Attributes
    ----------
    profile : its file, and the record in it where it holds several.
    anchor, target : instances that stand for the two GPUs; `target` is the GPU's name where it was never profiled.
    anchor_gpu, target_gpu : short names.
    framework : with its version, as the index has it. kind : what was trained.
    basis : measured, derived or transferred, as a prediction's row says.
    trained_on : measurements of this very network are among those the models learned from.
    step_ms : measured on the anchor. truth_ms, truth : measured on the target, and by whom.
    with_latency, without_latency : what is predicted with `step_ms` given, and without.
    """

    profile: str
    anchor: str
    anchor_gpu: str
    target: str
    target_gpu: str
    framework: str
    kind: str
    basis: Basis
    trained_on: bool
    step_ms: float
    truth_ms: float
    truth: str
    with_latency: Said
    without_latency: Said

    def said(self, latency_known: bool) -> Said:
        """The prediction that applies."""
        return self.with_latency if latency_known else self.without_latency

    def error(self, latency_known: bool) -> float:
        """Predicted less measured, percent of the measured."""
        return 100 * (self.said(latency_known).latency_ms / self.truth_ms - 1)

    def covered(self, latency_known: bool) -> bool:
        """True if the measured latency lies inside the interval."""
        said = self.said(latency_known)
        return said.low_ms <= self.truth_ms <= said.high_ms

    @property
    def library(self) -> str:
        """The framework without its version."""
        return self.framework.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class RealReading:
    """What the readers made of one profile.

    Attributes
    ----------
    gpu : as the index names it.
    format : of the file; empty if it was refused.
    steps, steps_found, steps_basis : how many steps the index says, how many were found in the file and how.
    left_out : share of the GPU's busy time without an operation class, percent; None where nothing was read.
    here_ms : measured by others for the same workload on the same GPU; None if nobody did.
    checks : targets it is compared on. source : who published it, and under what terms.
    refusal : why it was not read or not predicted from, empty if it was.
    note : why there is no comparison, or what a visitor would have been asked first; empty if nothing is to say.
    """

    profile: str
    gpu: str
    framework: str
    kind: str
    format: str
    steps: int | None
    steps_found: int | None
    steps_basis: str
    left_out: float | None
    here_ms: float | None
    checks: int
    source: str
    refusal: str
    note: str

    @property
    def steps_right(self) -> bool | None:
        """None if the index doesn't tell or nothing was read."""
        return None if None in (self.steps, self.steps_found) else self.steps == self.steps_found


@dataclass(frozen=True, slots=True)
class RealFigures:
    """Over `n` predictions, percent: mean absolute error, and share of measurements inside the 90 % interval."""

    n: int
    error: Errors
    covered: Errors


@dataclass(frozen=True)
class RealReport:
    """All profiles of a folder, tied to one set of models."""

    models_checksum: str
    made: str
    checks: tuple[RealCheck, ...]
    readings: tuple[RealReading, ...]

    @property
    def compared(self) -> tuple[str, ...]:
        """Profiles with at least one check."""
        return tuple(dict.fromkeys(check.profile for check in self.checks))

    @property
    def of_profiled(self) -> tuple[RealCheck, ...]:
        """Checks towards GPUs that were profiled for the training data: what the means are over."""
        return tuple(check for check in self.checks if check.basis is Basis.MEASURED)

    @property
    def mean(self) -> RealFigures | None:
        """Over every check of `of_profiled`; None if there is none."""
        return figures(self.of_profiled)

    @property
    def pairs(self) -> dict[tuple[str, str], RealFigures]:
        """(anchor, target) -> figures, targets that nobody profiled included."""
        return grouped(self.checks, lambda check: (check.anchor, check.target))

    @property
    def libraries(self) -> dict[str, RealFigures]:
        """Framework -> figures."""
        return grouped(self.of_profiled, lambda check: check.library)

    @property
    def kinds(self) -> dict[str, RealFigures]:
        """What was trained -> figures."""
        return grouped(self.of_profiled, lambda check: check.kind)

    @property
    def alike(self) -> tuple[tuple[RealCheck, ...], ...]:
        """All checks, those together that differ in the profile alone."""
        groups: dict[tuple, list[RealCheck]] = {}
        for check in self.checks:
            key = (check.anchor, check.target, check.framework, check.kind)
            groups.setdefault(key, []).append(check)
        return tuple(tuple(group) for group in groups.values())

    @property
    def translated(self) -> tuple[RealCheck, ...]:
        """Checks of `of_profiled` whose profile is PyTorch's, translated to TensorFlow's operations."""
        return tuple(check for check in self.of_profiled if check.library == "PyTorch")

    def steps_here_ms(self, checks: Iterable[RealCheck]) -> dict[float, tuple[float, ...]]:
        """What others measured on the very GPU of profiles of `checks` -> the steps of those profiles."""
        here = {row.profile: row.here_ms for row in self.readings}
        found: dict[float, tuple[float, ...]] = {}
        for name, step_ms in {check.profile: check.step_ms for check in checks}.items():
            if here.get(name) is not None:
                found[here[name]] = (*found.get(here[name], ()), step_ms)
        return found

    def document(self) -> dict:
        """The report as `profet validate --real --format json` prints it; all figures percent or milliseconds."""
        ends = {(check.anchor, check.target): check for check in self.checks}
        return {
            "models_checksum": self.models_checksum,
            "made": self.made,
            "pairs": [
                {
                    **{name: getattr(ends[pair], name) for name in ("anchor", "anchor_gpu", "target", "target_gpu")},
                    "basis": ends[pair].basis,
                    **_figures_document(found),
                }
                for pair, found in self.pairs.items()
            ],
            "frameworks": [{"framework": name, **_figures_document(row)} for name, row in self.libraries.items()],
            "kinds": [{"kind": name, **_figures_document(row)} for name, row in self.kinds.items()],
            "mean": _figures_document(self.mean) if self.mean else None,
            "profiles": [asdict(check) for check in self.checks],
            "read": [{**asdict(row), "steps_right": row.steps_right} for row in self.readings],
        }


def grouped(checks: Iterable[RealCheck], key: Callable[[RealCheck], _Key]) -> dict[_Key, RealFigures]:
    """Figures of the checks that share a key, in the order the keys are first met."""
    groups: dict[_Key, list[RealCheck]] = {}
    for check in checks:
        groups.setdefault(key(check), []).append(check)
    return {name: figures(group) for name, group in groups.items()}


def figures(checks: Iterable[RealCheck]) -> RealFigures | None:
    """Every check counts the same; None if there is none."""
    rows = list(checks)
    if not rows:
        return None

    def mean(of: Callable[[RealCheck, bool], float]) -> Errors:
        return Errors(*(sum(of(row, known) for row in rows) / len(rows) for known in (True, False)))

    return RealFigures(
        n=len(rows),
        error=mean(lambda row, known: abs(row.error(known))),
        covered=mean(lambda row, known: 100.0 * row.covered(known)),
    )


def _figures_document(row: RealFigures) -> dict[str, float]:
    return {
        "n": row.n,
        "mape_with_latency": row.error.with_latency,
        "mape_without_latency": row.error.without_latency,
        "coverage_90": row.covered.with_latency,
        "coverage_90_without_latency": row.covered.without_latency,
    }


def load_real_report(models: Models) -> RealReport | None:
    """What was found with these very models; None if nobody looked.

    Raises
    ------
    ArtifactError : the report is damaged, or was written for other models.
    """
    path = models.folder / REAL_REPORT_NAME
    try:
        found = _read(strict_json(path))
    except OSError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ArtifactError(f"The report on real profiles {path} is damaged: {_WRITE_AGAIN}.") from None
    if found.models_checksum != models.manifest["checksum"]:
        raise ArtifactError(f"The figures in {path} belong to other models than those loaded: {_WRITE_AGAIN}.")
    return found


def _read(document: Mapping) -> RealReport:
    return RealReport(
        models_checksum=_text(document["models_checksum"]),
        made=_text(document["made"]),
        checks=tuple(_check(row) for row in document["profiles"]),
        readings=tuple(_reading(row) for row in document["read"]),
    )


def _check(row: Mapping) -> RealCheck:
    readers = {"str": _text, "Basis": Basis, "bool": _flag, "float": _positive, "Said": _said}
    return RealCheck(**{field.name: readers[field.type](row[field.name]) for field in fields(RealCheck)})


def _reading(row: Mapping) -> RealReading:
    readers = {"str": _text, "int": _count, "int | None": _maybe(_count), "float | None": _maybe(finite_number)}
    return RealReading(**{field.name: readers[field.type](row[field.name]) for field in fields(RealReading)})


def _said(row: Mapping) -> Said:
    return Said(**{field.name: _positive(row[field.name]) for field in fields(Said)})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"neither true nor false: {value!r}")
    return value


def _positive(value: object) -> float:
    number = finite_number(value)
    if number <= 0:
        raise ValueError("a latency is above 0")
    return number


def _count(value: object) -> int:
    number = finite_number(value)
    if number < 0 or not number.is_integer():
        raise ValueError(f"no count: {value!r}")
    return int(number)


def _maybe(reader: Callable[[object], _Key]) -> Callable[[object], _Key | None]:
    return lambda value: None if value is None else reader(value)
