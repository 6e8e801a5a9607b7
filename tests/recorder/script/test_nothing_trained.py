"""What is said of a script that shows no training step, and that it is said while it runs."""

from __future__ import annotations

from types import ModuleType

import pytest

from profet_recorder import script


@pytest.mark.parametrize(
    "loaded, said",
    [
        (("torch",), "record_steps"),
        (("torch", "jax"), "record_steps"),
        (("tensorflow",), "record_step "),
        (("tensorflow", "keras"), "record_step "),
        (("jax",), "JAX"),
        (("jax", "tensorflow"), "JAX"),
        ((), "neither Keras nor PyTorch"),
    ],
)
def test_the_way_out_is_the_frameworks(monkeypatch, loaded, said):
    for name in ("torch", "tensorflow", "keras", "tf_keras", "jax"):
        monkeypatch.delitem(script.sys.modules, name, raising=False)
    for name in loaded:
        monkeypatch.setitem(script.sys.modules, name, ModuleType(name))
    monkeypatch.setattr(script, "_has_worked_in_children", lambda: False)
    assert said in script.why_nothing_trained("train.py")
