"""Asks which method predicts, and in which precision the training runs."""

from __future__ import annotations

from profet_core import Models
from ui.inputs.fields import select
from ui.phrases import sentence
from ui.state.resources import Resources
from ui.state.session import DEFAULT_METHOD, Network, method_options


def method_input(resources: Resources) -> None:
    """Which method predicts, where the models hold more than one."""
    options = {option: _method_label(resources.models, option) for option in method_options(resources)}
    if len(options) > 1:
        tip = "The default method errs less and gives an interval. About describes both."
        select("Method", Network.method, options, help=tip)


def precision_input() -> None:
    """In which precision the training runs."""
    select(
        "Precision",
        Network.precision,
        help="As profiled: the profile's precision; an FP32 profile means TF32 on Ampere and later, as TensorFlow and "
        "PyTorch run it. FP32: without TF32.",
    )


def _method_label(models: Models, option: str) -> str:
    """How an option of the method selector reads."""
    method = models.method(option)
    name = {"classes": "operation classes", "profet": "documented PROFET ensemble"}.get(method.name, method.name)
    return f"Default: {name}" if option == DEFAULT_METHOD else sentence(name)
