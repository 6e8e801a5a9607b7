"""The files of a fleet: SkyPilot's tasks, scripts that launch them and fetch what they measured, and the sources.

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

from profet_collect.cloud.fleet import CloudTask, accelerator_of, instance_type
from profet_core.catalog.gpus import Gpu
from profet_core.catalog.instance import SPOT
from profet_core.collected.record import Framework
from profet_core.errors import InputError

#: What the tasks were validated with.
SKYPILOT = "0.14.1"
#: The folder with this project's sources, beside the tasks.
CODE = "code"
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
PACKAGES = ("profet_cli", "profet_collect", "profet_core", "profet_recorder")
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
    """A bucket of its address.

    Raises
    ------
    InputError : it is none of S3 or Google Cloud Storage.
    """
    found = _NAME.fullmatch(text)
    if found is None or ".." in text:
        raise InputError(
            f"--bucket {text[:80]!a}: name an existing bucket, such as s3://my-bucket or gs://my-bucket/folder."
        )
    return Bucket(found[1], found[2], found[3].strip("/"))


def task_text(
    task: CloudTask, bucket: Bucket, market: str, frameworks: Sequence[Framework], collect: Sequence[str]
) -> str:
    """A SkyPilot task.

    Parameters
    ----------
    collect : arguments of `profet collect` on the machine, but for instance and folder.
    """
    offer = task.offer
    kept = "/".join(filter(None, (_MOUNT, bucket.folder)))
    arguments = shlex.join(["--instance", offer.name, *collect])
    return "\n".join(
        [
            f"# {task.gpu.name} on {offer.name}: {len(task.cells)} cells.",
            f"name: {json.dumps(task.name)}",
            f"workdir: {json.dumps(CODE)}",
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
    """Refuse a folder that is there.

    Raises
    ------
    InputError : it is.
    """
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{folder} exists: name a new folder.")


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files (name -> text; scripts end in .sh) and, beside them, the sources.

    Raises
    ------
    InputError : the folder is there, or can't be written.
    """
    check_new(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
            new = Path(made) / "fleet"
            _write(new, texts)
            new.rename(folder)
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error.strerror}; name another one.") from None


def _write(new: Path, texts: Mapping[str, str]) -> None:
    root = Path(__file__).resolve().parents[2]
    for name in PACKAGES:
        shutil.copytree(root / name, new / CODE / name, ignore=_LEFT_OUT)
    for name, text in texts.items():
        (new / name).write_text(text, encoding="utf-8", newline="\n")
        if name.endswith(".sh"):
            (new / name).chmod(0o755)
