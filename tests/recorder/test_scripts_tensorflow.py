"""Scripts as people write them, recorded as they are: with TensorFlow, Keras and tf_keras."""

from __future__ import annotations

import pytest

from tests.recorder.small_scripts import check, runner, scripts

__all__ = ["runner"]


@pytest.mark.parametrize("script", scripts("keras", "tf", "tfkeras"))
def test_a_script_is_recorded_as_it_is(runner, script, tmp_path):
    check(script, runner.run(script, tmp_path))
