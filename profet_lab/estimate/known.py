"""What was measured of networks by name, as `estimate.json` holds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from profet_lab.estimate.rows import PROFET, EstimateRows

#: Variances of the log error of a network that is known: everywhere, at near sizes, there on one GPU, and of a row.
KNOWN_VARIANCES = (0.004, 0.004, 0.004, 0.0015)
_DIGITS = 4


def known_steps(rows: EstimateRows, log_ratios: np.ndarray) -> dict[str, Any]:
    """Measured steps of networks by name, sorted by network, as `estimate.json` holds them."""
    networks = sorted({_known_as(rows, row) for row in range(len(rows))})
    where = np.where(rows.instances == "", rows.gpus, rows.instances)
    places = sorted(set(where.tolist()))
    number, place_of = ({name: index for index, name in enumerate(names)} for names in (networks, places))
    steps = [
        [
            number[_known_as(rows, row)],
            place_of[str(where[row])],
            int(rows.batch_sizes[row]),
            int(rows.pixels[row]),
            round(float(log_ratios[row]), _DIGITS),
        ]
        for row in range(len(rows))
    ]
    return {"networks": networks, "places": places, "steps": sorted(steps), "variances": list(KNOWN_VARIANCES)}


def _known_as(rows: EstimateRows, row: int) -> str:
    name = str(rows.networks[row])
    return f"PROFET {name}" if rows.sources[row] == PROFET else name
