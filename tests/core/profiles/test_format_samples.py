"""The samples of each format: small, listed, and without a trace of the machine they were recorded on."""

from __future__ import annotations

import gzip
import re

import pytest

from profet_cli.main import main
from profet_core import read_profile
from profet_core.profiles.tensorflow.xplane import messages


@pytest.fixture(scope="module")
def files(repository):
    """Content by name, unpacked, without the README."""
    paths = sorted((repository / "sample_traces" / "formats").iterdir())
    raw = {path.name: path.read_bytes() for path in paths if path.name != "README.md"}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in raw.items()}


def test_all_are_listed_with_how_they_were_made(files, repository):
    folder = repository / "sample_traces" / "formats"
    rows = re.findall(r"^\| `([^`]+)` \|", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(files)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000


def test_no_machine_name_path_or_address_is_in_them(files):
    for name, data in files.items():
        text = data.decode("utf-8", "replace")
        assert not re.search(r"/(?:home|root|tmp|work|usr|opt|var|Users)/|\b\d{1,3}(?:\.\d{1,3}){3}\b", text), name
        assert not re.search(r"\b(?:localhost|vm|hostname)\b", text), name
        if "xplane" in name:
            space = messages().Space.FromString(data)
            assert list(space.hostnames) == [] and [plane.name for plane in space.planes] == [b"/host:CPU"]


def test_raw_traces_name_layers_and_profiles_do_not(files):
    assert {
        name for name, data in files.items() if b"secret" not in data and name.startswith(("tensorflow", "profet"))
    } == {
        "profet-version-1.json",
        "profet-version-2.json",
        "tensorflow_cpu_profile.json",
    }


def test_version_2_is_what_convert_makes_of_the_step(files, repository, capsys):
    trace = repository / "sample_traces" / "formats" / "tensorflow-step.xplane.pb"
    options = ["-o", "-", "--batch-size", "16", "--pixels", "32", "--precision", "fp32"]
    assert main(["convert", str(trace), *options]) == 0
    assert capsys.readouterr().out.encode() == files["profet-version-2.json"]
    assert read_profile(files["profet-version-1.json"]).operations == read_profile(trace.read_bytes()).operations
