"""The one HTML page of the app: Streamlit's, with the script of ours in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import streamlit

STATIC = Path(streamlit.__file__).parent / "static"
_SCRIPT = Path(__file__).with_name("page.js")
#: Streamlit's scripts are modules and so run after the page is read; a plain one in the head runs before them.
_HEAD = b"</head>"


@dataclass(frozen=True, slots=True)
class Shell:
    """The page.

    Attributes
    ----------
    html : Streamlit's page with the script of ours.
    script_path : where the page asks for that script; named by its content, so that a browser may keep it.
    """

    html: bytes
    script_path: str
    script: bytes


def load_shell() -> Shell:
    """Read Streamlit's page and put the script in.

    Raises
    ------
    RuntimeError : this Streamlit's page has no head to put it in.
    """
    original, script = (STATIC / "index.html").read_bytes(), _SCRIPT.read_bytes()
    if original.count(_HEAD) != 1:
        raise RuntimeError("Streamlit's page is another than ui/delivery/shell.py knows.")
    name = f"profet.{hashlib.sha256(script).hexdigest()[:12]}.js"
    # Relative, as Streamlit's own are, so that it works below any path.
    tag = f'<script src="./static/js/{name}"></script>\n  '.encode()
    return Shell(original.replace(_HEAD, tag + _HEAD), f"/static/js/{name}", script)
