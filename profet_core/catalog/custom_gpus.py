"""Custom GPUs: specs, one known throughput, and hourly cost."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from pathlib import Path
from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.custom_instances import custom_path, served_custom_path, write_custom_text
from profet_core.catalog.gpus import Gpu, Gpus, gpu_model
from profet_core.catalog.instance import CUSTOM_HARDWARE, Instance, check_date
from profet_core.catalog.tables import (
    MAX_NAME_LENGTH,
    Row,
    cells_of,
    check_numbers,
    file_text,
    is_header,
    read_records,
    table_text,
)
from profet_core.errors import CatalogError, InputError

#: Path of the file; set but empty: no file.
CUSTOM_GPUS_VARIABLE = "PROFET_GPUS"
#: File name, in the folder of the custom instances.
CUSTOM_GPUS_NAME = "gpus.csv"
#: Maximum number of custom GPUs.
MAX_CUSTOM_GPUS = 20
PRECISIONS = ("fp32", "tf32")
#: Cell for a spec that the GPU lacks; an empty cell takes the spec of the similar GPU.
HAS_NONE = "none"
#: Without a price, the hourly cost is electricity: the power limit at this price, about what companies pay.
USD_PER_KWH = 0.20
GIVEN = "given by the user"

#: Specs that may differ from those of the similar GPU.
SHEET_COLUMNS = ("fp32_tflops", "tf32_tensor_dense_tflops", "memory_gib", "bandwidth_gb_per_s", "tdp_w")
POINT_COLUMNS = ("images_per_s", "network", "pixels", "batch_size", "precision", "times_reference", "times_log_sd")
#: Columns of the custom GPU file, in order.
GPU_COLUMNS = ("gpu", "like", *SHEET_COLUMNS, *POINT_COLUMNS, "usd_per_hour", "as_of", "source")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .()/_-]*", re.ASCII)


class ThroughputPoint(Struct, frozen=True):
    """A measured or published training throughput, on one GPU.

    Attributes
    ----------
    network : its name in the training data, such as "ResNet50".
    precision : one of `PRECISIONS`.
    """

    images_per_s: float
    network: str
    pixels: int
    batch_size: int
    precision: str

    @property
    def step_ms(self) -> float:
        """Milliseconds per step."""
        return 1_000 * self.batch_size / self.images_per_s


class SpeedPoint(Struct, frozen=True):
    """Speed relative to the reference GPU in FP32, and the standard deviation of its logarithm.

    Attributes
    ----------
    precision : one of `PRECISIONS`.
    """

    times_reference: float
    times_log_sd: float
    precision: str


class CustomGpu(Struct, frozen=True):
    """A custom GPU.

    Attributes
    ----------
    like : full name of the shipped GPU that missing specs come from.
    point : its known speed; None: specs only.
    usd_per_hour : None: its electricity.
    as_of : date of the information or price.
    source : source of the point.
    """

    gpu: Gpu
    like: str
    point: ThroughputPoint | SpeedPoint | None
    usd_per_hour: float | None
    as_of: str
    source: str

    def __post_init__(self) -> None:
        check_numbers(self, self.name)
        check_date(self.name, self.as_of)

    @property
    def name(self) -> str:
        """Full name."""
        return self.gpu.name

    @property
    def instance(self) -> str:
        """Name of its instance: 'rtx-5090' for 'RTX 5090'."""
        return re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-.")

    @property
    def offer(self) -> Instance:
        """One such GPU as an instance of custom hardware."""
        electricity = f"electricity for {self.gpu.tdp_w:g} W at ${USD_PER_KWH:g} per kWh, assumed"
        return Instance(
            name=self.instance,
            gpu=self.name,
            gpu_count=1,
            gpu_memory_gib=self.gpu.memory_gib,
            vcpus=None,
            usd_per_hour=self.usd_per_hour or round(self.gpu.tdp_w / 1_000 * USD_PER_KWH, 4),
            region="any",
            os="linux",
            market=CUSTOM_HARDWARE,
            status="available",
            as_of=self.as_of,
            source=GIVEN if self.usd_per_hour is not None else electricity,
            custom=True,
            machine_source=GIVEN,
        )


def custom_gpu_from(cells: Mapping[str, str], shipped: Gpus, *, may_ship: bool = False) -> CustomGpu:
    """Parse a GPU from text cells of a file, a form or a request; absent or empty cells are not given.

    `shipped` are the GPUs it can be similar to, and whose names it can't have unless it `may_ship`. Raises InputError,
    which names the GPU.
    """
    row = {column: str(cells.get(column) or "").strip() for column in GPU_COLUMNS}
    name = _checked_name(row["gpu"], shipped, may_ship=may_ship)
    if not row["like"]:
        raise InputError(f"{name}: name a similar GPU: missing specs are taken from it.")
    like = shipped.find(row["like"])
    row |= {"like": like.name, "as_of": row["as_of"] or date.today().isoformat(), "source": row["source"] or GIVEN}
    given = {column: row[column] for column in ("gpu", *SHEET_COLUMNS) if row[column]}
    if given.get("tf32_tensor_dense_tflops", "").lower() == HAS_NONE:
        given["tf32_tensor_dense_tflops"] = ""
    sheet = cells_of(Gpu, given, "gpu")
    if sheet.get("memory_gib", like.memory_gib) != like.memory_gib:
        sheet["usable_memory_gib"] = None
    gpu = replace(like, name=name, source=f"{GIVEN}; what was not, as of {like.name}", **sheet)
    about = {"name": name} | {column: row[column] for column in ("like", "usd_per_hour", "as_of", "source")}
    return CustomGpu(gpu=gpu, point=_point(row), **cells_of(CustomGpu, about, "name"))


def _point(row: Row) -> ThroughputPoint | SpeedPoint | None:
    name = row["gpu"]
    row = {**row, "pixels": row["pixels"] or "224", "precision": (row["precision"] or PRECISIONS[0]).lower()}
    if not row["times_reference"] and not row["images_per_s"]:
        return None
    if row["times_reference"] and row["images_per_s"]:
        raise InputError(f"{name}: give images_per_s or times_reference, not both.")
    for column in ("network", "batch_size"):
        if row["images_per_s"] and not row[column]:
            workload = f"give the workload that ran at {row['images_per_s']} images/s"
            raise InputError(f"{name}: {column} is empty: {workload}.")
    kind = SpeedPoint if row["times_reference"] else ThroughputPoint
    point: ThroughputPoint | SpeedPoint = kind(**cells_of(kind, row, "gpu"))
    check_numbers(point, name)
    if point.precision not in PRECISIONS:
        choices = " or ".join(PRECISIONS)
        raise InputError(f"{name}: precision must be {choices}, not {point.precision!r}: only these are predicted.")
    return point


def custom_gpu_cells(own: CustomGpu) -> dict[str, str]:
    """Text cells that `custom_gpu_from` parses into the same GPU."""
    cells = {}
    for column in GPU_COLUMNS:
        holder = own.gpu if column in SHEET_COLUMNS else own.point if column in POINT_COLUMNS else own
        value = own.name if column == "gpu" else getattr(holder, column, None)
        cells[column] = str(value) if value is not None else HAS_NONE if column in SHEET_COLUMNS else ""
    return cells


def changed_cells(own: CustomGpu, given: Mapping[str, str]) -> dict[str, str]:
    """Cells of a GPU updated with the given non-empty ones, for `custom_gpu_from`.

    A new point replaces the whole old one and its source; a change sets its own date.
    """
    new_point = given.get("images_per_s") or given.get("times_reference")
    left_out = {"as_of", *((*POINT_COLUMNS, "source") if new_point else ())}
    kept = {column: text for column, text in custom_gpu_cells(own).items() if column not in left_out}
    return kept | {column: text for column, text in given.items() if text}


def custom_gpus_path() -> Path | None:
    """Path of the custom GPUs' file: `$PROFET_GPUS`, else `gpus.csv` next to the custom instances."""
    named, beside = os.environ.get(CUSTOM_GPUS_VARIABLE), custom_path()
    if named is not None:
        return Path(named) if named.strip() else None
    return beside and beside.with_name(CUSTOM_GPUS_NAME)


def served_custom_gpus_path() -> Path | None:
    """Return the custom GPUs that a server shows to everyone, next to the instances it shows; None if it shows none.

    Raises CatalogError if `$PROFET_APP_INSTANCES` names a file that is missing.
    """
    served = served_custom_path()
    return custom_gpus_path() if served and served == custom_path() else served and served.with_name(CUSTOM_GPUS_NAME)


def read_custom_gpus(path: Path | None, shipped: Gpus) -> tuple[CustomGpu, ...]:
    """GPUs of a custom file; empty if there is no file. CatalogError names the row and the error in one line."""
    try:
        text = None if path is None else file_text(path, "Your list of GPUs")
        rows = () if text is None else parse_custom_gpus(text, shipped)
    except CatalogError as error:
        raise CatalogError(f"{error} Fix or remove your file {path}.") from None
    for row in rows:
        if shipped.called(row.name) is not None:
            _warn_once(
                f"warning: {row.name} now ships with PROFET, and your row in {path} is used instead; to use what "
                f"ships: profet gpus remove {quote(row.name)}"
            )
    return rows


@cache
def _warn_once(line: str) -> None:
    import logging

    logging.getLogger(__name__).warning(line)


def parse_custom_gpus(text: str, shipped: Gpus) -> tuple[CustomGpu, ...]:
    """GPUs in a custom file's text; as `read_custom_gpus`."""
    what, columns = "Custom GPUs", GPU_COLUMNS[1:]
    if is_header(text):
        return ()

    # The list may be older than the specs that ship now.
    make = partial(custom_gpu_from, shipped=shipped, may_ship=True)
    try:
        return checked_custom_gpus(read_records(text, what, key="gpu", required=columns, make=make))
    except InputError as error:
        raise CatalogError(f"{what}: {error}") from None


def checked_custom_gpus(gpus: Iterable[CustomGpu]) -> tuple[CustomGpu, ...]:
    """Return the GPUs; raises InputError if one appears twice or there are too many."""
    rows = tuple(gpus)
    names = [row.instance for row in rows]
    twice = next((row.name for row in rows if names.count(row.instance) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is listed twice among your custom GPUs: keep one.")
    if len(rows) > MAX_CUSTOM_GPUS:
        raise InputError(f"You have {len(rows)} custom GPUs, and {MAX_CUSTOM_GPUS} is the maximum.")
    return rows


def custom_gpus_text(rows: Iterable[CustomGpu]) -> str:
    """Text of a custom file, which `parse_custom_gpus` reads back."""
    return table_text(GPU_COLUMNS, map(custom_gpu_cells, rows))


def write_custom_gpus(path: Path, rows: Sequence[CustomGpu]) -> None:
    """Atomically replace the custom file with `rows`; raises InputError or CatalogError."""
    write_custom_text(path, custom_gpus_text(checked_custom_gpus(rows)))


def with_offers_of(catalog: Catalog, own: Iterable[CustomGpu]) -> Catalog:
    """Add an instance of each custom GPU to the catalog; existing names stay unchanged."""
    new = [row.offer for row in own if row.instance not in catalog]
    return catalog.with_custom([*(row for row in catalog.all_offers if row.custom), *new]) if new else catalog


def _checked_name(name: str, shipped: Gpus, *, may_ship: bool) -> str:
    if not name:
        raise InputError("Give the GPU a name.")
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_LENGTH:
        raise InputError(f"A GPU name may only have letters, digits, spaces and .()/_-, not {name[:60]!r}.")
    same = shipped.called(name)
    if may_ship:
        # Offers of the shipped one have its spelling.
        return same.name if same is not None and same.name.lower() == name.lower() else name
    if same is not None:
        raise InputError(f"The catalog already has {name} as {same.name}: use that one, or choose another name.")
    model = gpu_model(name)
    if model in {gpu.model for gpu in shipped.values()}:
        # Laptop GPUs have no such designation, so they can be added by their names.
        raise InputError(f"{name} would be read as {model}: remove that from the name.")
    return name
