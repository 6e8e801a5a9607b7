"""Ends every error as one line on the page."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from profet_core import NoPredictionError, ProfetError
from ui.links import inside_link
from ui.texts import plain

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
