"""The Dockerfile copies what serving needs, and `.dockerignore` lets it through: no image is built for these tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_imports import PAGES, imported, modules_of

ROOT = Path(__file__).resolve().parents[1]
NOT_IN_THE_IMAGE = shutil.ignore_patterns("__pycache__")


@pytest.fixture(scope="module")
def copied() -> list[str]:
    """What the Dockerfile copies, as it is named there."""
    lines = [line.split()[1:] for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")]
    return [source for *sources, _ in lines for source in sources]


def packages_of_serving() -> set[str]:
    """The project's packages that the app imports, directly or through others of them."""
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"pages"}
    # The app names its navigation and its pages as files.
    found, todo = set(), {"ui", "pages"}
    while todo:
        found |= todo
        todo = {name for part in todo for path in modules_of(part) for name in imported(path)} & ours - found
    return found


def test_every_package_that_serving_imports_is_copied(copied):
    needed = packages_of_serving()
    assert {"ui", "pages", "profet_core"} <= needed
    assert needed <= set(copied)


def test_what_is_copied_is_there_and_is_let_through(copied):
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignore[0] == "*"
    assert {line[1:] for line in ignore if line.startswith("!")} == set(copied)
    assert all((ROOT / name).exists() for name in copied)


def test_every_page_opens_with_nothing_but_what_is_copied(copied, tmp_path):
    for name in copied:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=NOT_IN_THE_IMAGE)
        else:
            shutil.copy(source, tmp_path)
    code = f"""
import sys
from pathlib import Path
sys.path = [path for path in sys.path if not (Path(path) / "streamlit_app.py").exists()]
sys.path.insert(0, {str(tmp_path)!r})
from streamlit.testing.v1 import AppTest
for name in {sorted(page.name for page in PAGES)!r}:
    app = AppTest.from_file({str(tmp_path / "ui" / "navigation.py")!r}, default_timeout=60)
    app.switch_page(f"../pages/{{name}}/{{name}}.py").run()
    assert len(app.title) == 1 and not app.exception, (name, app.exception)
    assert not app.error, (name, app.error)
import profet_core, ui
assert all(Path(part.__file__).is_relative_to({str(tmp_path)!r}) for part in (profet_core, ui))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
