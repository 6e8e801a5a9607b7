"""Finds what breaks with the newest libraries that pyproject.toml allows: `make newest` runs it among them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from websockets.asyncio.client import connect

from benchmarks import REPOSITORY
from benchmarks.served_app import served_package
from benchmarks.visitors import Visitor
from docs.locked import locked

SAMPLE = REPOSITORY / "sample_traces" / "vgg16-224px-b16-g3s.json"
PROFET = Path(sys.executable).with_name("profet")


def print_versions() -> None:
    """Print what serving needs, as installed here, and what is locked where that is another version."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = {pin.name: str(pin.specifier) for pin in locked() if pin.marker is None or pin.marker.evaluate()}
    for required in map(Requirement, project["dependencies"]):
        pin = pins[required.name].removeprefix("==")
        installed = version(required.name)
        print(f"{required.name:<14} {installed:<10} {'' if installed == pin else f'locked: {pin}'}".rstrip())


def predict() -> None:
    """One prediction by the installed command, away from the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [PROFET, "predict", SAMPLE, "--anchor", "g3s.xlarge"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )


def open_every_page() -> None:
    """Open each page of the installed app, without an error."""

    async def visit(url: str) -> list[str]:
        address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
        async with connect(address, subprotocols=["streamlit"], max_size=None, compression=None) as socket:
            visitor = Visitor(url, socket)
            await visitor.open_page()
            for page in visitor.pages:
                await visitor.open_page(page)
            # The one that opens first has an empty address.
            return [page or "predict" for page in visitor.pages]

    with served_package(PROFET) as url:
        opened = asyncio.run(visit(url))
    expected = {path.name for path in (REPOSITORY / "pages").iterdir()}
    if missing := expected - set(opened):
        raise RuntimeError(f"no page {', '.join(sorted(missing))}")


def main(tests: Sequence[str]) -> None:
    """Try all of it, then say what broke."""
    parts: dict[str, Callable[[], object]] = {
        "profet predict": predict,
        "profet app": open_every_page,
        "fast tests": lambda: subprocess.run([sys.executable, "-m", "pytest", "-q", *tests], check=True),
    }
    broke = {}
    for name, part in parts.items():
        try:
            part()
        except Exception as error:
            broke[name] = f"{type(error).__name__}: {error}"
    print_versions()
    for name in parts:
        print(f"{name:<15}{broke.get(name, 'works')}")
    sys.exit(bool(broke))


if __name__ == "__main__":
    main(sys.argv[1:])
