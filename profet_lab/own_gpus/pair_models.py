"""Train models of custom pairs, each group as a layer over a models folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from profet_core.artifacts.models import (
    LAYERS_FOLDER,
    OWN_PAIRS_NAME,
    OWN_PAIRS_VERSION,
    LayerRecord,
)
from profet_lab.classes.bank import class_bank
from profet_lab.classes.default_method import STACKS, train_default
from profet_lab.classes.fit_networks import STEPS
from profet_lab.coefficient_files import signed, write_coefficients
from profet_lab.own_gpus.pair_groups import PairGroup
from profet_lab.progress import Progress
from profet_lab.train import manifest_of_default, write_manifest

#: Weight of the analytical model in the geometric mean with a pair's models. From 100 shared workloads on, it errs
#: at most 0.2 points more than either alone.
LAW_SHARE = 0.25


def write_pairs(
    groups: Sequence[PairGroup],
    folder: Path,
    *,
    base_checksum: str,
    fitted_on: Mapping[str, str],
    seed: int,
    steps: int = STEPS,
    quiet: bool = False,
) -> None:
    """Train the groups and write them over the models in `folder`.

    Parameters
    ----------
    base_checksum : of these models' manifest. fitted_on : file -> SHA-256 of what was read.
    """
    total = len(groups) * STACKS * steps
    with tqdm(total=total, desc="train", unit="step", disable=True if quiet else None) as bar:
        layers = [
            _write_layer(group, folder, f"{LAYERS_FOLDER}/{number}", seed, steps, bar.update)
            for number, group in enumerate(groups)
        ]
    content = {
        "schema_version": OWN_PAIRS_VERSION,
        "base_checksum": base_checksum,
        "layers": [asdict(layer) for layer in layers],
        "fitted_on": dict(fitted_on),
    }
    write_coefficients(signed(content), folder / OWN_PAIRS_NAME)


def _write_layer(group: PairGroup, folder: Path, name: str, seed: int, steps: int, progress: Progress) -> LayerRecord:
    there = folder / name
    there.mkdir(parents=True)
    default = train_default(
        class_bank(group.measurements),
        there,
        group.pairs,
        calibrated_on=group.pairs,
        seed=seed,
        steps=steps,
        progress=progress,
    )
    manifest = write_manifest(
        manifest_of_default(group.measurements, default, there, seed=seed, source="measurements of the user's own"),
        there,
    )
    return LayerRecord(
        folder=name,
        checksum=manifest["checksum"],
        machines=group.machines,
        workloads=group.measurements.distinct_workloads,
        networks=group.measurements.networks,
        law_share=LAW_SHARE,
    )
