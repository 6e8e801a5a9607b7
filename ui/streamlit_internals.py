"""All that the app uses of Streamlit and is none of its public interface: a new version of it is tried here first.

`pyproject.toml` allows the versions of Streamlit that these parts were tried with.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import net_util
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.typing import UploadedFile

#: The page, and what it loads.
STATIC = Path(st.__file__).parent / "static"


def keep_to_itself() -> None:
    """Turn off what Streamlit has no option for; called once, before anything is served.

    Where a browser's origin is none it knows, Streamlit asks an outside host for the machine's own address, and all
    sessions wait for the answer. Of a checkout it tells any visitor who asks repository, branch and changed files.

    uvicorn's log names the address of who opens a page's websocket, or may not.

    RuntimeError: this Streamlit has these in another place, and serving would not be private.
    """
    handler = "_handle_git_information_request"
    for owner, name in ((net_util, "get_external_ip"), (net_util, "get_internal_ip"), (AppSession, handler)):
        if not hasattr(owner, name):
            raise RuntimeError(f"Streamlit has no {name} any more: see ui/streamlit_internals.py.")
        setattr(owner, name, lambda *_: None)
    logging.getLogger("uvicorn.error").addFilter(lambda record: "WebSocket" not in str(record.msg))


async def run_once() -> None:
    """Run the first page without a visitor, so that the first one's is already drawn."""
    await Runtime.instance().does_script_run_without_error()


def forget_upload(file: UploadedFile) -> None:
    """Drop the bytes of a file of this session, which Streamlit would keep as long as the uploader holds the file."""
    context = get_script_run_ctx()
    if context is not None:
        # Not part of what every file manager must have; the one that comes with Streamlit has it.
        remove = getattr(context.uploaded_file_mgr, "remove_file", lambda **_: None)
        remove(session_id=context.session_id, file_id=file.file_id)


def went_back_or_forward() -> bool:
    """Whether this run is of a page that the visitor went to by the browser's history."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def component(name: str, assets: Path) -> Any:
    """Return what mounts a component in the browser: `NAME.js` and `NAME.css` of a folder.

    Given as text, which is public, they would be scripts that the page's Content-Security-Policy refuses.
    """
    return _registered(get_bidi_component_manager(), name, assets)


# To register one looks its files up on the disk.
@lru_cache(maxsize=32)
def _registered(manager: BidiComponentManager, name: str, assets: Path) -> Any:
    package = "profet"
    if manager.get_component_asset_root(f"{package}.{name}") is None:
        # Streamlit finds only components of installed packages by itself.
        manifest = ComponentManifest(package, "1", [ComponentConfig(name, asset_dir=assets.name)])
        manager.register_from_manifest(manifest, assets.parent)
    return st.components.v2.component(f"{package}.{name}", js=f"{name}.js", css=f"{name}.css", isolate_styles=False)
