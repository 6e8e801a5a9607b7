"""What is shipped is known: its licenses are permitted, and the bill of materials is the lock's."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from docs.locked import DOCUMENT, LOCK, document, is_permitted, licensed, locked
from profet_lab.measurements.tables import data_folder


def test_every_license_is_permitted_and_the_list_is_of_today():
    packages = list(licensed())
    assert [package for package in packages if not is_permitted(package[2])] == []
    assert DOCUMENT.read_text(encoding="utf-8") == document(packages), "python -m docs.locked"


@pytest.mark.parametrize(
    "license, permitted",
    [
        ("MIT", True),
        ("MIT AND (Zlib OR GPL-3.0-only)", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("Other/Proprietary License", False),
        ("", False),
    ],
)
def test_what_is_permitted(license, permitted):
    assert is_permitted(license) is permitted


def test_the_bill_of_materials_is_the_lock_s(repository):
    bill = json.loads((repository / "docs" / "sbom.cdx.json").read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    billed = {
        (part["name"], part["version"]): {
            digest["content"] for reference in part["externalReferences"] for digest in reference.get("hashes", ())
        }
        for part in bill["components"]
    }
    assert billed == hashes(LOCK), "make bill"


def hashes(lock) -> dict[tuple[str, str], set[str]]:
    """Package and version -> hashes of its files."""
    listed: dict[tuple[str, str], set[str]] = {}
    requirements = iter(locked(lock))
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line[:1].isalnum():
            requirement = next(requirements)
            current = listed.setdefault((requirement.name, next(iter(requirement.specifier)).version), set())
        elif "--hash=sha256:" in line:
            current.add(line.partition("--hash=sha256:")[2].rstrip("\\ "))
    return listed


def test_every_source_of_the_measurements_is_named_with_its_license(repository):
    throughput = pd.read_csv(data_folder() / "external/training_throughput.csv", usecols=["source_repo"])
    notice, table = ((repository / name).read_text(encoding="utf-8") for name in ("NOTICE", "data/README.md"))
    for source in set(throughput.source_repo):
        assert source in table and source.split("/")[0] in notice, source
    for path in data_folder().rglob("*"):
        if path.suffix in (".csv", ".parquet"):
            rows = pq.read_metadata(path).num_rows if path.suffix == ".parquet" else len(pd.read_csv(path, usecols=[0]))
            assert f"| `{path.relative_to(data_folder())}` | {rows:,} |" in table, path
