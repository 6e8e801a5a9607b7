"""A made-up report on the many-core models, whose own cores took round times."""

from __future__ import annotations

from profet_core.accuracy.manycore import (
    OWN_IMAGES,
    SHARED_BATCHES,
    CoresRow,
    ManycoreAccuracy,
    OwnCores,
    OwnCoresWay,
)
from profet_lab.manycore.report import manycore_report


def made_report() -> ManycoreAccuracy:
    """The published networks' figures, and a machine of two cores."""
    rows = (
        CoresRow(1, 15, True, 0.5, 0.49, 0.52, 0.501, 1.0, 1.0),
        CoresRow(2, 14, False, 0.26, 0.25, 0.31, 0.2506, 0.5 / 0.26, 1.9992),
    )
    ways = tuple(
        OwnCoresWay(way, library, 640, 128, 200.0, 500.0, 2.23, 2.4, 1.9, rows)
        for way, library in ((OWN_IMAGES, "NumPy 2"), (SHARED_BATCHES, "TensorFlow 2"))
    )
    return manycore_report(OwnCores("Made <b>CPU", 2, 2_596.2, ways))
