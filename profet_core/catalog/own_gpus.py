"""GPUs of the user's: specs, one throughput that is known of it, and what an hour of it costs."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpu, Gpus, gpu_model
from profet_core.catalog.instance import OWN_HARDWARE, Instance, check_date
from profet_core.catalog.own import own_path, served_own_path, write_own_text
from profet_core.catalog.tables import LONGEST_NAME, Row, file_text, number_in, read_records
from profet_core.errors import CatalogError, InputError
from profet_core.units import positive_number, whole_number

#: Names the file; set but empty: there is none.
OWN_GPUS_VARIABLE = "PROFET_GPUS"
#: The file beside the own instances.
OWN_GPUS_NAME = "gpus.csv"
#: More are no hardware of your own.
MAX_OWN_GPUS = 20
PRECISIONS = ("fp32", "tf32")
#: A cell for the specs' figure that the GPU lacks; an empty one means the figure of the GPU that it is like.
HAS_NONE = "none"
#: Where no price is given, an hour costs its electricity: the power limit at this price, about what firms pay.
USD_PER_KWH = 0.20
GIVEN = "given by the user"

#: Figures of specs that may differ from those of the GPU that it is like.
SHEET_COLUMNS = ("fp32_tflops", "tf32_tensor_dense_tflops", "memory_gib", "bandwidth_gb_per_s", "tdp_w")
_THROUGHPUT_COLUMNS = ("images_per_s", "network", "pixels", "batch_size", "precision")
_SPEED_COLUMNS = ("times_reference", "times_log_sd")
#: Columns of the own file of GPUs, in order.
GPU_COLUMNS = (
    "gpu",
    "like",
    *SHEET_COLUMNS,
    *_THROUGHPUT_COLUMNS,
    *_SPEED_COLUMNS,
    "usd_per_hour",
    "as_of",
    "source",
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .()/_-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ThroughputPoint:
    """A measured or published training throughput, on one GPU.

    Attributes
    ----------
    network : as the training data names it, such as "ResNet50". precision : one of `PRECISIONS`.
    """

    images_per_s: float
    network: str
    pixels: int
    batch_size: int
    precision: str

    def __post_init__(self) -> None:
        positive_number("images_per_s", self.images_per_s)
        whole_number("pixels", self.pixels)
        whole_number("batch_size", self.batch_size)
        _check_precision(self.precision)

    @property
    def step_ms(self) -> float:
        """Milliseconds a step."""
        return 1_000 * self.batch_size / self.images_per_s


@dataclass(frozen=True, slots=True)
class SpeedPoint:
    """How many times as fast as the reference GPU it is; `log_sd`: standard deviation of the logarithm.

    precision : one of `PRECISIONS`; the reference's is FP32.
    """

    times_reference: float
    log_sd: float
    precision: str

    def __post_init__(self) -> None:
        _check_precision(self.precision)
        positive_number("times_reference", self.times_reference)
        positive_number("times_log_sd", self.log_sd)


@dataclass(frozen=True, slots=True)
class OwnGpu:
    """A GPU of the user's.

    Attributes
    ----------
    like : full name of the shipped GPU whose specs it takes what it doesn't say from.
    point : what is known of its speed; None: its specs alone.
    usd_per_hour : None: its electricity.
    as_of : date of what is known, as of a price. source : where the point is from.
    """

    gpu: Gpu
    like: str
    point: ThroughputPoint | SpeedPoint | None
    usd_per_hour: float | None
    as_of: str
    source: str

    def __post_init__(self) -> None:
        if self.usd_per_hour is not None:
            positive_number(f"{self.name}: usd_per_hour", self.usd_per_hour)
        check_date(self.name, self.as_of)

    @property
    def name(self) -> str:
        """Its full name."""
        return self.gpu.name

    @property
    def instance(self) -> str:
        """Name of the instance with it: 'rtx-5090' of 'RTX 5090'."""
        return re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-.")

    @property
    def offer(self) -> Instance:
        """One such GPU as an instance of the user's hardware."""
        priced = self.usd_per_hour is not None
        electricity = f"electricity for {self.gpu.tdp_w:g} W at ${USD_PER_KWH:g} per kWh, assumed"
        return Instance(
            name=self.instance,
            gpu=self.name,
            gpu_count=1,
            gpu_memory_gib=self.gpu.memory_gib,
            vcpus=None,
            usd_per_hour=self.usd_per_hour or electricity_usd_per_hour(self.gpu.tdp_w),
            region="any",
            os="linux",
            market=OWN_HARDWARE,
            status="available",
            as_of=self.as_of,
            source=GIVEN if priced else electricity,
            own=True,
            machine_source=GIVEN,
        )


def _check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise InputError(f"precision must be {' or '.join(PRECISIONS)}, not {precision!r}: only these are predicted.")


def electricity_usd_per_hour(tdp_w: float) -> float:
    """What an hour at the power limit costs, US dollars."""
    return round(tdp_w / 1_000 * USD_PER_KWH, 4)


def own_gpu_of(cells: Mapping[str, str], shipped: Gpus) -> OwnGpu:
    """A GPU of the text cells of a file, a form or a request; an absent or empty one is not given.

    Parameters
    ----------
    shipped : the GPUs it can be like, and may not be called as.

    Raises
    ------
    InputError : one line that names the GPU and what is wrong.
    """
    row = {column: str(cells.get(column) or "").strip() for column in GPU_COLUMNS}
    name = _checked_name(row["gpu"], shipped)
    if not row["like"]:
        raise InputError(f"{name}: name a similar GPU: missing specs are taken from it.")
    like = shipped.find(row["like"])
    row["like"], row["as_of"] = like.name, row["as_of"] or date.today().isoformat()
    return OwnGpu(
        gpu=_sheet(row, name, like),
        like=like.name,
        point=_point(row),
        usd_per_hour=number_in(row, "gpu", "usd_per_hour", float) if row["usd_per_hour"] else None,
        as_of=row["as_of"],
        source=row["source"] or GIVEN,
    )


def own_gpu_cells(own: OwnGpu) -> dict[str, str]:
    """The text cells that `own_gpu_of` reads back as the same GPU."""
    sheet = {column: getattr(own.gpu, column) for column in SHEET_COLUMNS}
    found: dict[str, object] = {
        "gpu": own.name,
        "like": own.like,
        **{column: HAS_NONE if value is None else value for column, value in sheet.items()},
        "usd_per_hour": own.usd_per_hour,
        "as_of": own.as_of,
        "source": own.source,
    }
    if isinstance(own.point, ThroughputPoint):
        found |= {column: getattr(own.point, column) for column in _THROUGHPUT_COLUMNS}
    elif own.point is not None:
        found |= {
            "times_reference": own.point.times_reference,
            "times_log_sd": own.point.log_sd,
            "precision": own.point.precision,
        }
    return {column: "" if found.get(column) is None else str(found[column]) for column in GPU_COLUMNS}


def changed_cells(own: OwnGpu, given: Mapping[str, str]) -> dict[str, str]:
    """The cells of a GPU with those that are given, not empty, in their place, for `own_gpu_of`.

    A new point takes the place of the whole old one and its source; the date of a change is its own.
    """
    left_out = {"as_of"}
    if given.get("images_per_s") or given.get("times_reference"):
        left_out |= {*_THROUGHPUT_COLUMNS, *_SPEED_COLUMNS, "source"}
    kept = {column: text for column, text in own_gpu_cells(own).items() if column not in left_out}
    return kept | {column: text for column, text in given.items() if text}


def own_gpus_path() -> Path | None:
    """Where the user's GPUs are or would be: `$PROFET_GPUS`, else `gpus.csv` beside the own instances."""
    named = os.environ.get(OWN_GPUS_VARIABLE)
    if named is not None:
        return Path(named) if named.strip() else None
    return _beside(own_path())


def served_own_gpus_path() -> Path | None:
    """The own GPUs that a server shows to everyone: those beside the instances that it does; None: it shows none.

    Raises
    ------
    CatalogError : `$PROFET_APP_INSTANCES` names a file that is missing.
    """
    served = served_own_path()
    return own_gpus_path() if served is not None and served == own_path() else _beside(served)


def _beside(path: Path | None) -> Path | None:
    return None if path is None else path.with_name(OWN_GPUS_NAME)


def read_own_gpus(path: Path | None, shipped: Gpus) -> tuple[OwnGpu, ...]:
    """The GPUs of an own file; none if there is no file.

    Raises
    ------
    CatalogError : one line that names the row and what is wrong.
    """
    if path is None or not path.exists():
        return ()
    try:
        return parse_own_gpus(file_text(path, "Your list of GPUs"), shipped)
    except CatalogError as error:
        raise CatalogError(f"{error} Fix or remove your file {path}.") from None


def parse_own_gpus(text: str, shipped: Gpus) -> tuple[OwnGpu, ...]:
    """The GPUs of an own file's text; as `read_own_gpus`."""
    found = read_records(
        text,
        "Custom GPUs",
        key="gpu",
        required=GPU_COLUMNS[1:],
        make=lambda row: own_gpu_of(row, shipped),
        may_be_empty=True,
    )
    try:
        return checked_own_gpus(found)
    except InputError as error:
        raise CatalogError(f"Custom GPUs: {error}") from None


def checked_own_gpus(found: Iterable[OwnGpu]) -> tuple[OwnGpu, ...]:
    """The same GPUs, none twice and not too many.

    Raises
    ------
    InputError : there are.
    """
    rows = tuple(found)
    names = [row.instance for row in rows]
    twice = next((row.name for row in rows if names.count(row.instance) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is listed twice among your custom GPUs: keep one.")
    if len(rows) > MAX_OWN_GPUS:
        raise InputError(f"You have {len(rows)} custom GPUs, and {MAX_OWN_GPUS} is the maximum.")
    return rows


def own_gpus_text(rows: Iterable[OwnGpu]) -> str:
    """The text of an own file, which `parse_own_gpus` reads back."""
    text = io.StringIO()
    writer = csv.DictWriter(text, GPU_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(own_gpu_cells(row) for row in rows)
    return text.getvalue()


def write_own_gpus(path: Path, rows: Sequence[OwnGpu]) -> None:
    """Put `rows` in the place of the own file, whole or not at all.

    Raises
    ------
    InputError : one is there twice, or they are too many.
    CatalogError : the file can't be written.
    """
    write_own_text(path, own_gpus_text(checked_own_gpus(rows)))


def with_offers_of(catalog: Catalog, own: Iterable[OwnGpu]) -> Catalog:
    """The catalog with an instance of each own GPU; one that it names already stays as it is."""
    new = [row.offer for row in own if row.instance not in catalog]
    return catalog.with_own([*(row for row in catalog.all_offers if row.own), *new]) if new else catalog


def _sheet(row: Row, name: str, like: Gpu) -> Gpu:
    # Numbers, by column; `Gpu` checks them.
    changed: dict[str, Any] = {}
    for column in SHEET_COLUMNS:
        if row[column].lower() == HAS_NONE and column == "tf32_tensor_dense_tflops":
            changed[column] = None
        elif row[column]:
            changed[column] = number_in(row, "gpu", column, float)
    same_memory = changed.get("memory_gib", like.memory_gib) == like.memory_gib
    return replace(
        like,
        name=name,
        usable_memory_gib=like.usable_memory_gib if same_memory else None,
        source=f"{GIVEN}; what was not, as of {like.name}",
        **changed,
    )


def _point(row: Row) -> ThroughputPoint | SpeedPoint | None:
    name, precision = row["gpu"], (row["precision"] or PRECISIONS[0]).lower()
    try:
        if row["times_reference"]:
            if row["images_per_s"]:
                raise InputError("give images_per_s or times_reference, not both.")
            return SpeedPoint(
                times_reference=number_in(row, "gpu", "times_reference", float),
                log_sd=number_in(row, "gpu", "times_log_sd", float),
                precision=precision,
            )
        if not row["images_per_s"]:
            return None
        missing = next((column for column in ("network", "batch_size") if not row[column]), None)
        if missing is not None:
            raise InputError(f"{missing} is empty: give the workload that ran at {row['images_per_s']} images/s.")
        return ThroughputPoint(
            images_per_s=number_in(row, "gpu", "images_per_s", float),
            network=row["network"],
            pixels=int(number_in(row, "gpu", "pixels", int)) if row["pixels"] else 224,
            batch_size=int(number_in(row, "gpu", "batch_size", int)),
            precision=precision,
        )
    except InputError as error:
        raise InputError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


def _checked_name(name: str, shipped: Gpus) -> str:
    if not name:
        raise InputError("Give the GPU a name.")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InputError(f"A GPU name may only have letters, digits, spaces and .()/_-, not {name[:60]!r}.")
    same = shipped.called(name)
    if same is not None:
        raise InputError(f"The catalog already has {name} as {same.name}: use that one, or choose another name.")
    model = gpu_model(name)
    if model in {gpu.model for gpu in shipped.values()}:
        # Laptop parts have no such designation: they stay addable by their names.
        raise InputError(f"{name} would be read as {model}: remove that from the name.")
    return name
