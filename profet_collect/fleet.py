"""A fleet: the machines it rents, what each measures, takes and costs, and the folder that SkyPilot launches.

JSON's strings are YAML's too, so values are written with `json`.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profet_collect.grid import Expected, Grid, cells_of, measurable, quick_cells
from profet_collect.run import Protocol
from profet_core.catalog.collection import Catalog
from profet_core.catalog.gpus import Gpu, load_gpus
from profet_core.catalog.instance import ON_DEMAND, SPOT, Instance
from profet_core.collected.record import Cell, Framework
from profet_core.errors import InputError

MARKETS = (SPOT, ON_DEMAND)
#: Where SkyPilot rents machines and mounts buckets on them: RunPod, Vast and Verda take none.
CLOUDS = ("aws", "azure", "gcp", "lambda", "nebius")
#: Data sheet -> accelerator by SkyPilot's name (its catalog, schema version 8).
_ACCELERATORS = {
    "Tesla M60": "M60",
    "Tesla K80": "K80",
    "Tesla T4": "T4",
    "Tesla V100-SXM2-16GB": "V100",
    "Tesla V100-PCIE-16GB": "V100",
    "Tesla P100-PCIE-16GB": "P100",
    "A10": "A10",
    "A10G": "A10G",
    "L4": "L4",
    "L40S": "L40S",
    "A100-SXM4-40GB": "A100",
    "A100-PCIE-40GB": "A100",
    "A100-SXM4-80GB": "A100-80GB",
    "A100-PCIE-80GB": "A100-80GB",
    "H100-SXM5-80GB": "H100",
    "H100-PCIE-80GB": "H100",
    "H100-NVL-94GB": "H100",
    "H200-SXM-141GB": "H200",
    "B200": "B200",
    "RTX A6000": "A6000",
}
#: SkyPilot's catalog has them on other clouds alone.
_NOT_THERE = {("aws", "Tesla M60"), ("aws", "Tesla K80")}
#: Assumed for an unknown machine: boot with drivers and installation, and a framework's start.
SETUP_S = 600.0
_START_S: Mapping[Framework, float] = {"pytorch": 8.0, "tensorflow": 14.0}


def accelerator_of(offer: Instance) -> str | None:
    """The offer's GPU by SkyPilot's name; None: SkyPilot doesn't rent the machine, or it has several GPUs."""
    there = offer.provider in CLOUDS and (offer.provider, offer.gpu) not in _NOT_THERE and offer.gpu_count == 1
    return _ACCELERATORS.get(offer.gpu) if there else None


def instance_type(offer: Instance) -> str:
    """The machine by SkyPilot's name; said, so that one that takes over from a preempted one is the same kind."""
    # Google's N1 machines take their GPUs beside them.
    return offer.name.removeprefix(f"{offer.provider}/").partition("+")[0]


def cheapest_of(catalog: Catalog, gpus: Sequence[str], market: str, providers: Sequence[str] = ()) -> list[Instance]:
    """For each GPU type, such as "V100", the cheapest machine with one such GPU that SkyPilot rents.

    Raises
    ------
    InputError : an unknown GPU or cloud, or a GPU that no cloud (of `providers`, if given) offers so.
    """
    for name in providers:
        if name not in CLOUDS:
            raise InputError(f"Unknown cloud {name[:60]!a}: choose from {', '.join(CLOUDS)}.")
    found = [_cheapest(catalog, name, market, providers or CLOUDS) for name in gpus]
    return list({one.name: one for one in found}.values())


def _cheapest(catalog: Catalog, name: str, market: str, providers: Sequence[str]) -> Instance:
    meant = {gpu.name for gpu in load_gpus().meant(name)}
    if not meant:
        known = sorted({offer.gpu_model for offer in catalog.values() if accelerator_of(offer)})
        raise InputError(f"Unknown GPU {name[:60]!a}: choose from {', '.join(known)}.")
    names = [one for one in catalog if catalog[one].gpu in meant]
    offers = _rentable(catalog, names, market, providers)
    if not offers:
        where = " with bucket support" if providers == CLOUDS else f" on {' or '.join(providers)}"
        others = _rentable(catalog, names, _other(market), providers)
        more = f": use --market {_other(market)}" if others else ""
        raise InputError(f"No cloud{where} offers a machine with one {name} as {market}{more}.")
    return min(offers, key=lambda one: (one.usd_per_hour, one.name))


def instances_named(catalog: Catalog, instances: Sequence[str], market: str) -> list[Instance]:
    """The instances of these names; raises InputError for one unknown, retired, not in the market or SkyPilot's."""
    found = []
    for name in dict.fromkeys(instances):
        if name not in catalog:
            raise InputError(f"Unknown instance {name!a}: `profet instances --all` lists them.")
        usual = catalog[name]
        if accelerator_of(usual) is None:
            why = f"it has {usual.gpu_count} GPUs" if usual.gpu_count != 1 else "SkyPilot has no such machine"
            raise InputError(f"{name} can't be used with SkyPilot: {why}.")
        if usual.status != "available":
            raise InputError(f"{name} is {usual.status}: name another instance, or its GPU with --gpu.")
        offers = _rentable(catalog, [name], market)
        if not offers:
            raise InputError(f"{name} has no {market} price: use --market {_other(market)}.")
        found.append(offers[0])
    return found


def _rentable(catalog: Catalog, names: Sequence[str], market: str, providers: Sequence[str] = CLOUDS) -> list[Instance]:
    """The first, which is the usual, offer of each in the market; not those of a price of the user's."""
    found: dict[str, Instance] = {}
    for name in names:
        for offer in catalog.offers(name):
            there = offer.market == market and offer.provider in providers and offer.status == "available"
            if there and not offer.own and accelerator_of(offer):
                found.setdefault(name, offer)
    return list(found.values())


def _other(market: str) -> str:
    return ON_DEMAND if market == SPOT else SPOT


@dataclass(frozen=True, slots=True)
class CloudTask:
    """One machine's.

    Attributes
    ----------
    offer : in the market that is asked for. usd_per_hour : market -> price, of those there are.
    seconds : its start, installing and all cells.
    """

    offer: Instance
    gpu: Gpu
    usd_per_hour: Mapping[str, float]
    cells: tuple[Cell, ...]
    seconds: float

    @property
    def name(self) -> str:
        """Of its file and job, and of the collection's folder: the instance's, as clouds allow a job to be called."""
        return "profet-" + re.sub(r"[^a-z0-9]+", "-", self.offer.name.lower()).strip("-")

    def usd(self, market: str) -> float | None:
        """Cost in a market; None without a price."""
        price = self.usd_per_hour.get(market)
        return None if price is None else price * self.seconds / 3600


def cloud_tasks(
    catalog: Catalog, fleet: Sequence[Instance], grid: Grid, protocol: Protocol, *, is_quick: bool
) -> list[CloudTask]:
    """A task a machine; raises InputError if no cell of the grid can be measured on one of them."""
    tasks = []
    start_s = {name: _START_S[name] for name in grid.frameworks}
    for offer in fleet:
        gpu = load_gpus().find(offer.gpu, offer.gpu_memory_gib)
        expected = Expected(start_s, protocol.warm_up + protocol.timed, protocol.timeout_s, gpu)
        found = quick_cells(grid, expected.seconds) if is_quick else cells_of(grid)
        cells = tuple(measurable(found, gpu.compute_capability))
        if not cells:
            why = "TF32 needs compute capability 8" if found else "no cell of --quick takes less than two minutes"
            raise InputError(f"No cells remain for {offer.name}: {why}.")
        prices = {one: offers[0].usd_per_hour for one in MARKETS if (offers := _rentable(catalog, [offer.name], one))}
        tasks.append(CloudTask(offer, gpu, prices, cells, SETUP_S + sum(map(expected.seconds, cells))))
    return tasks


#: What the tasks were validated with.
SKYPILOT = "0.14.1"
#: The folder with this project's sources, beside the tasks.
_CODE = "code"
_MOUNT = "/profet-kept"
#: Gigabytes: the frameworks' CUDA libraries take ten of them.
_DISK_GB = 100
_PYTHON = '"$HOME/profet-python/bin/python"'
#: PyTorch's builds for later CUDAs have no kernels for older GPUs.
_FIRST_OF_ALL_CUDAS = 7.5
#: Scheme -> the cloud's own copying command.
_SYNC = {"s3": "aws s3 sync", "gs": "gcloud storage rsync --recursive"}
_NAME = re.compile(r"(s3|gs)://([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])((?:/[A-Za-z0-9._-]+)*)/?", re.ASCII)
#: What `profet collect` is made of; all of it loads with the standard library and filelock.
_PACKAGES = ("profet_cli", "profet_collect", "profet_core", "profet_recorder")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "shipped", "*.pyc")

_INSTALL = """\
set -e
export PATH="$HOME/.local/bin:$PATH"
command -v uv >/dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh
uv venv --quiet --allow-existing --python 3.12 "$HOME/profet-python"
"""

# A mounted bucket takes whole files, no appending: cells are appended on the machine's disk and copied as they come.
_RUN = """\
set -eu
store="$HOME/collected/$PROFET_NAME"
kept="$PROFET_KEPT/$PROFET_NAME"
mkdir -p "$store" "$kept"
# Cells of an interrupted machine come first; the collection continues after them.
for file in manifest.json cells.jsonl; do
  if [ -s "$kept/$file" ] && [ ! -e "$store/$file" ]; then cp "$kept/$file" "$store/$file"; fi
done
keep() {
  for file in manifest.json cells.jsonl; do
    if [ -e "$store/$file" ] && ! cmp -s "$store/$file" "$kept/$file"; then cp "$store/$file" "$kept/$file"; fi
  done
}
while sleep "$PROFET_KEEP_EVERY_S"; do keep || echo "The bucket can't be written; trying again." >&2; done &
keeper=$!
trap 'kill "$keeper" 2>/dev/null || true; keep' EXIT
"${PROFET_PYTHON:-$HOME/profet-python/bin/python}" -m profet_cli collect COLLECT --out "$store" &
collector=$!
trap 'kill "$collector"; wait "$collector" || true; exit 143' TERM INT
wait "$collector"
"""

_LAUNCH = """\
#!/bin/sh
# Launches every task as a managed job: a preempted one resumes from its bucket. Needs SkyPilot
# (pip install "skypilot[aws,gcp]==SKYPILOT") with the clouds and the bucket's enabled: sky check
set -eu
cd "$(dirname "$0")"
for task in TASKS; do
  sky jobs launch --yes --detach-run "$task"
done
echo "sky jobs queue shows their progress; run ./fetch.sh at any time to fetch finished cells."
"""

_FETCH = """\
#!/bin/sh
# Copies all finished cells here and makes a new dataset: ./fetch.sh [NAME]
set -eu
cd "$(dirname "$0")"
out="${1:-measured-$(date +%Y%m%d-%H%M%S)}"
mkdir -p collected
FETCH
set --
for folder in COLLECTIONS; do
  if [ -s "$folder/cells.jsonl" ]; then set -- "$@" "$folder"; else echo "$folder: no cell yet" >&2; fi
done
[ $# -gt 0 ] || { echo "No cells are finished yet: sky jobs queue shows the progress." >&2; exit 1; }
# Several are merged as by `profet data merge`.
profet data import "$@" --out "$out"
profet data check "$out"
echo "profet train --data PUBLISHED --data $(pwd)/$out --out MODELS learns from it."
"""


@dataclass(frozen=True, slots=True)
class Bucket:
    """An existing bucket, and the folder in it ("" for its root)."""

    scheme: str
    name: str
    folder: str

    @property
    def url(self) -> str:
        """Of the bucket itself, which is mounted."""
        return f"{self.scheme}://{self.name}"

    def fetch_command(self, target: str) -> str:
        """Copies the folder's files, new and changed, to a local folder."""
        source = "/".join(filter(None, (self.url, self.folder)))
        return f"{_SYNC[self.scheme]} {shlex.quote(source)} {shlex.quote(target)}"


def bucket_of(text: str) -> Bucket:
    """A bucket of its address; raises InputError unless it is one of S3 or Google Cloud Storage."""
    found = _NAME.fullmatch(text)
    if found is None or ".." in text:
        raise InputError(
            f"--bucket {text[:80]!a}: name an existing bucket, such as s3://my-bucket or gs://my-bucket/folder."
        )
    return Bucket(found[1], found[2], found[3].strip("/"))


def task_text(
    task: CloudTask, bucket: Bucket, market: str, frameworks: Sequence[Framework], collect: Sequence[str]
) -> str:
    """A SkyPilot task; `collect` are arguments of `profet collect` on the machine, but for instance and folder."""
    offer = task.offer
    kept = "/".join(filter(None, (_MOUNT, bucket.folder)))
    arguments = shlex.join(["--instance", offer.name, *collect])
    return "\n".join(
        [
            f"# {task.gpu.name} on {offer.name}: {len(task.cells)} cells.",
            f"name: {json.dumps(task.name)}",
            f"workdir: {json.dumps(_CODE)}",
            "resources:",
            f"  infra: {json.dumps(offer.provider)}",
            f"  instance_type: {json.dumps(instance_type(offer))}",
            f"  accelerators: {json.dumps(f'{accelerator_of(offer)}:1')}",
            f"  use_spot: {json.dumps(market == SPOT)}",
            f"  disk_size: {_DISK_GB}",
            "  job_recovery:",
            "    max_restarts_on_errors: 2",
            "envs:",
            f"  PROFET_NAME: {json.dumps(task.name)}",
            f"  PROFET_KEPT: {json.dumps(kept)}",
            '  PROFET_KEEP_EVERY_S: "30"',
            "file_mounts:",
            f"  {_MOUNT}:",
            f"    source: {json.dumps(bucket.url)}",
            "    mode: MOUNT",
            "setup: |",
            _block(_INSTALL + _packages(frameworks, task.gpu)),
            "run: |",
            _block(_RUN.replace("COLLECT", arguments)),
            "",
        ]
    )


def launch_text(tasks: Sequence[CloudTask]) -> str:
    """The script that launches them."""
    names = " ".join(f"{task.name}.yaml" for task in tasks)
    return _LAUNCH.replace("SKYPILOT", SKYPILOT).replace("TASKS", names)


def fetch_text(tasks: Sequence[CloudTask], bucket: Bucket) -> str:
    """The script that fetches, imports and merges what they measured."""
    folders = " ".join(f"collected/{task.name}" for task in tasks)
    return _FETCH.replace("FETCH", bucket.fetch_command("collected")).replace("COLLECTIONS", folders)


def _packages(frameworks: Sequence[Framework], gpu: Gpu) -> str:
    """Installing what `profet collect` needs; this project itself comes as its sources."""
    install = f"uv pip install --quiet --python {_PYTHON}"
    old = gpu.compute_capability is not None and gpu.compute_capability < _FIRST_OF_ALL_CUDAS
    backend = "cu126" if old else "auto"
    lines = {
        "tensorflow": f"{install} 'tensorflow[and-cuda]>=2.21,<2.22' 'tf_keras>=2.21,<2.22'",
        "pytorch": f"{install} --torch-backend={backend} torch",
    }
    return "\n".join([f"{install} 'filelock>=4,<5'", *(lines[name] for name in frameworks), ""])


def _block(text: str) -> str:
    return textwrap.indent(text.rstrip(), "  ")


def check_new(folder: Path) -> None:
    """Refuse a folder that is there."""
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{folder} exists: name a new folder.")


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files (name -> text; scripts end in .sh) and, beside them, the sources, or raise InputError."""
    check_new(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
            new, root = Path(made) / "fleet", Path(__file__).resolve().parents[1]
            for name in _PACKAGES:
                shutil.copytree(root / name, new / _CODE / name, ignore=_LEFT_OUT)
            for name, text in texts.items():
                (new / name).write_text(text, encoding="utf-8", newline="\n")
                if name.endswith(".sh"):
                    (new / name).chmod(0o755)
            new.rename(folder)
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error.strerror}; name another one.") from None
