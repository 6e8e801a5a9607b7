"""Texts from markdown files, and how a method is named in a sentence."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from profet_core.advice.plans import Confidence
from profet_core.artifacts.models import EnsembleRule
from ui.words import rule_phrase

TEXT = """\
The first of $count:

```sh wrap
pip install .
```

```
a = b
```

The last.
"""


def shown(path, **figures) -> AppTest:
    def script(path, figures):
        from ui.words import show_text

        show_text(path, **figures)

    return AppTest.from_function(script, kwargs={"path": path, "figures": figures}).run()


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "text.md"
    path.write_text(TEXT)
    return path


def test_prose_is_markdown_and_fenced_blocks_are_code(written):
    app = shown(written, count="two")
    assert [element.type for element in app.main.children.values()] == ["markdown", "code", "code", "markdown"]
    assert [element.value for element in app.markdown] == ["The first of two:", "The last."]
    assert [(code.value, code.language) for code in app.code] == [
        ("pip install .", "plaintext"),
        ("a = b", "plaintext"),
    ]
    assert [code.proto.wrap_lines for code in app.code] == [True, False]


def test_the_mark_is_read_without_colour_and_the_word_aloud():
    assert [step.mark for step in Confidence] == ["●○○", "●●○", "●●●"]
    assert Confidence.FAIR.word == "fair"


def test_a_method_is_named_by_its_rule():
    assert rule_phrase(EnsembleRule(("line", "forest", "dense"), "median")) == "median of 3 models"
    assert rule_phrase(EnsembleRule(("forest", "dense"), "mean")) == "mean of 2 models"
    assert rule_phrase(EnsembleRule(("forest",), "mean")) == "one model"
