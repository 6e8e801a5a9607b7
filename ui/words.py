"""Words on the pages: escaped text, markdown files, bases, and how things are named in a sentence."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from string import Template

import streamlit as st

from profet_core import Models, Prediction
from profet_core.artifacts.models import EnsembleRule
from profet_core.latency import Basis
from ui.state.records import Held

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
    """A text as it was written."""
    return path.read_text(encoding="utf-8")


def show_text(path: Path, **figures: object) -> None:
    """A markdown file; `$name` stands for a figure.

    Raises
    ------
    KeyError : the text names a figure that isn't given.
    """
    st.markdown(Template(read_text(path)).substitute(figures))


def show_code(code: str, *, wrap_lines: bool = False) -> None:
    """Code to copy, all of it in the text's color: some of the highlighter's fall short of WCAG's 4.5 : 1."""
    st.code(code, language=None, wrap_lines=wrap_lines)


#: Short enough for a table; `Basis.words` says it in full.
SHORT_BASIS = {
    Basis.GIVEN: "your measurement",
    Basis.MEASURED: "predicted",
    Basis.DERIVED: "derived, biased",
    Basis.TRANSFERRED: "rough estimate",
    Basis.CARRIED: "scaled",
    Basis.CARRIED_BACK: "from an unprofiled GPU",
    Basis.SCALED_OUT: "scaled out",
    Basis.CALIBRATED: "few steps measured",
}
#: The four words of charts and tables; `Basis` has the finer ones that documents have.
GIVEN, MEASURED, DERIVED, ESTIMATED = "Given", "Measured", "Derived", "Estimated"
FOUR_WORDS = {
    Basis.GIVEN: GIVEN,
    Basis.MEASURED: MEASURED,
    Basis.DERIVED: DERIVED,
    Basis.CARRIED: DERIVED,
    Basis.SCALED_OUT: DERIVED,
    Basis.CALIBRATED: DERIVED,
    Basis.TRANSFERRED: ESTIMATED,
    Basis.CARRIED_BACK: ESTIMATED,
}
EXPLAINED = {
    GIVEN: "your measurement",
    MEASURED: "models trained on this GPU",
    DERIVED: "scaled from a measured GPU or size",
    ESTIMATED: "from GPU specs and benchmarks",
}
#: Marks a latency in charts if its GPU, or the anchor's, is not in the training data.
MARK = "*"


def marked(label: str, basis: Basis) -> str:
    """An instance's label for a chart."""
    return f"{label}{MARK}" if basis.is_rough else label


def sentence(line: str) -> str:
    """A line that begins with a capital."""
    return line[:1].upper() + line[1:]


def rule_phrase(rule: EnsembleRule) -> str:
    """'median of 3 models'."""
    return f"{rule.combine} of {len(rule.members)} models" if len(rule.members) > 1 else "one model"


def shown_name(held: Held) -> str:
    """The profile's name, escaped, for a sentence."""
    kind = {"sample": "the sample", "upload": "your upload", "paste": "your", "link": "the profile"}[held.origin]
    return f"{kind} {plain(held.name)}"


def joined_phrase(models: Models, prediction: Prediction) -> str:
    """How a prediction was joined from its members' latencies: 'median of three models'."""
    method = models.method(prediction.method)
    return rule_phrase(method.without_latency if prediction.anchor_latency_ms is None else method.with_latency)
