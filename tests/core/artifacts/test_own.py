"""Models of your own: what they predict, and layers over others only as they were written."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict

import pytest

from profet_core import ArtifactError, load_models
from profet_core.artifacts.models import OWN_PAIRS_NAME, LayerRecord, OwnMachine
from profet_core.artifacts.own_models import own_models
from profet_core.files import manifest_checksum
from tests.made.own_home import CELLS, FP32_GPU, GPU, make_own_home

MACHINE = OwnMachine("p3.2xlarge", "GeForce RTX 4090", True)


@pytest.fixture
def layered(tiny_folder):
    """`layered(**changes)`: the tiny models with a layer, a copy of themselves; changes are of `own_pairs.json`."""

    def write(**changes):
        there = tiny_folder / "own_pairs" / "0"
        if not there.exists():
            shutil.copytree(tiny_folder, there, ignore=shutil.ignore_patterns("own_pairs"))
        checksum = load_models(tiny_folder).manifest["checksum"]
        layer = asdict(LayerRecord("own_pairs/0", checksum, (MACHINE,), 120, 9, 0.25))
        layer |= {name: value for name, value in changes.items() if name in layer}
        changes = {name: value for name, value in changes.items() if name not in layer}
        content = {"schema_version": 1, "base_checksum": checksum, "layers": [layer], **changes}
        (tiny_folder / OWN_PAIRS_NAME).write_text(
            json.dumps({**content, "checksum": manifest_checksum(content)}, indent=1)
        )
        return tiny_folder

    return write


def test_a_layer_is_read_as_it_was_written(layered, tiny_folder):
    assert load_models(tiny_folder).own_layers == ()
    (layer,) = load_models(layered()).own_layers
    assert layer.record == LayerRecord("own_pairs/0", layer.models.manifest["checksum"], (MACHINE,), 120, 9, 0.25)
    assert layer.machines == {"p3.2xlarge": MACHINE}
    inputs = {"latency_ms": [[100.0]]}
    assert layer.models.run_members("g4dn.xlarge", ["p3.2xlarge"], "line", inputs) == pytest.approx(50)
    (tiny_folder / "own_pairs/0/g4dn.xlarge/line.npz").write_bytes(b"changed")
    with pytest.raises(ArtifactError, match=r"line\.npz is damaged"):
        load_models(tiny_folder).verify()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_checksum": "of others"}, "was made for other models"),
        ({"checksum": "of another one"}, "don't match"),
        ({"machines": [{"instance": "desk", "gpu": "T4", "tf32": False}]}, "don't match"),
        ({"schema_version": 99}, "has version 99, this program reads 1"),
        ({"folder": "own_pairs/../../elsewhere"}, "is damaged"),
        ({"folder": "/etc"}, "is damaged"),
        ({"law_share": 1.5}, "is damaged"),
        ({"machines": None}, "is damaged"),
        ({"layers": [{}]}, "is damaged"),
    ],
)
def test_what_does_not_belong_to_it_is_one_line(layered, changes, said):
    models = load_models(layered(**changes))
    with pytest.raises(ArtifactError, match=said) as error:
        models.verify()
    assert "\n" not in str(error.value)


# --- own models ------------------------------------------------------------------------------------------------------


def test_their_measurements_date_and_base_are_told(tmp_path, repository):
    assert own_models(load_models(repository / "models")) is None, "what ships is nobody's own"
    home = make_own_home(tmp_path / "home")
    for name, day in (("manifest.json", 0), ("calibrated.json", 86_400)):
        os.utime(home / name, (day, day))
    found = own_models(load_models(home))
    assert found.written == "1970-01-02"
    assert found.base_ships and len(found.networks) == 15
    assert found.instances == load_models(repository / "models").instances
    assert [(one.gpu, one.cells) for one in found.calibrated] == [(FP32_GPU, CELLS), (GPU, CELLS)]
    # Other models beneath.
    manifest = json.loads((home / "manifest.json").read_text()) | {"seed": 7}
    (home / "manifest.json").write_text(json.dumps({**manifest, "checksum": manifest_checksum(manifest)}))
    assert not own_models(load_models(home)).base_ships
