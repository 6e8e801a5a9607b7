"""Load the models and sample traces that ship with the code, or other models; what is known of profiled instances."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from profet_core.catalog.gpus import Gpus, Host, host_named, load_gpus
from profet_core.ensemble.members import Fitted, IntervalScale, read_fitted
from profet_core.ensemble.operations import FeatureSpec
from profet_core.ensemble.work import WorkReader, readers_of
from profet_core.errors import ArtifactError, InputError
from profet_core.files import (
    JsonObject,
    finite_number,
    load_coefficients,
    models_folder,
    put_aside,
    read_coefficients,
    sha256_hex,
    shipped_folder,
    strict_json,
)
from profet_core.prediction.growth import GROWTH_NAME, GrowthModel, load_growth
from profet_core.prediction.scaler import DocumentedScaler, LearnedScaler, axis_range, learned_scaler
from profet_core.training.memory import MEMORY_NAME, MemoryModel, load_memory
from profet_core.training.scaling_model import SCALEOUT_NAME, ScaleoutModel, load_scaleout
from profet_profiles import Profile
from profet_profiles.profet_json import read_small

TRANSFER_NAME = "transfer.json"
TRANSFER_VERSION = 11
#: File in the same folder for GPUs whose steps a user measured, of `layers.rates`.
CALIBRATED_NAME = "calibrated.json"


class ProfiledInstance(Struct, frozen=True):
    """An instance that was profiled.

    Attributes
    ----------
    gpu : its full name.
    inferred_log_half_width : 90% of steps are within this of the latency inferred from their profile, in the logarithm.
    """

    gpu: str
    host: Host
    inferred_log_half_width: float


class TransferModel(Struct, frozen=True, dict=True):
    """The profiled instances, what reads the work in their profiles, and the specs of all GPUs.

    Attributes
    ----------
    profiled : instance -> what is known of it.
    reference : profiled instance whose models read the profiles of unprofiled GPUs.
    readers : profiled instance -> what infers the work of a step from its profiles.
    checksum : of the file's content.
    """

    profiled: Mapping[str, ProfiledInstance]
    reference: str
    readers: Mapping[str, WorkReader]
    gpus: Gpus
    fitted_on: Mapping[str, str]
    checksum: str

    @cached_property
    def profiled_gpus(self) -> Mapping[str, str]:
        """Full GPU name -> the instance that was profiled with it, or with its twin."""
        profiled = {row.gpu: name for name, row in self.profiled.items()}
        twins = {gpu.name: self.gpus.twin(gpu).name for gpu in self.gpus.values()}
        return {**{name: profiled[twin] for name, twin in twins.items() if twin in profiled}, **profiled}

    @property
    def reference_gpu(self) -> str:
        """Full name of the reference instance's GPU."""
        return self.profiled[self.reference].gpu


def load_transfer(folder: Path | str | None = None, gpus: Gpus | None = None) -> TransferModel:
    """Load `transfer.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    path = models_folder(folder) / TRANSFER_NAME
    return load_coefficients(path, TRANSFER_VERSION, lambda content: transfer_model(content, gpus or load_gpus()))


def transfer_model(content: JsonObject, gpus: Gpus) -> TransferModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    model = TransferModel(
        profiled=MappingProxyType({str(name): _profiled(row) for name, row in content["profiled"].items()}),
        reference=str(content["reference"]),
        readers=readers_of(content["work"]),
        gpus=gpus,
        fitted_on=MappingProxyType(dict(content["fitted_on"])),
        checksum=str(content["checksum"]),
    )
    if model.reference_gpu not in gpus:
        raise ValueError(f"no specs of {model.reference_gpu}")
    return model


def _profiled(row: JsonObject) -> ProfiledInstance:
    width = finite_number(row["inferred_log_half_width"])
    return ProfiledInstance(str(row["gpu"]), host_named(str(row["host"])), width)


class TrainingRange(Struct, frozen=True):
    """Range (minimum, maximum) of one instance's training profiles; predictions outside it are extrapolations."""

    latency_ms: tuple[float, float]
    device_total_us: tuple[float, float]
    latency_per_device_total: tuple[float, float]
    median_latency_per_device_total: float

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> TrainingRange:
        """Parse the range from its manifest entry."""
        given = ((name, values[name]) for name in cls.__struct_fields__)
        parsed: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given}
        return cls(**parsed)


class MemberStack(Struct, frozen=True):
    """One ensemble member of the default method; `targets` are the first axis of its arrays."""

    targets: tuple[str, ...]
    fitted: Fitted
    constants: np.ndarray
    typical_log_ratio: np.ndarray


class EnsembleRule(Struct, frozen=True):
    """Members, and how their latencies combine: by "median", "mean" or "geometric mean", there with these weights."""

    members: tuple[str, ...]
    combine: str
    weights: tuple[float, ...] | None = None

    @property
    def words(self) -> str:
        """'median of 3 models'."""
        return f"{self.combine} of {len(self.members)} models" if len(self.members) > 1 else "one model"


class Method(Struct, frozen=True):
    """A prediction method: `rules`, whether the anchor's latency is known -> how.

    Kind "classes" is one network for all targets of an anchor, over classes of operations; "pairs" one model per anchor
    and target, over clusters of operations.
    """

    name: str
    rules: Mapping[bool, EnsembleRule]
    kind: str = "pairs"

    @classmethod
    def of(cls, name: str, values: Mapping[str, Any]) -> Method:
        """Parse a method from its manifest entry."""
        rules = {
            with_latency: EnsembleRule(
                tuple(rule["members"]), rule["combine"], tuple(rule.get("weights") or ()) or None
            )
            for with_latency, rule in ((True, values["with_latency"]), (False, values["without_latency"]))
        }
        return cls(name, rules, values.get("kind", "pairs"))


#: Whether the anchor's latency and the sizes are known -> name of the case in the manifest.
STACK_CASES = {
    (True, True): "with_latency_and_sizes",
    (True, False): "with_latency",
    (False, True): "without_latency_and_sizes",
    (False, False): "without_latency",
}
MANIFEST_NAME = "manifest.json"
SCHEMA_VERSION = 2

Coefficients = TypeVar("Coefficients")
_DOWNLOAD_AGAIN = "restore the models (git checkout models) or run `profet train`"


class Models:
    """A models folder. Each file is read, checked against the manifest and opened once, on first use."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.features = FeatureSpec(
            clusters=tuple(tuple(names) for names in manifest["features"]["clusters"]),
            host_operations=tuple(manifest["features"]["host_operations"]),
            near=float(manifest["features"]["near"]),
        )
        self.methods = {name: Method.of(name, values) for name, values in manifest["methods"].items()}
        self.default_method: str = manifest["default_method"]
        #: Profiled instances; each can be anchor or target.
        self.instances = tuple(manifest["instances"])
        self.ranges = {name: TrainingRange.of(values) for name, values in manifest["instances"].items()}
        self._scalers = {
            (row["instance"], row["axis"]): DocumentedScaler(row["instance"], row["axis"], *row["coefficients"])
            for row in manifest["scalers"]
        }
        self._learned_scalers = {row["axis"]: learned_scaler(row) for row in manifest.get("scaler_curves", ())}
        self._members = {(row["anchor"], row["member"]): row for row in manifest["members"]}
        self._stacks = {(row["anchor"], row["member"], row["case"]): row for row in manifest.get("stacks", ())}
        intervals = manifest.get("intervals", {})
        #: Whether the anchor's latency is known -> scale of the intervals.
        self.interval_scales = {
            with_latency: IntervalScale(**intervals[name])
            for (with_latency, _), name in STACK_CASES.items()
            if name in intervals
        }
        self._references: dict[str, np.ndarray] = {}
        self._fitted: dict[str, Fitted] = {}
        self._opened: dict[tuple[str, str, str], MemberStack] = {}
        self._verified: dict[str, bytes] = {}
        self._lock = Lock()

    def profiled(self, instance: str) -> str | None:
        """`instance` if it was profiled, else None, as `sizes.scale` takes it."""
        return instance if instance in self.ranges else None

    def method(self, name: str) -> Method:
        """Return the method of that name, InputError if unknown; "default" is the one in the manifest."""
        method = self.methods.get(self.default_method if name == "default" else name)
        if method is None:
            raise InputError(f"Unknown method {name!r}: use default or one of {', '.join(self.methods)}.")
        return method

    def scaler(self, instance: str | None, axis: str) -> DocumentedScaler:
        """Return the scaler of an instance along "batch" or "pixels"; InputError if the models have none."""
        axis_range(axis)
        if instance is None or (instance, axis) not in self._scalers:
            raise InputError(f"No scaler for {instance!r}: choose one of {', '.join(self.instances)}.")
        return self._scalers[instance, axis]

    def learned_scaler(self, axis: str) -> LearnedScaler | None:
        """Return the default scaler along "batch" or "pixels"; None if the models have none."""
        return self._learned_scalers.get(axis)

    def run_members(
        self, anchor: str, targets: Sequence[str], member: str, inputs: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """Latencies of one member on each of `targets`, milliseconds, shape (targets, profiles).

        `inputs` holds each kind of member input ("clusters", "latency_ms"), float32, one row per profile. ArtifactError
        if there is no such member, or its file is missing, damaged or changed.
        """
        row = self._members.get((anchor, member), {"targets": ()})
        missing = [target for target in targets if target not in row["targets"]]
        if missing:
            raise ArtifactError(
                f"The models have no member {member!r} from {anchor} to {missing[0]}: {_DOWNLOAD_AGAIN}."
            )
        fitted = self._member(row["file"], len(row["targets"]))
        return fitted.run(inputs[row["input"]])[[row["targets"].index(target) for target in targets], :, 0]

    def stack(self, anchor: str, member: str, *, latency_known: bool, sizes_known: bool) -> MemberStack:
        """One member of the default method, for every target of `anchor`; raises as `run_members`."""
        case = STACK_CASES[latency_known, sizes_known]
        if stack := self._opened.get((anchor, member, case)):
            return stack
        row = self._stacks.get((anchor, member, case))
        if row is None:
            raise ArtifactError(f"The models have no member {member!r} from {anchor}: {_DOWNLOAD_AGAIN}.")
        stack = self._opened[anchor, member, case] = MemberStack(
            targets=tuple(row["targets"]),
            fitted=self._member(row["file"], len(row["targets"])),
            constants=np.asarray(row["constants"], float)[:, None, :],
            typical_log_ratio=np.asarray(row["typical_log_ratio"], float),
        )
        return stack

    @cached_property
    def transfer(self) -> TransferModel:
        """Model that transfers latencies to unprofiled GPUs; ArtifactError if these models have none."""
        transfer = load_transfer(self.folder)
        self._check_in_place()
        return transfer

    def with_transfer(self, transfer: TransferModel) -> Models:
        """Return the same models, sharing loaded files, with another transfer model."""
        other = copy(self)
        other.__dict__["transfer"] = transfer
        return other

    @cached_property
    def memory(self) -> MemoryModel | None:
        """Memory model of a step; None if absent."""
        return self._coefficients(MEMORY_NAME, load_memory)

    @cached_property
    def growth(self) -> GrowthModel | None:
        """Model of step latency scaling with batch and pixel size; None if absent."""
        return self._coefficients(GROWTH_NAME, load_growth)

    @cached_property
    def scaleout(self) -> ScaleoutModel | None:
        """Multi-GPU scaling model; None if absent."""
        return self._coefficients(SCALEOUT_NAME, load_scaleout)

    @cached_property
    def held_out_errors(self) -> tuple[float | None, float | None]:
        """Mean error on networks unlike all others, percent: on profiled GPUs, and on others; None: no report."""
        errors: list[float | None] = [None, None]
        for place, path in enumerate((UNSEEN_PROFILED, UNSEEN_BY_RATES)):
            with suppress(OSError, ValueError, LookupError, StopIteration):
                errors[place] = report_figure(self.folder, *path)
        return errors[0], errors[1]

    def _coefficients(self, name: str, load: Callable[[Path], Coefficients]) -> Coefficients | None:
        """Contents of a file beside the manifest: one that the manifest names must exist."""
        if name not in self.manifest.get("coefficients", ()) and not (self.folder / name).exists():
            return None
        coefficients = load(self.folder)
        self._check_in_place()
        return coefficients

    def reference(self, anchor: str) -> np.ndarray:
        """Class shares of an anchor's training profiles, as in `ensemble.members.class_shares`."""
        with self._lock:
            if anchor not in self._references:
                data = self._read(f"{anchor}/reference.npy")
                self._references[anchor] = np.load(io.BytesIO(data), allow_pickle=False).astype(float)
            return self._references[anchor]

    def verify(self) -> None:
        """Check every file against the manifest and keep it in memory, because another set may replace the folder."""
        self._verified = {}
        self._verified = {name: self._read(name) for name in self.manifest["files"]}
        _ = self.transfer, self.memory, self.growth, self.scaleout

    def _member(self, name: str, models: int) -> Fitted:
        """Contents of a member file, for that many targets."""
        with self._lock:
            if name not in self._fitted:
                data = self._read(name)
                try:
                    fitted = read_fitted(data)
                except ValueError:
                    raise self._damaged(name) from None
                if fitted.models != models:
                    raise self._damaged(name)
                self._fitted[name] = fitted
            return self._fitted[name]

    def _read(self, name: str) -> bytes:
        if name in self._verified:
            return self._verified.pop(name)
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            self._check_in_place()
            raise ArtifactError(f"The model file {name} is missing: {_DOWNLOAD_AGAIN}.") from None
        if sha256_hex(data) != self.manifest["files"].get(name):
            self._check_in_place()
            raise self._damaged(name)
        return data

    def _damaged(self, name: str) -> ArtifactError:
        return ArtifactError(f"The model file {name} is damaged or was changed: {_DOWNLOAD_AGAIN}.")

    def _check_in_place(self) -> None:
        """Raise if other models have replaced these on disk."""
        try:
            there = json.loads((self.folder / MANIFEST_NAME).read_bytes())["checksum"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return
        if there != self.manifest.get("checksum"):
            raise ArtifactError("The models changed while this program was running: restart it.")


def load_models(folder: Path | str | None = None) -> Models:
    """Load a models folder; None: `$PROFET_HOME`, else the shipped one. ArtifactError if its manifest can't be used."""
    folder = models_folder(folder)
    # A training may have been killed while it replaced the folder.
    folder = put_aside(folder) if not folder.exists() and put_aside(folder).exists() else folder
    path = folder / MANIFEST_NAME
    if not path.is_file():
        raise ArtifactError(f"There are no models in {folder.name or folder}: {_DOWNLOAD_AGAIN}.")
    return Models(folder, read_coefficients(path, SCHEMA_VERSION))


_FILES = (MANIFEST_NAME, CALIBRATED_NAME)


def report_figure(folder: Path, report: str, *path: str | Sequence[str | int]) -> float:
    """Read a figure of a models folder's report by the keys to it; a pair chooses the row that has this value."""
    figure: Any = json.loads((folder / f"{report}.json").read_bytes())
    for step in path:
        figure = figure[step] if isinstance(step, str) else next(row for row in figure if row[step[0]] == step[1])
    return float(figure)


#: Where reports have the error on networks unlike all others: on profiled GPUs, and by rates of work on any.
UNSEEN_PROFILED = ("validation", "default", "without_twin", "mape_with_latency")
_ANY_SOURCE = ("held_out", "families, as answered to users of another source")
UNSEEN_BY_RATES = ("estimate_validation", "judged", _ANY_SOURCE, "mape")


class CustomModels(Struct, frozen=True):
    """A custom models folder: date of its newest file (ISO 8601, UTC), and what its models were trained on.

    `base_ships`: its models are those that ship with this version.
    """

    written: str
    instances: tuple[str, ...]
    networks: tuple[str, ...]
    base_ships: bool


def custom_models(models: Models) -> CustomModels | None:
    """Describe the loaded models; None if they are the shipped ones."""
    shipped = shipped_folder("models")
    if models.folder.resolve() == shipped.resolve():
        return None
    times = [path.stat().st_mtime for name in _FILES if (path := models.folder / name).is_file()]
    networks = models.manifest.get("training_data", {}).get("architectures", ())
    base = None
    with suppress(OSError, ValueError, RecursionError):
        base = strict_json(shipped / MANIFEST_NAME)
    return CustomModels(
        written=datetime.fromtimestamp(max(times), UTC).date().isoformat() if times else "",
        instances=models.instances,
        networks=tuple(map(str, networks)),
        base_ships=isinstance(base, Mapping) and models.manifest.get("checksum") == base.get("checksum"),
    )


INDEX_NAME = "index.json"
_LATENCIES = ("measured_ms", "left_out_ms", "left_out_without_latency_ms")


class Sample(Struct, frozen=True):
    """A sample profile: of nine repeats of a workload in the training data, the one with median latency.

    Of the test data of PROFET's demo it is the first, whose latencies its documentation quotes.
    The sample in AMP is derived from one; only FP32 was measured elsewhere. That of larger images is made from layer
    counts, and nothing of it was measured.

    Attributes
    ----------
    name : short name, used in links and as the file's stem.
    title, description : display text.
    anchor : instance it was recorded on.
    latency_ms : measured step latency there, milliseconds; None if nothing was measured.
    measured_ms : instance -> measured FP32 step latency of the same workload on every other instance, milliseconds; of
        the sample in AMP on its anchor too.
    left_out_ms, left_out_without_latency_ms : instance -> prediction of the default method's models trained WITHOUT
        this architecture, with and without the anchor's latency; empty for both derived samples. The shipped models'
        answer is not a valid test, this is.
    """

    name: str
    title: str
    description: str
    anchor: str
    model: str
    batch_size: int
    pixels: int
    latency_ms: float | None
    measured_ms: Mapping[str, float]
    left_out_ms: Mapping[str, float]
    left_out_without_latency_ms: Mapping[str, float]
    path: Path

    @property
    def data(self) -> bytes:
        """The trace file, as a user would upload it."""
        return self.path.read_bytes()

    @property
    def profile(self) -> Profile:
        """The parsed trace."""
        return read_small(self.data, self.path.name)


def load_samples(folder: Path | None = None) -> tuple[Sample, ...]:
    """All sample traces in display order; the app opens with the first. ArtifactError if their index is damaged."""
    folder = folder or shipped_folder("sample_traces")
    try:
        rows = json.loads((folder / INDEX_NAME).read_text(encoding="utf-8"))
        return tuple(
            Sample(
                **{**row, **{key: MappingProxyType(dict(row[key])) for key in _LATENCIES}},
                path=folder / f"{row['name']}.json",
            )
            for row in rows
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise ArtifactError(
            f"The sample traces in {folder.name} are missing or damaged: git checkout sample_traces."
        ) from None
