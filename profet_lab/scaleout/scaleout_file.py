"""Fit and write `scaleout.json`: what a step on several GPUs takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from profet_core.catalog.interconnects import Link
from profet_core.files import sha256_hex
from profet_core.multi_gpu.law import NUMBERS, SCALEOUT_VERSION, Width
from profet_lab.coefficient_files import signed
from profet_lab.measurements.published_points import THROUGHPUT_FILE
from profet_lab.scaleout.fit import fitted_model
from profet_lab.scaleout.folds import GPU, NETWORK, held_out_ms, widths
from profet_lab.scaleout.rows import TENSORFLOW_2017_FILE, load_scale_rows

_FILES = (TENSORFLOW_2017_FILE, THROUGHPUT_FILE)


def scaleout_content(folder: Path) -> dict:
    """What `scaleout.json` holds, fitted on the published speeds of `folder/external`.

    Raises
    ------
    DataError : one of the files is missing.
    """
    rows = load_scale_rows(folder).kept
    content = {
        **law_content(rows),
        "fitted_on": {
            "rows": dict(Counter(rows["data_set"])),
            "sha256": {str(name): sha256_hex((folder / name).read_bytes()) for name in _FILES},
        },
    }
    return signed(content)


def law_content(rows: pd.DataFrame) -> dict:
    """Fit the coefficients, with widths from held-out networks and GPU models."""
    model = fitted_model(rows)
    held_out = np.concatenate([held_out_ms(rows, by) for by in (NETWORK, GPU)])
    found = widths(pd.concat([rows, rows]), held_out)
    return {
        "schema_version": SCALEOUT_VERSION,
        "link_efficiency": {str(link): value for link, value in model.link_efficiency.items()},
        **{name: getattr(model, name) for name in NUMBERS},
        "widths": _document(found.several),
        "one_process_widths": _document(found.one_process),
    }


def _document(found: Mapping[Link, Width]) -> dict[str, dict[str, float]]:
    return {str(link): asdict(width) for link, width in found.items()}
