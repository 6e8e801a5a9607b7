"""Accuracy: the model cards, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import streamlit as st

from profet_core.artifacts.own_models import own_models
from ui.frame import run_page
from ui.inputs.fields import choice
from ui.state.resources import Resources
from ui.state.session import Texts, session
from ui.tables import show_table
from ui.words import plain, read_text

_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
#: The rows of a table.
_TABLE = re.compile(r"((?:^\|.*\n)+)", re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")
_CARD_LINK = re.compile(r"\]\((\w+)_CARD\.md\)")
_FILE_LINK = re.compile(r"\[([^]]*)\]\((?![?#]|https?:)[^)]*\)")


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Accuracy")
    st.markdown(
        "All errors are measured on architectures or GPUs held out of training. They are mean absolute percentage "
        "errors (MAPE) unless a card says otherwise."
    )
    choice("Model card", Texts.part)
    _own_models(resources)
    path = resources.models.folder / f"{session.texts.part.upper()}_CARD.md"
    if path.is_file():
        _show_card(read_text(path))
    else:
        st.info("The loaded models have no such card. `profet validate --card` writes it.")


def _own_models(resources: Resources) -> None:
    """What the server's own models were trained on; nothing if the shipped ones are loaded."""
    own = own_models(resources.models)
    if own is None:
        return
    base = "the shipped models" if own.base_ships else f"models of {len(own.networks)} networks"
    written = f", written on {own.written}" if own.written else ""
    st.markdown(f"This server uses custom models{written}: {base} for {', '.join(map(plain, own.instances))}.")
    if own.calibrated:
        gpus = (f"{one.gpu} ({one.cells} measurements on {one.instance})" for one in own.calibrated)
        st.markdown(f"Calibrated: {', '.join(map(plain, gpus))}.")


def _show_card(text: str) -> None:
    """Draw its text below the title, and each table in a box that scrolls sideways."""
    _, _, text = _FILE_LINK.sub(r"\1", _CARD_LINK.sub(_page_link, text)).partition("\n")
    heading = ""
    for number, part in enumerate(_TABLE.split(text)):
        if number % 2:
            show_table([*_rows(part)], heading)
        elif part.strip():
            heading = _HEADING.findall(part)[-1] if _HEADING.search(part) else heading
            st.markdown(part)


def _page_link(found: re.Match[str]) -> str:
    """A link to another card, as one to this page."""
    return f"](?part={found[1].lower()})"


def _rows(table: str) -> Iterator[dict[str, str]]:
    header, _, *lines = ([cell.strip() for cell in _CELL.split(line.strip())[1:-1]] for line in table.splitlines())
    # Columns of one name are told apart by characters without width.
    names = [name + "\N{WORD JOINER}" * header[:place].count(name) for place, name in enumerate(header)]
    return (dict(zip(names, line, strict=True)) for line in lines)


run_page(body, lambda: ("part",))
