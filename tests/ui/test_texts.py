"""Long texts come from markdown files: prose and code apart, figures filled in."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

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
