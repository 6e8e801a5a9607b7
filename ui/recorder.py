"""The recorder as a wheel made of this server's own sources, and where a training machine gets it."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import profet_core
from profet_core.version import VERSION

REQUIRES_PYTHON = ">=3.11,<3.14"
#: Where the packages are, and where the licenses are; in a checkout the same folder.
_ROOT, _APP = Path(profet_core.__file__).resolve().parents[1], Path(__file__).resolve().parents[1]
_INFO = f"profet_recorder-{VERSION}.dist-info"
#: Folders and files of the project that recording needs; all of them load with the standard library alone.
SOURCES = (
    "profet_recorder",
    "profet_cli/__init__.py",
    "profet_cli/__main__.py",
    "profet_cli/main.py",
    "profet_cli/parsing.py",
    "profet_cli/commands/__init__.py",
    "profet_cli/commands/profile.py",
    "profet_core/__init__.py",
    "profet_core/arrays.py",
    "profet_core/catalog",
    "profet_core/errors.py",
    "profet_core/files.py",
    "profet_core/latency.py",
    "profet_core/messages.py",
    "profet_core/profiles",
    "profet_core/sandbox",
    "profet_core/typed_numbers.py",
    "profet_core/units.py",
    "profet_core/version.py",
    "profet_core/whole_files.py",
)
_METADATA = f"""Metadata-Version: 2.1
Name: profet-recorder
Version: {VERSION}
Summary: Records a step of your own training as a PROFET profile; needs TensorFlow or PyTorch, and nothing else.
License: MIT
Requires-Python: {REQUIRES_PYTHON}
"""
_WHEEL = """Wheel-Version: 1.0
Generator: profet
Root-Is-Purelib: true
Tag: py3-none-any
"""
_ENTRY_POINTS = """[console_scripts]
profet = profet_cli.main:main
"""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file that pip installs; its name tells the version."""

    name: str
    data: bytes


@cache
def recorder_wheel() -> Wheel:
    """The wheel, made once a process."""
    kept = (path for source in SOURCES for path in (_ROOT / source, *(_ROOT / source).rglob("*")))
    paths = {path.relative_to(_ROOT).as_posix(): path for path in kept if path.suffix in (".py", ".csv")}
    contents = {name: paths[name].read_bytes() for name in sorted(paths)}
    texts = {"METADATA": _METADATA, "WHEEL": _WHEEL, "entry_points.txt": _ENTRY_POINTS}
    contents |= {f"{_INFO}/{name}": (_APP / name).read_bytes() for name in ("LICENSE", "NOTICE")}
    contents |= {f"{_INFO}/{name}": text.encode() for name, text in texts.items()}
    lines = []
    for path, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(data)}")
    contents[f"{_INFO}/RECORD"] = "\n".join([*lines, f"{_INFO}/RECORD,,", ""]).encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for path, data in contents.items():
            # Readable files of the earliest date that a zip file can tell, so that the wheel is always the same.
            entry = zipfile.ZipInfo(path)
            entry.external_attr, entry.create_system = 0o100644 << 16, 3
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return Wheel(f"profet_recorder-{VERSION}-py3-none-any.whl", whole.getvalue())


PREFIX = "/recorder"
#: It is no page: nothing is loaded for it, and no frame shows it.
_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


def recorder_route() -> Route:
    """The wheel, by its own name only."""
    return Route(f"{PREFIX}/{{name}}", _send)


def recorder_address(page_url: str | None) -> str | None:
    """Where a browser that shows a page at `page_url` finds the wheel; None where that is no address of a page.

    >>> recorder_address("https://example.org/profet/about?open=record").rpartition("/")[0]
    'https://example.org/profet/recorder'
    """
    parts = urlsplit(page_url or "")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    above = parts.path.rstrip("/").rpartition("/")[0]
    return urlunsplit((parts.scheme, parts.netloc, f"{above}{PREFIX}/{recorder_wheel().name}", "", ""))


async def _send(request: Request) -> Response:
    wheel = await run_in_threadpool(recorder_wheel)
    if request.path_params["name"] != wheel.name:
        return PlainTextResponse(f"There is nothing here but {wheel.name}.", 404)
    headers = {
        "Content-Disposition": f'attachment; filename="{wheel.name}"',
        "Content-Security-Policy": _POLICY,
        # Its name says the version, not which sources.
        "Cache-Control": "no-cache",
    }
    return Response(wheel.data, headers=headers, media_type="application/octet-stream")
