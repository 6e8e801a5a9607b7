"""Scripts as people write them, recorded as they are: PyTorch's, and those of what `make test-frameworks` installs."""

from __future__ import annotations

import pytest

from tests.recorder.small_scripts import check, runner, scripts

__all__ = ["runner"]


@pytest.mark.parametrize("script", scripts("torch"))
def test_a_script_is_recorded_as_it_is(runner, script, tmp_path):
    check(script, runner.run(script, tmp_path))


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "script", scripts("lightning", "transformers", "accelerate", "timm", "fastai", "ignite", "jax")
)
def test_a_script_of_another_framework_is_recorded(runner, script, tmp_path):
    check(script, runner.run(script, tmp_path))
