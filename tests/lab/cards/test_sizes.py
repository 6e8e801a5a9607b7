"""`profet validate --sizes --card` writes its section of report and card, and leaves the others."""

from __future__ import annotations

import json
import shutil

import pytest

from profet_core.artifacts.models import load_models
from profet_core.errors import ArtifactError
from profet_core.files import default_models_folder

pytestmark = pytest.mark.training

ROW = {"axis": "batch", "knots": 1, "n": 7, "mape": 6.4, "coverage_90": 90.1, "median_interval_pct": 14.3}


def test_the_section_is_written_and_the_others_stay(tmp_path):
    from profet_lab.reports import CARD_NAME, VALIDATION_NAME, load_validation, write_sizes_report

    models = load_models(shutil.copytree(default_models_folder(), tmp_path / "models"))
    path = models.folder / VALIDATION_NAME
    before = {**json.loads(path.read_bytes()), "models_checksum": models.manifest["checksum"], "growth": {}}
    path.write_text(json.dumps(before))
    write_sizes_report({"carried": [{**ROW, "proportional": 20.6}], "between": [{**ROW, "knots": None}]}, models)
    after = load_validation(models)
    assert {known: row["mape"] for known, (row,) in after["growth"].items()} == {"carried": 6.4, "between": 6.4}
    assert {**after, "growth": {}} == before
    card = (models.folder / CARD_NAME).read_text()
    assert "| scaled | batch | 1 | 7 | 6.40 | 20.6 | 90.1 | 14.3 |" in card
    assert "| between | batch | all | 7 | 6.40 |  | 90.1 | 14.3 |" in card
    # Beside figures of other models nothing is written.
    path.write_text(json.dumps({**after, "models_checksum": "others"}))
    before = path.read_bytes()
    with pytest.raises(ArtifactError, match="belong to other models"):
        write_sizes_report({"carried": [ROW]}, models)
    assert path.read_bytes() == before
