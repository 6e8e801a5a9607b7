"""Operations: their kinds, clusters (the documented method's inputs), and classes (the default method's), imputed."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from profet_core.shipped import shipped_text
from profet_profiles.record import DEVICE_PREFIX, HOST_PREFIX, IDLE_OPERATIONS, Profile
from profet_profiles.units import US_PER_MS


def same_operations(profiles: Sequence[Profile]) -> Iterator[tuple[tuple[str, ...], list[int], np.ndarray]]:
    """Operations, indices and times of the profiles that have these operations; times: (rows, operations), us."""
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, profile in enumerate(profiles):
        rows.setdefault(tuple(profile.operations), []).append(row)
    for names, numbers in rows.items():
        yield names, numbers, np.array([list(profiles[row].operations.values()) for row in numbers])


def column_sums(column_of: Mapping[str, int | None], columns: int) -> np.ndarray:
    """Return the indicator of operation in column: 0 or 1, shape (operations, columns).

    >>> column_sums({"Device_Conv2D": 1, "Device_Mystery": None}, columns=2)
    array([[0., 1.],
           [0., 0.]])
    """
    sums = np.zeros((len(column_of), columns))
    for row, column in enumerate(column_of.values()):
        if column is not None:
            sums[row, column] = 1.0
    return sums


class UnknownOperations(Struct, frozen=True, forbid_unknown_fields=True):
    """Operations of one profile that a method has not seen in training.

    For the documented method, these are operations with unseen names. For the default method, these are operations of
    unknown kind, and operations of a kind absent from the training data if they take a notable time.

    Attributes
    ----------
    names : all of these operations, sorted.
    mapped : operation -> name of the cluster or class that its time was added to.
    unused : operations without a class or cluster; their time is not used.
    share : their part of the profile's busy (not idle) time, 0 to 1.
    """

    names: tuple[str, ...]
    share: float
    mapped: Mapping[str, str]
    unused: tuple[str, ...]


NO_UNKNOWN_OPERATIONS = UnknownOperations((), 0.0, MappingProxyType({}), ())


def report_unknown(
    profile: Profile, unseen: Sequence[str], column_of: Mapping[str, int | None], columns: Sequence[str]
) -> UnknownOperations:
    """Report the handling of a profile's unseen operations."""
    mapped = {name: columns[column] for name in unseen if (column := column_of[name]) is not None}
    time_us = sum(profile.operations[name] for name in unseen)
    return UnknownOperations(
        names=tuple(sorted(unseen)),
        mapped=MappingProxyType(mapped),
        unused=tuple(name for name in unseen if name not in mapped),
        share=time_us / profile.busy_total_us if profile.busy_total_us else 0.0,
    )


# `operation_kinds.csv` holds a kind for every operation of a training in TensorFlow 2.21 and PyTorch 2.13. `kinds.csv`
# holds the model class of each kind. A kind absent from the training data gets the class with the most similar
# bottleneck, mostly "elementwise", which is bound by memory bandwidth. Four rules map names to the table: oneDNN's
# prefix, a version, PyTorch's underscores for "in place", and "Grad" or "_backward" for the gradient of a listed
# operation.

#: Communication between GPUs: no class predicts its time on another instance, and it is not unknown time either.
COMMUNICATION = "communication"
#: Maximum length of an operation's name; patterns are slow on longer, made-up ones.
MAX_NAME_LENGTH = 200

_TENSORFLOW_STEM = re.compile(r"_*(?:Mkl(?:Native|Dummy)?)?(.*?)(?:[Vv]\d)?")
_PYTORCH_STEM = re.compile(r"(\w+::)_*(.*?)_*")
_GRADIENT = re.compile(r"(.+?)(?:(?:Grad(?:ient)?)+|_backward)")
_GRADIENT_ENDS = ("Grad", "Gradient", "_backward")
#: Kernels of the communication libraries, and TensorFlow's and Horovod's names for them.
_TALK = re.compile(r"_?(?:[nr]ccl|horovod|collective)\w*", re.IGNORECASE | re.ASCII)


class OperationKind(Struct, frozen=True):
    """Kind of operations."""

    name: str
    operation_class: str | None
    gradient: str


class OperationKinds(Struct, frozen=True, dict=True):
    """The tables.

    Attributes
    ----------
    kinds : by name, in the order of the table.
    operations : operation type without its prefix -> name of its kind.
    """

    kinds: Mapping[str, OperationKind]
    operations: Mapping[str, str]

    @cached_property
    def shipped(self) -> Mapping[str, OperationKind]:
        """Kinds of the table's operations, with and without prefixes; names from uploaded files are not cached."""
        prefixes = ("", DEVICE_PREFIX, HOST_PREFIX)
        return {prefix + name: self.kinds[kind] for name, kind in self.operations.items() for prefix in prefixes}

    @cached_property
    def by_stem(self) -> Mapping[str, str]:
        """Kinds by what `stem` leaves of the operations' names."""
        return {stem(name): kind for name, kind in self.operations.items()}


def stem(name: str) -> str:
    """Name of an operation without the parts that only identify the author of its kernel.

    >>> stem("_MklNativeFusedBatchNormV3"), stem("aten::_softmax_")
    ('FusedBatchNorm', 'aten::softmax')
    """
    if "::" in name and (match := _PYTORCH_STEM.fullmatch(name)):
        return match[1] + match[2]
    match = _TENSORFLOW_STEM.fullmatch(name)
    return match[1] if match else name


@cache
def load_operation_kinds() -> OperationKinds:
    """Load the shipped tables; read once, because they never change."""
    kinds = {
        row["kind"]: OperationKind(row["kind"], row["class"] or None, row["gradient"] or row["kind"])
        for row in csv.DictReader(shipped_text("ensemble/kinds.csv").splitlines())
    }
    header, *rows = csv.reader(shipped_text("ensemble/operation_kinds.csv").splitlines())
    operation, kind = header.index("operation"), header.index("kind")
    return OperationKinds(MappingProxyType(kinds), MappingProxyType({row[operation]: row[kind] for row in rows}))


def kind_of(operation: str) -> OperationKind | None:
    """Kind of an operation in the shipped tables, with or without "Device_" or "Host_"; None if unknown.

    >>> kind_of("Device_Conv2DBackpropFilter").operation_class, kind_of("Device_MyLayer")
    ('convolution filter gradient', None)
    """
    table = load_operation_kinds()
    if shipped_kind := table.shipped.get(operation):
        return shipped_kind
    bare = operation.removeprefix(DEVICE_PREFIX).removeprefix(HOST_PREFIX)
    if len(bare) > MAX_NAME_LENGTH:
        return None
    kind = table.operations.get(bare) or table.by_stem.get(short := stem(bare))
    # Test patterns only where they may match: a thousand unknown names are looked up per answer.
    if kind is None and short.endswith(_GRADIENT_ENDS) and (gradient := _GRADIENT.fullmatch(short)):
        forward = table.by_stem.get(stem(gradient[1]))
        kind = forward and table.kinds[forward].gradient
    if kind is None and _TALK.fullmatch(bare):
        kind = COMMUNICATION
    return None if kind is None else table.kinds[kind]


def is_set_aside(operation: str) -> bool:
    """Whether an operation's time is excluded deliberately, rather than unknown."""
    kind = kind_of(operation)
    return kind is not None and kind.name == COMMUNICATION


#: Values that an optimizer keeps per parameter, by the operation that updates it (TensorFlow's ResourceApply... with
#: the variables it takes in addition to `var`; PyTorch's fused ones with their state lists). Momentum keeps its
#: velocity, Adam two moments, AMSGrad the largest second moment too.
STATE_COPIES: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("GradientDescent", "ProximalGradientDescent", "aten::fused_sgd"), 0),
        **dict.fromkeys(("Momentum", "KerasMomentum", "AddSign", "PowerSign"), 1),
        **dict.fromkeys(("Adagrad", "ProximalAdagrad", "aten::fused_adagrad"), 1),
        **dict.fromkeys(("Adam", "AdaMax", "RMSProp", "Adadelta", "AdagradDA", "Ftrl"), 2),
        **dict.fromkeys(("aten::fused_adam", "aten::fused_adamw"), 2),
        **dict.fromkeys(("AdamWithAmsgrad", "CenteredRMSProp"), 3),
    }
)
#: Pattern that all of their names match; a profile has hundreds of other operations.
_UPDATES = re.compile("Ada|Sign|GradientDescent|Momentum|RMSProp|Ftrl|fused_")
#: Plain SGD reads a parameter and its gradient and writes the parameter; each state value is also read and written.
PLAIN_VALUES, VALUES_A_COPY = 3, 2


def traffic_factor(copies: float) -> float:
    """Memory traffic of an update with that many state copies, relative to plain SGD.

    >>> round(traffic_factor(2), 3)  # Adam keeps two moments
    2.333
    """
    return (PLAIN_VALUES + VALUES_A_COPY * copies) / PLAIN_VALUES


def state_copies(profile: Profile) -> float:
    """State copies of the parameters in a profile's optimizer: 0 for plain SGD or if unknown.

    Several optimizers are weighted by the parameters they update: their time over their traffic per parameter.
    """
    weights = {}
    for name, us in profile.operations.items():
        if us > 0 and name.startswith(DEVICE_PREFIX) and _UPDATES.search(name):
            bare = stem(name.removeprefix(DEVICE_PREFIX))
            copies = STATE_COPIES.get(bare.removeprefix("Resource").removeprefix("Sparse").removeprefix("Apply"))
            if copies is not None:
                weights[name] = us / traffic_factor(copies), copies
    total = sum(weight for weight, _ in weights.values())
    return sum(weight * copies for weight, copies in weights.values()) / total if total else 0.0


class FeatureSpec(Struct, frozen=True, dict=True):
    """Features in order: one per cluster of device operations, then one per host operation.

    Attributes
    ----------
    clusters : device operation types with similar names, without their prefix; their times add up to one feature.
    host_operations : host operation types, without their prefix.
    near : an unseen device operation joins the cluster whose names are within this mean edit distance of its own, the
        cut at which the clusters themselves were formed. 0 excludes unseen operations.
    """

    clusters: tuple[tuple[str, ...], ...]
    host_operations: tuple[str, ...]
    near: float

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Feature names in order."""
        device = (DEVICE_PREFIX + "&".join(cluster) for cluster in self.clusters)
        return (*device, *(HOST_PREFIX + name for name in self.host_operations))

    @cached_property
    def columns(self) -> Mapping[str, int]:
        """Column of every operation seen in training."""
        device = {
            DEVICE_PREFIX + operation: column for column, cluster in enumerate(self.clusters) for operation in cluster
        }
        host = {HOST_PREFIX + name: len(self.clusters) + index for index, name in enumerate(self.host_operations)}
        return MappingProxyType({**device, **host})

    def encode(self, profiles: Sequence[Profile]) -> tuple[np.ndarray, list[UnknownOperations]]:
        """Feature matrix of many profiles.

        Returns
        -------
        matrix : float64 of shape (profiles, features), microseconds.
        unknown : for each profile, the handling of operations never seen in training.
        """
        matrix = np.zeros((len(profiles), len(self.names)))
        unknown = [NO_UNKNOWN_OPERATIONS] * len(profiles)
        for names, rows, times_us in same_operations(profiles):
            # Profiles of one recorder mostly have the same operations, so one matrix product serves all of them.
            column_of = self.place(names)
            matrix[rows] = times_us @ column_sums(column_of, len(self.names))
            unseen = [name for name in names if name not in self.columns and name not in IDLE_OPERATIONS]
            if unseen:
                for row in rows:
                    unknown[row] = report_unknown(profiles[row], unseen, column_of, self.names)
        return matrix, unknown

    def place(self, operations: Sequence[str]) -> dict[str, int | None]:
        """Column of each operation: its own if seen in training, else the nearest cluster's, else None."""
        near = self._nearest_clusters([name for name in operations if name not in self.columns])
        return {name: self.columns[name] if name in self.columns else near[name] for name in operations}

    def _nearest_clusters(self, operations: Sequence[str]) -> dict[str, int | None]:
        """Column of the nearest cluster of each unseen operation; None if none is near or it runs on the host.

        All names at once: a loop over a thousand names takes a fifth of a second.
        """
        near: dict[str, int | None] = dict.fromkeys(operations)
        searched = [name for name in operations if name.startswith(DEVICE_PREFIX) and name not in IDLE_OPERATIONS]
        if self.near <= 0 or not self.clusters or not searched:
            return near
        names = [name for cluster in self.clusters for name in cluster]
        sizes = np.array([len(cluster) for cluster in self.clusters])
        bare = [name.removeprefix(DEVICE_PREFIX) for name in searched]
        # Imported here because only unseen names need it, and it takes a tenth of a command's start-up time.
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        distances = process.cdist(bare, names, scorer=Levenshtein.distance).astype(np.float64)
        means = np.add.reduceat(distances, np.cumsum(sizes) - sizes, axis=1) / sizes
        columns = means.argmin(axis=1)
        for name, column, mean in zip(searched, columns.tolist(), means.min(axis=1).tolist(), strict=True):
            if mean <= self.near:
                near[name] = column
        return near


# TensorFlow's statistics keep the 500 costliest operations. In a complete profile the device rows, including idle, add
# up to the step. The rows of each host thread add up to the steps it took part in, so in a profile of two steps they
# are a multiple of half a step. A profile is truncated if it lacks the operations of every classifier's training step
# (matrix product, softmax, arg max) and every cheap one. Its host rows still give the step duration for a guessed
# number of threads, and thus the missing device time.

#: Candidate numbers of host threads (a thread may take part in one of two steps), and the excess of host rows over
#: threads x step in complete profiles.
THREADS = np.arange(2, 8) / 2
HOST_EXCESS = 1.03
#: Prior probability that the retained share of device time is near 1 (mildly and severely truncated profiles);
#: otherwise it is anywhere between the bounds.
NEAR_COMPLETE = {"mild": 0.85, "severe": 0.15}
KEPT_NEAR, KEPT_CUT = (0.93, 1.01), (0.50, 0.93)
#: A profiled step takes slightly longer than an unprofiled one: mean and standard deviation of the log ratio.
PROFILING_LOG, PROFILING_LOG_SD = 0.05, 0.10
MAX_PROFILED_OVER_LATENCY = 1.35
MAX_FACTOR = 2.0


def repair_factor(
    device_total_ms: np.ndarray,
    idle_ms: np.ndarray,
    host_total_ms: np.ndarray,
    truncated: np.ndarray,
    severely: np.ndarray,
    latency_ms: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Factor for each profile's busy device time, with its uncertainty.

    Returns
    -------
    factor : (profiles,), 1 for complete profiles.
    doubt : (profiles,), standard deviation of the logarithm of the step over the thread counts, 0 for complete ones.

    All arguments have shape (profiles,); times are per step. `latency_ms` is the anchor's measured latency, None if
    unknown.
    """
    if not truncated.any():
        return np.ones(len(truncated)), np.zeros(len(truncated))
    step_ms = host_total_ms[:, None] / THREADS / HOST_EXCESS
    kept = np.divide(device_total_ms[:, None], step_ms, out=np.full(step_ms.shape, np.inf), where=step_ms > 0)
    near = np.where(severely, NEAR_COMPLETE["severe"], NEAR_COMPLETE["mild"])[:, None]
    weight = (
        near / np.ptp(KEPT_NEAR) * ((kept > KEPT_NEAR[0]) & (kept <= KEPT_NEAR[1]))
        + (1 - near) / np.ptp(KEPT_CUT) * ((kept > KEPT_CUT[0]) & (kept <= KEPT_CUT[1]))
        + 1e-9
    )
    log_step = np.log(np.maximum(step_ms, 1e-9))
    if latency_ms is not None:
        deviation = (log_step - np.log(latency_ms)[:, None] - PROFILING_LOG) / PROFILING_LOG_SD
        weight = weight * (np.exp(-(deviation**2) / 2) + 1e-6)
    weight /= weight.sum(axis=1, keepdims=True)
    mean = (weight * log_step).sum(axis=1)
    doubt = np.sqrt((weight * (log_step - mean[:, None]) ** 2).sum(axis=1))
    step = np.exp(mean)
    if latency_ms is not None:
        step = np.clip(step, latency_ms, MAX_PROFILED_OVER_LATENCY * latency_ms)
    busy_ms = np.maximum(device_total_ms - idle_ms, 1e-9)
    factor = np.clip((step - idle_ms) / busy_ms, 1.0, MAX_FACTOR)
    repaired = truncated & (host_total_ms > 0) & (device_total_ms > idle_ms)
    return np.where(repaired, factor, 1.0), np.where(repaired, doubt, 0.0)


#: An operation of a kind absent from the training data is reported if it takes at least this share of busy time: its
#: class has the same bottleneck, but was fitted on other operations.
NOTABLE_SHARE = 0.01

#: The classes of time without a kernel, and of copies from the host.
IDLE_CLASS, COPY_CLASS = "idle", "copy"

#: Every step runs bookkeeping operations of a few microseconds (a counter, a cast). TensorFlow keeps the 500 costliest
#: operations, so these are dropped first, and a profile with an operation type below this is complete. In the training
#: data truncated profiles have none below 21 us; complete ones mostly have some below 3 us.
CHEAP_MS = 0.010
#: Operations that end every classifier's step, and the loss.
_END_OF_STEP = tuple(DEVICE_PREFIX + name for name in ("MatMul", "Softmax", "ArgMax"))
_LOSS = DEVICE_PREFIX + "SoftmaxCrossEntropyWithLogits"


class ClassTimes(Struct, frozen=True):
    """Times of many profiles by operation class, milliseconds.

    Attributes
    ----------
    times_ms : (profiles, classes); device classes first.
    unknown_ms : (profiles,), device time of operations of unknown kind. It is not part of `times_ms`. Communication
        between GPUs is in neither.
    host_total_ms : (profiles,), all host rows, including idle.
    truncated : (profiles,), True if the operations that every classifier's training step has are absent, and every
        cheap one too.
    severely : (profiles,), True if even the loss, a costly operation, is absent.
    """

    times_ms: np.ndarray
    unknown_ms: np.ndarray
    host_total_ms: np.ndarray
    truncated: np.ndarray
    severely: np.ndarray


#: Lists of operations that are kept.
_MAX_KEPT = 32


class _Table(Struct, frozen=True):
    """Where the times of a list of operations belong.

    Attributes
    ----------
    sums : (operations, classes), 0 or 1.
    host, busy, unknown : (operations,) boolean; `busy` and `unknown` on the GPU.
    end_of_step, loss : indices.
    """

    sums: np.ndarray
    host: np.ndarray
    busy: np.ndarray
    unknown: np.ndarray
    end_of_step: list[int]
    loss: list[int]


class OperationClasses(Struct, frozen=True, dict=True):
    """Table of operation classes: facts about TensorFlow's operations, not learned from data.

    Attributes
    ----------
    device, host : class name -> its operations, with their prefix.
    """

    device: Mapping[str, tuple[str, ...]]
    host: Mapping[str, tuple[str, ...]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every class in order, device classes first."""
        return (*self.device, *self.host)

    @cached_property
    def columns(self) -> Mapping[str, int]:
        """Column of every operation in the table."""
        classes = [*self.device.values(), *self.host.values()]
        return MappingProxyType({name: column for column, names in enumerate(classes) for name in names})

    def place(self, operations: Sequence[str]) -> dict[str, int | None]:
        """Column of each operation: its class, or for a device operation outside the table the class of its kind."""
        column_of: dict[str, int | None] = {}
        for name in operations:
            column = self.columns.get(name)
            if column is None and name.startswith(DEVICE_PREFIX):
                kind = kind_of(name)
                column = self.names.index(kind.operation_class) if kind and kind.operation_class else None
            column_of[name] = column
        return column_of

    def is_unseen_kind(self, operation: str) -> bool:
        """Whether the class of a device operation had none of its kind in training."""
        return operation not in self.columns and kind_of(operation) not in self._served

    @cached_property
    def _served(self) -> frozenset[OperationKind]:
        """Kinds of the training operations in their classes."""
        kinds = {(kind_of(name), group) for group, names in self.device.items() for name in names}
        return frozenset(kind for kind, group in kinds if kind and kind.operation_class == group)

    def encode_table(
        self, operations: Sequence[str], times_us: np.ndarray, may_be_cut: np.ndarray | bool = True
    ) -> ClassTimes:
        """Class times of profiles with the same operations.

        Parameters
        ----------
        times_us : (profiles, operations), microseconds of one step.
        may_be_cut : (profiles,), or one for all: False for whole traces, which need no imputation.
        """
        key = tuple(operations)
        table = self._tables.get(key)
        if table is None:
            table, shipped = self._read(key), load_operation_kinds().shipped
            # Kept, because one profile is predicted many times; not with names that only an uploaded file has.
            if all(name in self.columns or name in shipped for name in key):
                if len(self._tables) == _MAX_KEPT:
                    self._tables.clear()
                self._tables[key] = table
        times_ms = times_us / US_PER_MS
        busy_ms = times_ms[:, table.busy]
        cheapest = np.where(busy_ms > 0, busy_ms, np.inf).min(axis=1, initial=np.inf)
        ended = (times_ms[:, table.end_of_step] > 0).any(axis=1)
        truncated = ~ended & (cheapest > CHEAP_MS) & may_be_cut
        return ClassTimes(
            times_ms=times_ms @ table.sums,
            unknown_ms=times_ms[:, table.unknown].sum(axis=1),
            host_total_ms=times_ms[:, table.host].sum(axis=1),
            truncated=truncated,
            severely=truncated & ~(times_ms[:, table.loss] > 0).any(axis=1),
        )

    @cached_property
    def _tables(self) -> dict[tuple[str, ...], _Table]:
        return {}

    def _read(self, operations: Sequence[str]) -> _Table:
        column_of = self.place(operations)
        device = np.array([name.startswith(DEVICE_PREFIX) for name in operations], bool)
        nowhere = np.array([column_of[name] is None and not is_set_aside(name) for name in operations], bool)
        return _Table(
            sums=column_sums(column_of, len(self.names)),
            host=~device,
            busy=device & np.array([name not in IDLE_OPERATIONS for name in operations], bool),
            unknown=device & nowhere,
            end_of_step=[at for at, name in enumerate(operations) if name in _END_OF_STEP],
            loss=[at for at, name in enumerate(operations) if name == _LOSS],
        )

    def encode(self, profiles: Sequence[Profile]) -> tuple[ClassTimes, list[UnknownOperations]]:
        """Class times of any profiles, and the handling of operations outside the table for each."""
        count = len(profiles)
        times = ClassTimes(np.zeros((count, len(self.names))), *np.zeros((2, count)), *np.zeros((2, count), bool))
        unknown = [NO_UNKNOWN_OPERATIONS] * count
        for names, rows, times_us in same_operations(profiles):
            part = self.encode_table(names, times_us, np.array([profiles[row].may_be_cut for row in rows]))
            for name in ClassTimes.__struct_fields__:
                getattr(times, name)[rows] = getattr(part, name)
            outside = [name for name in names if name.startswith(DEVICE_PREFIX) and name not in self.columns]
            column_of = self.place(outside) if outside else {}
            for row in rows if outside else ():
                # Outside the table: of unknown kind, or of a new one that takes a notable time.
                least_us, us = NOTABLE_SHARE * profiles[row].busy_total_us, profiles[row].operations
                notable = [
                    name
                    for name, column in column_of.items()
                    if column is None or (us[name] >= least_us and self.is_unseen_kind(name))
                ]
                unknown[row] = report_unknown(profiles[row], notable, column_of, self.names)
        return times, unknown


@cache
def load_operation_classes() -> OperationClasses:
    """Load the shipped table, `operation_classes.csv`; read once, because it never changes."""
    text = shipped_text("ensemble/operation_classes.csv")
    table: dict[str, list[str]] = {}
    for row in csv.DictReader(text.splitlines()):
        table.setdefault(row["class"], []).append(row["operation"])
    device = {name: tuple(ops) for name, ops in table.items() if ops[0].startswith(DEVICE_PREFIX)}
    host = {name: tuple(ops) for name, ops in table.items() if name not in device}
    return OperationClasses(MappingProxyType(device), MappingProxyType(host))
