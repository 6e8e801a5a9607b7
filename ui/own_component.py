"""Components of our own: a script and perhaps a style each, served from here as files.

Streamlit takes scripts as text too, but runs such from blobs, which the content policy forbids.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

_PACKAGE = "profet"


def own_component(name: str, beside: Path) -> Any:
    """What mounts the component: `assets/<name>.js` beside a module, and `assets/<name>.css` if there is one."""
    manager = get_bidi_component_manager()
    full_name = f"{_PACKAGE}.{name}"
    if manager.get_component_asset_root(full_name) is None:
        # Streamlit finds only components of installed packages by itself.
        manifest = ComponentManifest(_PACKAGE, "1", [ComponentConfig(name, asset_dir="assets")])
        manager.register_from_manifest(manifest, beside.parent)
    css = f"{name}.css" if (beside.parent / "assets" / f"{name}.css").exists() else None
    return st.components.v2.component(full_name, js=f"{name}.js", css=css, isolate_styles=False)
