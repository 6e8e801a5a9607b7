"""Name the basis of a latency in one word: an estimate never looks like a measurement."""

from __future__ import annotations

from profet_core.latency import Basis

#: Short enough for a table; `Basis.words` says it in full.
SHORT_BASIS = {
    Basis.GIVEN: "your measurement",
    Basis.MEASURED: "predicted",
    Basis.DERIVED: "derived, biased",
    Basis.TRANSFERRED: "rough estimate",
    Basis.CARRIED: "carried over",
    Basis.CARRIED_BACK: "from an unprofiled GPU",
    Basis.SCALED_OUT: "scaled out",
    Basis.CALIBRATED: "few steps measured",
}
#: The four words of charts and tables; `Basis` has the finer ones that documents have.
GIVEN, MEASURED, DERIVED, ESTIMATED = "Given", "Measured", "Derived", "Estimated"
FOUR_WORDS = {
    Basis.GIVEN: GIVEN,
    Basis.MEASURED: MEASURED,
    Basis.DERIVED: DERIVED,
    Basis.CARRIED: DERIVED,
    Basis.SCALED_OUT: DERIVED,
    Basis.CALIBRATED: DERIVED,
    Basis.TRANSFERRED: ESTIMATED,
    Basis.CARRIED_BACK: ESTIMATED,
}
EXPLAINED = {
    GIVEN: "your measurement",
    MEASURED: "models trained on this GPU",
    DERIVED: "scaled from a measured GPU or size",
    ESTIMATED: "from GPU specs and benchmarks",
}
#: Marks a latency in charts if its GPU, or the anchor's, is not in the training data.
MARK = "*"


def marked(label: str, basis: Basis) -> str:
    """An instance's label for a chart."""
    return f"{label}{MARK}" if basis.is_rough else label
