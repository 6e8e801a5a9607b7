"""Record one step of a training script as a version-2 profile.

It runs where someone trains, so importing it loads neither a framework nor anything else that is heavy; recording needs
TensorFlow or PyTorch, and nothing else: with `profet_profiles` this folder is also installed alone.

>>> from profet_recorder import ProfileCallback
>>> model.fit(images, labels, callbacks=[ProfileCallback("profile.json")])  # doctest: +SKIP

>>> from profet_recorder import record_steps
>>> for images, labels in record_steps(loader, "profile.json"):  # doctest: +SKIP
...     train_step(images, labels)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from profet_profiles import VERSION as VERSION

if TYPE_CHECKING:
    from profet_recorder.in_training import ProfileCallback, StepRecorder, record_step, record_steps
    from profet_recorder.plan import RecorderError

__all__ = ["VERSION", "ProfileCallback", "RecorderError", "StepRecorder", "record_step", "record_steps"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{'plan' if name == 'RecorderError' else 'in_training'}")
    globals()[name] = value = getattr(module, name)
    return value
