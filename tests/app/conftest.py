"""Runs the app from its entry point, as a visitor's session does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

PAGES = {name: f"app_pages/{name}.py" for name in ("predict", "scale", "cost", "guide")}


@pytest.fixture
def open_app(repository: Path) -> Callable[..., AppTest]:
    """Open a page in a new session, by a link with these query parameters."""

    def open_page(page: str = "predict", **query: str) -> AppTest:
        app = AppTest.from_file(str(repository / "streamlit_app.py"), default_timeout=30)
        app.query_params.update(query)
        if page != "predict":
            # AppTest opens the entry point; switching before the first run opens the page as a link does.
            app.switch_page(PAGES[page])
        return app.run()

    return open_page


def go(app: AppTest, page: str) -> AppTest:
    """Switch pages within the session."""
    return app.switch_page(PAGES[page]).run()


def lines(elements) -> list[str]:
    """What a visitor reads, without the escapes that keep a stranger's text from being markdown."""
    return [element.value.replace("\\", "") for element in elements]


def column(app: AppTest, name: str, table: int = 0) -> dict[str, str]:
    """Instance -> cell, of one column of a table on the page."""
    frame = app.table[table].value
    texts = (str(cell).replace("\\", "").replace("\N{NO-BREAK SPACE}", " ") for cell in frame[name])
    instances = (str(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in frame["Instance"])
    return dict(zip(instances, texts, strict=True))


def as_version_2(operations: dict[str, float], **meta: object) -> bytes:
    """A profile file with meta."""
    return json.dumps({"operations": operations, "meta": meta}).encode()
