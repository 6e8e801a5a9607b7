"""What is told of models of one's own: what they were made of, and whether what ships is beneath."""

from __future__ import annotations

import json
import os

from profet_core import load_models
from profet_core.artifacts.own_models import own_models
from profet_core.files import manifest_checksum
from tests.made.own_home import CELLS, FP32_GPU, GPU, make_own_home


def test_the_shipped_ones_are_nobody_s_own(repository):
    assert own_models(load_models(repository / "models")) is None


def test_their_measurements_date_and_base_are_told(tmp_path, repository):
    home = make_own_home(tmp_path / "home")
    for name, day in (("manifest.json", 0), ("sharpened.json", 86_400)):
        os.utime(home / name, (day, day))
    found = own_models(load_models(home))
    assert found.written == "1970-01-02"
    assert found.base_ships and len(found.networks) == 15
    assert found.instances == load_models(repository / "models").instances
    assert [(one.gpu, one.cells) for one in found.sharpened] == [(FP32_GPU, CELLS), (GPU, CELLS)]


def test_other_models_beneath_are_told(tmp_path):
    home = make_own_home(tmp_path / "home")
    manifest = json.loads((home / "manifest.json").read_text())
    manifest["seed"] = 7
    (home / "manifest.json").write_text(json.dumps({**manifest, "checksum": manifest_checksum(manifest)}))
    assert not own_models(load_models(home)).base_ships
