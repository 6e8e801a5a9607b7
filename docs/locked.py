"""Licenses of what serving installs: `python -m docs.locked` writes them, and fails on one that is not permitted."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[1]
LOCK = REPOSITORY / "requirements-serve.txt"
DOCUMENT = REPOSITORY / "docs" / "LICENSES.md"

#: SPDX names of licenses under which a program of any license may use and pass on a library. MPL-2.0 asks for the
#: sources of changed files; none is changed here.
PERMITTED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-CMU",
        "MPL-2.0",
        "PSF-2.0",
        "Unlicense",
        "Zlib",
    }
)
#: License texts of packages without an SPDX expression.
_SPDX = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
}
#: Packages that name only a family of licenses, and the license of the text they ship.
_READ = {"altair": "BSD-3-Clause", "itsdangerous": "BSD-3-Clause", "jinja2": "BSD-3-Clause"}

_HEAD = """# Licenses

Everything the serving set and the image install. Written by `python -m docs.locked` (`make licenses`), which fails on
a license that is unknown or not permitted. Versions and hashes: `docs/sbom.cdx.json`.

| package | version | license |
|---|---|---|
"""
_TAIL = """
This project is under the MIT license (`LICENSE`). Its models and traces derive from measurements under the MIT license
(`NOTICE`). Streamlit and Plotly bundle compiled scripts of other projects, with their notices inside. The image's base,
`python` on Debian, has its licenses in `/usr/share/doc`.
"""


def is_permitted(license: str) -> bool:
    """Whether every part of an SPDX expression is permitted; of alternatives, one."""
    parts = license.replace("(", " ").replace(")", " ").split(" AND ")
    return all(any(name.strip() in PERMITTED for name in part.split(" OR ")) for part in parts)


def write_licenses() -> None:
    """Write the document; exit with a line for every package with a license that is not permitted."""
    packages = list(licensed())
    wrong = [package for package in packages if not is_permitted(package[2])]
    for name, version, license in wrong:
        print(f"{name} {version}: {license or 'no license'} is not permitted", file=sys.stderr)
    if wrong:
        raise SystemExit(1)
    DOCUMENT.write_text(document(packages), encoding="utf-8")


def document(packages: list[tuple[str, str, str]]) -> str:
    """Write the table of all packages."""
    rows = "".join(f"| {' | '.join(package)} |\n" for package in packages)
    return _HEAD + rows + _TAIL


def locked(lock: Path = LOCK) -> Iterator[Requirement]:
    """Every line of a lock file."""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line[:1].isalnum():
            yield Requirement(line.rstrip("\\ "))


def licensed() -> Iterator[tuple[str, str, str]]:
    """Name, version and license of every locked package, as installed here; for other systems of the version that is.

    Raises
    ------
    SystemExit : a package is not installed.
    """
    for requirement in locked():
        version = next(iter(requirement.specifier)).version
        try:
            installed = distribution(requirement.name)
        except PackageNotFoundError:
            raise SystemExit(f"{requirement.name} is not installed: pip install -r {LOCK.name}") from None
        if (requirement.marker is None or requirement.marker.evaluate()) and installed.version != version:
            raise SystemExit(f"{requirement.name} {installed.version} is installed, {version} is locked.")
        yield requirement.name, version, license_of(installed)


def license_of(installed: Distribution) -> str:
    """License in a package's metadata, as an SPDX expression if known."""
    metadata = installed.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    name = re.sub(r"[-_.]+", "-", metadata["Name"]).lower()
    if name in _READ:
        return _READ[name]
    classifiers = [text.rpartition(" :: ")[2] for text in metadata.get_all("Classifier", []) if "License ::" in text]
    stated = (metadata.get("License") or "").strip()
    short = stated if stated and "\n" not in stated else next(iter(classifiers), "")
    return _SPDX.get(short.lower(), short)


if __name__ == "__main__":
    write_licenses()
