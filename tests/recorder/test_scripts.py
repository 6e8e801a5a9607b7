"""Scripts as people write them, recorded as they are."""

from __future__ import annotations

import pytest

from tests.recorder.small_scripts import check, run, scripts


@pytest.mark.parametrize("script", scripts("torch", "keras", "tf", "tfkeras"))
def test_a_script_is_recorded_as_it_is(script, tmp_path):
    check(script, run(script, tmp_path))


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "script", scripts("lightning", "transformers", "accelerate", "timm", "fastai", "ignite", "jax")
)
def test_a_script_of_another_framework_is_recorded(script, tmp_path):
    check(script, run(script, tmp_path))
