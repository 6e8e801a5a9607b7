"""What is not Streamlit's public interface stands in one module, and works in the versions that may be installed."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
import streamlit
from packaging.requirements import Requirement
from streamlit import net_util
from streamlit.runtime.app_session import AppSession

from tests.test_imports import MAY_IMPORT, modules_of, syntax_tree
from ui.streamlit_internals import keep_to_itself

#: The release that these parts were tried in: another one is allowed once `make newest` is green with it.
TRIED = "1.67"
#: Of Streamlit's documented interface, what the app imports; and how its own command is started.
PUBLIC = {
    "streamlit",
    "streamlit.App",
    "streamlit.delta_generator.DeltaGenerator",
    "streamlit.typing.UploadedFile",
    "streamlit.web.cli",
}


def test_only_the_release_that_was_tried_may_be_installed_and_one_module_uses_what_is_not_public(repository: Path):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (allowed,) = (one.specifier for one in map(Requirement, project["dependencies"]) if one.name == "streamlit")
    major, minor = map(int, TRIED.split("."))
    assert allowed.contains(f"{TRIED}.0") and allowed.contains(f"{TRIED}.9")
    assert not allowed.contains(f"{major}.{minor + 1}.0") and not allowed.contains(f"{major}.{minor - 1}.9")
    assert allowed.contains(streamlit.__version__)
    internal = {path.stem: imported_of_streamlit(path) - PUBLIC for part in MAY_IMPORT for path in modules_of(part)}
    assert [name for name, modules in internal.items() if modules] == ["streamlit_internals"]


def imported_of_streamlit(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.partition(".")[0] == "streamlit"}


def test_the_server_asks_nobody_for_its_address_and_tells_nobody_of_its_checkout(monkeypatch):
    # Each is put back afterwards.
    for owner, name in ((net_util, "get_external_ip"), (net_util, "get_internal_ip")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(AppSession, "_handle_git_information_request", AppSession._handle_git_information_request)
    keep_to_itself()
    assert net_util.get_external_ip() is net_util.get_internal_ip() is None
    assert AppSession._handle_git_information_request(None) is None, "it has nothing to answer with"
    monkeypatch.delattr(net_util, "get_external_ip")
    with pytest.raises(RuntimeError, match="get_external_ip"):
        keep_to_itself()
