"""How many images of a folder a machine's vCPUs prepare, in each framework's loader."""

from __future__ import annotations

import numpy as np
import pytest

from profet_collect.run import IMAGE_ENDINGS, measure_loading
from profet_core.errors import InputError
from tests.recorder.runs import needs

NEEDS = {"pytorch": needs("torch", "PIL"), "tensorflow": needs("tensorflow", "PIL")}


@pytest.fixture
def folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)
    for number, ending in enumerate(IMAGE_ENDINGS):
        (tmp_path / "class").mkdir(exist_ok=True)
        image.fromarray(pixels).save(tmp_path / "class" / f"{number}{ending}")
    (tmp_path / "labels.txt").write_text("no image")
    return tmp_path


@pytest.mark.parametrize("framework", [pytest.param(name, marks=mark) for name, mark in NEEDS.items()])
def test_the_rate_of_a_folder_of_every_kind_of_image(folder, framework):
    found = measure_loading(folder, (framework,), pixels=32, seconds=0.2)
    assert (found["framework"], found["images"], found["pixels"]) == (framework, len(IMAGE_ENDINGS), 32)
    # A small image takes less than a tenth of a second, and more than a microsecond.
    assert 10 < found["images_per_s_per_vcpu"] < 1e6


@NEEDS["tensorflow"]
def test_the_command_says_what_to_count_with_and_refuses_what_is_no_image(folder, document, run, tmp_path):
    found = document("collect", "--loading", folder, "--pixels", "32", "--frameworks", "tensorflow")
    assert list(found) == ["framework", "images_per_s", "vcpus", "images", "pixels", "images_per_s_per_vcpu"]
    assert found["images_per_s_per_vcpu"] == found["images_per_s"] / found["vcpus"]
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "text.jpg").write_text("no image")
    with pytest.raises(InputError, match="can't be loaded"):
        measure_loading(tmp_path / "bad", ("tensorflow",), seconds=0.1)


def test_a_folder_without_images_is_refused_in_one_line(folder, tmp_path, refused):
    assert "is not a folder" in refused("collect", "--loading", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "has no .jpg" in refused("collect", "--loading", tmp_path / "empty")
