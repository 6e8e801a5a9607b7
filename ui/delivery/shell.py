"""The one HTML page of the app: Streamlit's, with our scripts and our style in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import streamlit

STATIC = Path(streamlit.__file__).parent / "static"
_SCRIPTS = Path(__file__).with_name("scripts")
_STYLE = Path(__file__).with_name("page.css")
#: Streamlit's scripts are modules and so run after the page is read; a plain one in the head runs before them.
_HEAD = b"</head>"


def load_shell() -> tuple[bytes, str, bytes]:
    """Streamlit's page with our style, which asks for our scripts; where these are, named by their content; and they.

    Raises
    ------
    RuntimeError : this Streamlit's page has no head to put it in.
    """
    original = (STATIC / "index.html").read_bytes()
    script = b"".join(b"{\n%s}\n" % path.read_bytes() for path in sorted(_SCRIPTS.glob("*.js")))
    if original.count(_HEAD) != 1:
        raise RuntimeError("Streamlit's page is another than ui/delivery/shell.py knows.")
    name = f"profet.{hashlib.sha256(script).hexdigest()[:12]}.js"
    # Relative, as Streamlit's own are, so that it works below any path.
    tag = f'<script src="./static/js/{name}"></script>\n  <style>{_STYLE.read_text()}</style>\n  '.encode()
    return original.replace(_HEAD, tag + _HEAD), f"/static/js/{name}", script
