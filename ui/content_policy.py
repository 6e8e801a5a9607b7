"""What a browser may load for the app's pages: all of it from here."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import streamlit


def content_policy() -> str:
    """The Content-Security-Policy of Streamlit's page, with the hashes of the scripts that stand in it."""
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    scripts = re.findall(r"<script>(.*?)</script>", index.read_text(encoding="utf-8"), re.DOTALL)
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    sources = {
        "default-src": "'self'",
        "script-src": f"'self' {hashes}".rstrip(),
        # Streamlit's and Plotly's components write styles as they draw.
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'self'",
    }
    return "; ".join(f"{name} {source}" for name, source in sources.items())


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
