"""Writes a fleet's folder, whole or not at all: tasks, scripts, and the sources that the machines run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from profet_collect.cloud.texts import CODE
from profet_core.errors import InputError

#: What `profet collect` is made of; all of it loads with the standard library and filelock.
PACKAGES = ("profet_cli", "profet_collect", "profet_core", "profet_recorder")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "shipped", "*.pyc")


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
