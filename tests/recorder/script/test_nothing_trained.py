"""What is said of a script that shows no training step, and that it is said while it runs."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest

from profet_recorder.script import nothing_trained


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
        monkeypatch.delitem(nothing_trained.sys.modules, name, raising=False)
    for name in loaded:
        monkeypatch.setitem(nothing_trained.sys.modules, name, ModuleType(name))
    monkeypatch.setattr(nothing_trained, "_has_worked_in_children", lambda: False)
    assert said in nothing_trained.why_nothing_trained("train.py")


def test_it_is_said_while_the_script_runs_and_only_where_nothing_trains(monkeypatch, capsys):
    monkeypatch.setattr(nothing_trained, "QUIET_S", 0.01)
    waiting = nothing_trained.threading.Event()
    quiet = SimpleNamespace(recording=None, failure=None)
    for hooks, expected in ((quiet, True), (SimpleNamespace(recording=object(), failure=None), False)):
        with nothing_trained.said_early("train.py", hooks):
            waiting.wait(0.5)
        assert ("no training step yet" in capsys.readouterr().err) is expected
    with nothing_trained.said_early("train.py", quiet):
        pass
    waiting.wait(0.1)
    assert capsys.readouterr().err == ""
