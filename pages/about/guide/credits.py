"""Who measured, under which licences, which versions these are, and the original's commands."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from profet_core.version import VERSION
from ui.state.resources import Resources
from ui.tables import show_table
from ui.texts import plain, show_text

_TEXTS = Path(__file__).parent

#: The original's command, ours, and what it does.
_COMMANDS = (
    ("anchor_preprocessing.py", "nothing to run", "profet train reads the measurements"),
    ("train_anchor_model.py", "profet train", "fits every pair's members"),
    ("train_scaler_model.py", "profet train", "fits the scalers too"),
    ("anchor_prediction.py", "profet predict", "latency on every instance from one profile"),
    ("scaler_prediction.py", "profet scale", "latency at a size between two known ones"),
    ("anchor_validaiton.py", "profet validate", "one anchor: --anchor NAME"),
    ("anchor_validaiton.py without clustering", "profet validate --no-clustering", "what the clusters are worth"),
    ("train_scaler.py, scaler_validation.py", "profet validate --scaler", "true and predicted ends"),
)


def show_credits(resources: Resources) -> None:
    """Credits, versions, and the way from the original."""
    show_text(_TEXTS / "credits.md")
    st.subheader("Versions", anchor="versions")
    show_table([{"Of": name, "Version": version} for name, version in _versions(resources)], "Versions")
    st.subheader("Coming from the original's scripts", anchor="commands")
    show_table([{"Original": f"`{old}`", "Here": _here(new), "Note": note} for old, new, note in _COMMANDS], "Commands")


def _versions(resources: Resources) -> list[tuple[str, str]]:
    manifest = resources.models.manifest
    fitted = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    return [
        ("This program", VERSION),
        ("Models", f"{manifest['checksum'][:12]}, schema {manifest['schema_version']}"),
        ("Fitted with", plain(fitted)),
    ]


def _here(command: str) -> str:
    return f"`{command}`" if command.startswith("profet") else command
