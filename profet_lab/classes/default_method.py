"""Trains and exports the default method: members for every pair and for what may be known, and their intervals."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np

from profet_core.artifacts.models import case_name
from profet_core.networks.intervals import IntervalScale, class_shares
from profet_core.networks.members import MEMBERS
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.boosted import BoostedTrees
from profet_lab.classes.calibrate import distances, fit_scale, nearest_other
from profet_lab.classes.fit_member import fit_member
from profet_lab.classes.folds import LeftOut, left_out_folds, predict_folds
from profet_lab.classes.jobs import MemberJob
from profet_lab.classes.member_weights import Weights, least_error, summed_errors
from profet_lab.classes.stacked import RECIPES, STEPS, StackedNetworks
from profet_lab.export import stack_to_onnx, trees_to_onnx
from profet_lab.measurements.data import pairs

#: Stacks that `train_default` fits, for progress bars: finals of 4 cases and calibration folds of 2, per member.
STACKS = len(MEMBERS) * (4 + 2)


def train_default(
    bank: ClassBank,
    folder: Path,
    anchors: Sequence[str],
    *,
    seed: int,
    steps: int = STEPS,
    progress: Callable[[int], object] | None = None,
) -> dict:
    """Write the default method's files below `folder`; returns what the manifest says of them."""
    rows = np.ones(len(bank.architectures), bool)
    wanted = [pair for pair in pairs(bank.instances) if pair[0] in anchors]
    jobs = [MemberJob(anchor, target, rows) for anchor, target in wanted]
    stacks = []
    for latency_known, sizes_known, member in product((True, False), (True, False), MEMBERS):
        networks = fit_member(
            bank,
            member,
            jobs,
            latency_known=latency_known,
            sizes_known=sizes_known,
            seed=seed,
            steps=steps,
            progress=progress,
        )
        case = case_name(latency_known, sizes_known)
        stacks += [_write_stack(networks, wanted, anchor, case, folder) for anchor in anchors]
    references = [_write_reference(bank, anchor, folder) for anchor in anchors]
    rules, intervals = {}, {}
    for known in (True, False):
        case = case_name(known, False)
        rules[case], intervals[case] = _calibrated(bank, known, seed, steps, progress)
    return {
        "method": {"kind": "classes", **rules},
        "stacks": stacks,
        "intervals": intervals,
        "files": [row["file"] for row in stacks] + references,
    }


def _write_stack(
    networks: StackedNetworks | BoostedTrees, wanted: Sequence[tuple[str, str]], anchor: str, case: str, folder: Path
) -> dict:
    chosen = [number for number, pair in enumerate(wanted) if pair[0] == anchor]
    name = f"{anchor}/{networks.member.replace(' ', '_')}_{case}.onnx"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_onnx(networks, chosen))
    return {
        "anchor": anchor,
        "member": networks.member,
        "case": case,
        "file": name,
        "targets": [wanted[number][1] for number in chosen],
        "constants": networks.constants[chosen, 0].round(6).tolist(),
        "typical_log_ratio": networks.typical_log_ratio[chosen].round(6).tolist(),
    }


def _onnx(networks: StackedNetworks | BoostedTrees, chosen: Sequence[int]) -> bytes:
    if isinstance(networks, BoostedTrees):
        return trees_to_onnx([networks.trees[number] for number in chosen])
    return stack_to_onnx(
        [kernel[chosen] for kernel in networks.kernels],
        [bias[chosen] for bias in networks.biases],
        RECIPES[networks.member].activation,
    )


def _write_reference(bank: ClassBank, anchor: str, folder: Path) -> str:
    """Where the training profiles lie: the first repeat of each workload."""
    first = bank.repeats == bank.repeats.min()
    shares = class_shares(bank.inputs[anchor, True].classes_ms[first], bank.device_classes)
    data = io.BytesIO()
    np.save(data, shares.astype(np.float32), allow_pickle=False)
    name = f"{anchor}/reference.npy"
    (folder / name).write_bytes(data.getvalue())
    return name


def _calibrated(bank: ClassBank, latency_known: bool, seed: int, steps: int, progress) -> tuple[dict, dict]:
    """How the members are joined, and the interval scale."""
    folds = left_out_folds(bank.architectures, pairs(bank.instances))
    left_out = predict_folds(bank, folds, latency_known=latency_known, seed=seed, steps=steps, progress=progress)
    weights = least_error(
        summed_errors(said, bank.latency_ms[target][bank.architectures == name])
        for ((_, target), name), said in left_out.said.items()
    )
    rule = {"members": list(MEMBERS), "combine": "geometric mean", "weights": list(weights)}
    return rule, asdict(scale_of_left_out(bank, left_out, latency_known, weights))


def scale_of_left_out(bank: ClassBank, left_out: LeftOut, latency_known: bool, weights: Weights) -> IntervalScale:
    """The interval scale from the ordinary left-out predictions of all architectures."""
    names = np.unique(bank.architectures)
    order = [np.flatnonzero(bank.architectures == name) for name in names]
    everyone = np.concatenate(order)
    tables = {anchor: distances(bank, anchor, latency_known) for anchor in bank.instances}
    said, joined, true_ms, distance = {}, {}, {}, {}
    for pair in pairs(bank.instances):
        said[pair] = np.vstack([left_out.said[pair, name] for name in names])
        joined[pair] = np.concatenate([left_out.joined(pair, name, weights) for name in names])
        true_ms[pair] = bank.latency_ms[pair[1]][everyone]
        distance[pair] = nearest_other(tables[pair[0]], bank.architectures)[everyone]
    return fit_scale(said, joined, true_ms, distance)
