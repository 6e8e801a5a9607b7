"""Scripts as people write them, recorded as they are: PyTorch's, and those that train nothing."""

from __future__ import annotations

import pytest

from tests.recorder.small_scripts import check, runner, scripts

__all__ = ["runner"]


@pytest.mark.parametrize("script", scripts("torch", "plain"))
def test_a_script_is_recorded_as_it_is(runner, script, tmp_path):
    check(script, runner.run(script, tmp_path))
