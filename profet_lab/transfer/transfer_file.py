"""Write `transfer.json`: the profiled instances, and how the times of their profiles' classes tell a step's work."""

from __future__ import annotations

from typing import Any

import numpy as np

from profet_core.prediction.transfer import TRANSFER_VERSION
from profet_lab.measurements.tables import Measurements
from profet_lab.models_folder import rounded, signed
from profet_lab.transfer.measured_steps import measured_medians, profiled_content
from profet_lab.transfer.work import fit_readers, readers_content

#: Instance whose readers read profiles of unprofiled GPUs.
REFERENCE = "p3.2xlarge"


def transfer_content(measurements: Measurements) -> dict[str, Any]:
    """Fit what `transfer.json` holds on all measurements."""
    medians = measured_medians(measurements)
    return signed(
        {
            "schema_version": TRANSFER_VERSION,
            "reference": REFERENCE,
            "profiled": rounded(profiled_content(medians)),
            "work": readers_content(fit_readers(medians, np.ones(len(medians.workloads), bool))),
            "fitted_on": measurements.sha256,
        }
    )
