"""Texts: what came from a stranger stays text, and long ones are markdown files beside the pages that show them."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from string import Template

import streamlit as st

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&])")
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d)(?![a-zA-Z]))")
#: A fenced block: "wrap" if long lines are broken, and the code.
_FENCED = re.compile(r"^```\w*( wrap)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def plain(text: str) -> str:
    """`text` escaped so that Streamlit's markdown shows it letter for letter."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def unbroken(line: str) -> str:
    """`line` as text in which no line ends between a number and its unit.

    >>> unbroken("95% in 3 min 5 s") == "95% in 3\N{NO-BREAK SPACE}min 5\N{NO-BREAK SPACE}s"
    True
    """
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", plain(line))


@lru_cache
def read_text(path: Path) -> str:
    """A text as it was written."""
    return path.read_text(encoding="utf-8")


def show_text(path: Path, **figures: object) -> None:
    """A markdown file; `$name` stands for a figure, fenced blocks become code that can be copied.

    Raises
    ------
    KeyError : the text names a figure that isn't given.
    """
    text = Template(read_text(path)).substitute(figures)
    prose, *rest = _FENCED.split(text)
    _show_prose(prose)
    for wrap, code, after in zip(*(rest[part::3] for part in range(3)), strict=True):
        show_code(code, wrap_lines=bool(wrap))
        _show_prose(after)


def show_code(code: str, *, wrap_lines: bool = False) -> None:
    """Code to copy, all of it in the text's color: some of the highlighter's fall short of WCAG's 4.5 : 1."""
    st.code(code, language=None, wrap_lines=wrap_lines)


def _show_prose(text: str) -> None:
    if text.strip():
        st.markdown(text)
