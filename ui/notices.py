"""Errors as one line, links between pages, and how a prediction can be improved."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from profet_core import NoPredictionError, ProfetError
from profet_core.latency import Basis
from ui.state.session import ON_PREDICT
from ui.words import plain, show_code

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


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Run a page's body; whatever goes wrong ends as one line, never as a traceback."""
    try:
        yield
    except NoPredictionError as error:
        show_error(str(error))
        inside_link("See what is in it")
    except ProfetError as error:
        show_error(str(error))
    except Exception as error:
        log_failure(_LOG, "A page failed", error)
        show_error(UNEXPECTED)


RECORD_COMMAND = "profet profile train.py"


def page_path(name: str) -> str:
    """The script of a page, relative to `ui/navigation.py`, Streamlit's main script."""
    return f"../pages/{name}/{name}.py"


def inside_link(label: str, sample: str | None = None) -> None:
    """A link to what is inside the profile that Predict shows; `sample` is its name, if it is one."""
    query = {"view": "inside", "inspect": sample or ON_PREDICT}
    st.page_link(page_path("compare"), label=label, icon=":material/troubleshoot:", query_params=query)


def about_link(label: str, icon: str, section: str) -> None:
    """A link to a section of About."""
    st.page_link(page_path("about"), label=label, icon=f":material/{icon}:", query_params={"open": section})


def custom_gpu_link() -> None:
    """A link to how a GPU is measured."""
    about_link("Custom GPU", "memory", "own_gpu")


def record_link(*, hint: bool = False) -> None:
    """A link to the recorder; `hint` shows its command too, for who has no profile that can be read."""
    if hint:
        st.caption("Record one with your training script:")
        show_code(RECORD_COMMAND)
    about_link("How to record one", "fiber_manual_record", "record")


#: Bases of GPUs without measurements: measured steps would improve a latency.
UNMEASURED = (Basis.TRANSFERRED, Basis.DERIVED)
MEASURE_IT = "measure such a GPU with `profet collect --quick`"
