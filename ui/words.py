"""Words on the pages: escaped text, errors as one line, links between pages, and how things are named."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from string import Template

import streamlit as st

from profet_core import NoPredictionError, ProfetError

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&])")
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d)(?![a-zA-Z]))")


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
    """Return a text as it was written."""
    return path.read_text(encoding="utf-8")


def show_text(path: Path, figures: Mapping[str, object] | None = None) -> None:
    """Show a markdown file; `$name` stands for a figure; KeyError: the text names a figure that isn't given."""
    st.markdown(Template(read_text(path)).substitute(figures or {}))


def show_code(code: str, *, wrap_lines: bool = False) -> None:
    """Code to copy, all of it in the text's color: some of the highlighter's fall short of WCAG's 4.5 : 1."""
    st.code(code, language=None, wrap_lines=wrap_lines)


def sentence(line: str) -> str:
    """Return a line that begins with a capital."""
    return line[:1].upper() + line[1:]


_LOG = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[1]

UNEXPECTED = "Something went wrong on our side; your inputs are kept. Change an input or reload the page to try again."


def show_error(text: str) -> None:
    """One clear line: what is wrong and what to do."""
    st.error(plain(text), icon=":material/error:")


def show_warning(text: str) -> None:
    """One line on something to keep in mind about the numbers."""
    st.warning(plain(text), icon=":material/warning:")


def log_failure(log: logging.Logger, what: str, error: Exception) -> None:
    """Log what is wrong on our side as one line: the error's kind, and where, innermost first.

    Neither the error's text, which may quote what a visitor gave, nor where on the machine the code is.
    """
    frames = [(Path(frame.filename).resolve(), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [f"{path.relative_to(_ROOT)}:{line}" for path, line in frames if path.is_relative_to(_ROOT)]
    log.error("%s: %s at %s", what, type(error).__name__, " < ".join(reversed(ours)))


#: The box in which a visitor says where a profile was recorded.
ANCHOR_LABEL = "1 · GPU you measured on (anchor)"
_LABELS = {
    "profile": "The profile",
    "anchor": ANCHOR_LABEL,
    "second": "Second profile",
    "profiled_batch": "Batch size",
    "profiled_pixels": "Image size",
    "second_batch": "its batch size",
    "second_pixels": "its image size",
    "measured": "The measured time",
    "images": "images per epoch",
}


def error_words(error: ProfetError) -> str:
    """Return the error's message, with the fields that it names as the pages label them."""
    return error.worded(lambda field: _LABELS.get(field, field.replace("_", " ").capitalize()))


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Run a page's body; whatever goes wrong ends as one line, never as a traceback."""
    try:
        yield
    except NoPredictionError as error:
        show_error(error_words(error))
        inside_link("Look inside the profile")
    except ProfetError as error:
        show_error(error_words(error))
    except Exception as error:
        log_failure(_LOG, "A page failed", error)
        show_error(UNEXPECTED)


RECORD_COMMAND = "profet-record train.py"


def page_path(name: str) -> str:
    """Return the script of a page, relative to `ui/navigation.py`, Streamlit's main script."""
    return f"../pages/{name}/{name}.py"


#: The profile that Predict shows, as the one that Compare looks into; else a sample's name.
ON_PREDICT = "predict"


def inside_link(label: str, sample: str | None = None) -> None:
    """Link to what is inside the profile that Predict shows; `sample` is its name, if it is one."""
    query = {"view": "inside", "inspect": sample or ON_PREDICT}
    st.page_link(page_path("compare"), label=label, icon=":material/troubleshoot:", query_params=query)


def about_link(label: str, icon: str, section: str) -> None:
    """Link to a section of About."""
    st.page_link(page_path("about"), label=label, icon=f":material/{icon}:", query_params={"open": section})


def record_link(*, hint: bool = False) -> None:
    """Link to the recorder; `hint` shows its command too, for who has no profile that can be read."""
    if hint:
        st.caption("Record one with your training script:")
        show_code(RECORD_COMMAND)
    about_link("How to record a profile", "fiber_manual_record", "record")
