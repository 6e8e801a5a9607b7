"""Ends every error as one line on the page."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import streamlit as st

from profet_core import NoPredictionError, ProfetError
from ui.paths import page_path
from ui.texts import plain

_LOG = logging.getLogger(__name__)

UNEXPECTED = "Something went wrong on our side; your inputs are kept. Change an input or reload the page to try again."


def show_error(text: str) -> None:
    """One clear line: what is wrong and what to do."""
    st.error(plain(text), icon=":material/error:")


def show_errors(problems: Mapping[str, str]) -> None:
    """One line for each instance that has no number."""
    for instance, line in problems.items():
        show_error(f"{instance}: {line}")


def show_warning(text: str) -> None:
    """One line on something to keep in mind about the numbers."""
    st.warning(plain(text), icon=":material/warning:")


def inspect_link() -> None:
    """The way to what is in a profile that no number is predicted from."""
    st.page_link(page_path("inspect"), label="See what is in it on Inspect", icon=":material/troubleshoot:")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Run a page's body; whatever goes wrong ends as one line, never as a traceback."""
    try:
        yield
    except NoPredictionError as error:
        show_error(str(error))
        inspect_link()
    except ProfetError as error:
        show_error(str(error))
    except Exception:
        _LOG.exception("A page failed")
        show_error(UNEXPECTED)
