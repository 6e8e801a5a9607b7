"""Names the lines that TensorFlow or XProf add to a GPU's streams; their events repeat what the streams hold."""

from __future__ import annotations

from string import whitespace

#: The line of steps that a GPU's trace marks.
STEPS_LINE = "Steps"
DERIVED_LINES = frozenset(
    {
        "Async XLA Ops",
        "Framework Name Scope",
        "Framework Ops",
        "Launch Stats",
        "Source",
        "Source code",
        STEPS_LINE,
        "TensorFlow Name Scope",
        "TensorFlow Ops",
        "XLA Modules",
        "XLA Ops",
        "XLA TraceMe",
    }
)


def is_derived_line(name: str) -> bool:
    """True for the name of a derived line; XProf tells of which stream: "Framework Ops - from #14(Compute)"."""
    return name.partition(" - from #")[0].partition("(")[0].strip(whitespace) in DERIVED_LINES
