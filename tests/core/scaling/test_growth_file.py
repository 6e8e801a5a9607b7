"""`growth.json` is read whole or refused in one line."""

from __future__ import annotations

import copy
import json

import pytest

from profet_core.errors import ArtifactError
from profet_core.files import default_models_folder, manifest_checksum
from profet_core.scaling.growth import SIGNS
from profet_core.scaling.growth_file import GROWTH_NAME, load_growth


@pytest.fixture
def content() -> dict:
    return json.loads((default_models_folder() / GROWTH_NAME).read_bytes())


def written(folder, content) -> None:
    signed = {**content, "checksum": manifest_checksum(content)}
    (folder / GROWTH_NAME).write_text(json.dumps(signed))


def test_every_anchor_has_a_law(models):
    assert set(models.growth.laws) == set(models.instances)
    for law in models.growth.laws.values():
        assert set(law.offsets) == set(models.instances)


def test_a_damaged_file_is_refused(content, tmp_path):
    (tmp_path / GROWTH_NAME).write_text(json.dumps({**content, "laws": {}}))
    with pytest.raises(ArtifactError, match="damaged or was changed"):
        load_growth(tmp_path)
    with pytest.raises(ArtifactError, match="missing"):
        load_growth(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda law: law["share"].pop(),
        lambda law: law["spread"].__setitem__(0, 0.0),
        lambda law: law["low"].__setitem__(0, "low"),
        lambda law: law.update(sharpness=0.0),
        lambda law: law["offsets"].update({"g4dn.xlarge": [1.0]}),
    ],
)
def test_a_signed_file_that_describes_no_law_is_refused(spoil, content, tmp_path):
    changed = copy.deepcopy(content)
    spoil(changed["laws"]["g4dn.xlarge"])
    written(tmp_path, changed)
    with pytest.raises(ArtifactError):
        load_growth(tmp_path)


def test_coefficients_are_one_a_sign_and_a_constant(content):
    for law in content["laws"].values():
        assert len(law["share"]) == len(law["batch"]) == len(law["area"]) == 1 + len(SIGNS)
