"""Where each page's script is, as Streamlit wants it: relative to `ui/navigation.py`, its main script."""

from __future__ import annotations


def page_path(name: str) -> str:
    """The script of a page: `pages/<name>/<name>.py`."""
    return f"../pages/{name}/{name}.py"
