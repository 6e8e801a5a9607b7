"""Write a models folder: members as arrays, signed coefficients, and the old set or the new one as a whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from profet_core.catalog.custom_gpus import CUSTOM_GPUS_NAME
from profet_core.catalog.custom_instances import CUSTOM_NAME
from profet_core.ensemble.members import DenseStack, Fitted, TreeStack, written
from profet_core.errors import ArtifactError
from profet_core.files import lock_path, manifest_checksum, only_one, put_aside
from profet_core.prediction.growth import GROWTH_NAME
from profet_core.prediction.models import CALIBRATED_NAME, MANIFEST_NAME, TRANSFER_NAME
from profet_core.training.memory import MEMORY_NAME
from profet_profiles.units import US_PER_MS
from profet_profiles.whole_files import write_whole

if TYPE_CHECKING:
    import lightgbm
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression

#: Files that a custom folder may have before models: separately fitted coefficients and its catalog.
_COEFFICIENTS = (TRANSFER_NAME, MEMORY_NAME, GROWTH_NAME)
_CATALOG = (CUSTOM_NAME, CUSTOM_GPUS_NAME)
#: Folders of your own measurements beside the models: moved as they are, since a collection may be running.
MEASUREMENTS = ("collected", "data")


@contextmanager
def new_models_folder(out: Path) -> Iterator[Path]:
    """Make a new folder beside `out` to write a set of models into; after the block it takes the place of `out`.

    Files in `out` that are not part of the old models, such as your catalog and data, stay. An exception
    in the block leaves `out` as it was. What a killed training left is put right first, and removed.
    """
    out = out.resolve()
    _check_replaceable(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with only_one(out, wait_s=0):
            _put_right(out)
            folder = _scratch(out)
            folder.mkdir()
            try:
                yield folder
                _keep_beside(out, folder)
                for path in _files_in(folder):
                    with path.open("rb+") as file:
                        os.fsync(file.fileno())
                _swap(folder, out)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise ArtifactError(f"{out} is unchanged because writing failed: {error.strerror or error}{where}.") from error


def _scratch(out: Path) -> Path:
    return out.with_name(f".{out.name}.training")


def _check_replaceable(out: Path) -> None:
    if out.is_mount():
        raise ArtifactError(f"{out} is a mount point, which can't be replaced as a whole: name a folder in it.")
    if out.exists() and not out.is_dir():
        raise ArtifactError(f"{out} is not a folder: name another one.")
    if not out.is_dir() or (out / MANIFEST_NAME).exists():
        return
    own = {*_COEFFICIENTS, *_CATALOG, *(lock_path(out / name).name for name in _CATALOG), *MEASUREMENTS}
    if {path.name for path in out.iterdir()} - own:
        raise ArtifactError(f"{out} holds other things than models: name a new or an empty folder.")


def _put_right(out: Path) -> None:
    """Clean up after a killed training, under the lock."""
    if put_aside(out).exists() and not out.exists():
        put_aside(out).rename(out)
    _move_measurements(put_aside(out), out)
    for left in (put_aside(out), _scratch(out)):
        shutil.rmtree(left, ignore_errors=True)


def _keep_beside(out: Path, folder: Path) -> None:
    """Copy what is in `out`, no part of its models, and not in the new folder."""
    if not out.exists():
        return
    shutil.copymode(out, folder)
    models = {MANIFEST_NAME, *_files_of(out / MANIFEST_NAME)}
    for path in _files_in(out):
        name = path.relative_to(out)
        # What was calibrated belongs to the models beside it, and goes with them.
        part_of_models = name.as_posix() in models or name.name == CALIBRATED_NAME
        moved = name.parts[0] in MEASUREMENTS
        if not part_of_models and not moved and not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name)


def _files_of(manifest: Path) -> Iterable[str]:
    """Return the files that a manifest names; none where it can't be read, so that nothing is lost."""
    try:
        content = json.loads(manifest.read_bytes())
        return [*content["files"], *content.get("coefficients", ())]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _files_in(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _swap(folder: Path, out: Path) -> None:
    """Put `out` aside and `folder` in its place; killed between the two, `load_models` finds what was put aside."""
    aside = put_aside(out)
    try:
        if out.exists():
            out.rename(aside)
        folder.rename(out)
    finally:
        if aside.exists() and not out.exists():
            aside.rename(out)
    _move_measurements(aside, out)
    shutil.rmtree(aside, ignore_errors=True)


def _move_measurements(aside: Path, out: Path) -> None:
    """Move from the old folder to the new one; merge what a kill left in both."""
    for name in MEASUREMENTS:
        if not (aside / name).is_dir():
            continue
        (out / name).mkdir(exist_ok=True)
        for path in (aside / name).iterdir():
            if not (out / name / path.name).exists():
                path.rename(out / name / path.name)


def signed(content: Mapping) -> dict:
    """Add the checksum that `profet_core.files` verifies; the content must be plain JSON values."""
    return {**content, "checksum": manifest_checksum(content)}


def rounded(value: Any) -> Any:
    """Six digits of every number: the same file from the same data on any machine."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def write_signed(content: Mapping, path: Path) -> None:
    """Write signed content, whole or not at all."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


def write_coefficients(content: Mapping, path: Path) -> Path:
    """Write coefficients like signed content, make their folder, and return `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_signed(content, path)
    return path


def line_stack(lines: Sequence[LinearRegression]) -> DenseStack:
    """Lines of one input."""
    kernel = np.array([[[line.coef_.item()]] for line in lines])
    bias = np.array([[[float(line.intercept_)]] for line in lines])
    return DenseStack((kernel,), (bias,), "relu")


def dense_stack(networks: Sequence[DenseStack]) -> DenseStack:
    """Return the documented ensemble's networks; the last layer divides their microseconds into milliseconds."""
    kernels, biases = (
        [np.concatenate(layer) for layer in zip(*(getattr(network, part) for network in networks), strict=True)]
        for part in ("kernels", "biases")
    )
    kernels[-1], biases[-1] = kernels[-1] / US_PER_MS, biases[-1] / US_PER_MS
    return network_stack(kernels, biases, "relu")


def network_stack(kernels: Sequence[np.ndarray], biases: Sequence[np.ndarray], activation: str) -> DenseStack:
    """Networks that were trained in single precision, whose weights are kept in it.

    Parameters
    ----------
    kernels, biases : per layer (models, inputs, outputs) and (models, 1, outputs).
    activation : "relu" or "silu", between layers.
    """
    return DenseStack(
        tuple(kernel.astype(np.float32) for kernel in kernels),
        tuple(bias.astype(np.float32) for bias in biases),
        activation,
    )


def forest_stack(forests: Sequence[RandomForestRegressor]) -> TreeStack:
    """Random forests; a leaf's value is divided by their number of trees, as answers are sums."""
    trees = [[(0, _forest_nodes(tree.tree_, 1 / len(forest.estimators_))) for tree in forest] for forest in forests]
    return _tree_stack(trees, forests[0].n_features_in_)


def boosted_stack(models: Sequence[lightgbm.Booster]) -> TreeStack:
    """Boosted trees."""
    trees = [[(tree["tree_structure"], _boosted_node) for tree in model.dump_model()["tree_info"]] for model in models]
    return _tree_stack(trees, models[0].num_feature())


#: A split's column, threshold, left and right child; or a leaf's value.
_Content: TypeAlias = tuple[int, float, Any, Any] | float


def _forest_nodes(tree: Any, share: float) -> Callable[[int], _Content]:
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    columns, thresholds = tree.feature.tolist(), tree.threshold.tolist()
    values = (tree.value[:, 0, 0] * share).tolist()

    def content(node: int) -> _Content:
        is_leaf = lefts[node] < 0
        return values[node] if is_leaf else (columns[node], thresholds[node], lefts[node], rights[node])

    return content


def _boosted_node(node: dict[str, Any]) -> _Content:
    if "leaf_value" in node:
        return float(node["leaf_value"])
    if (node["decision_type"], node["missing_type"]) != ("<=", "None"):
        raise ValueError(f"trees are split by numbers, none missing; not {node['decision_type']}")
    return node["split_feature"], node["threshold"], node["left_child"], node["right_child"]


def _tree_stack(models: Sequence[Sequence[tuple[Any, Callable[[Any], _Content]]]], inputs: int) -> TreeStack:
    """All trees in one table, each level by level; where a model has fewer, leaves that add nothing stand in.

    Parameters
    ----------
    models : of each tree its root, and what gives a node's content.
    """
    nodes: list[tuple[int, int, float]] = []
    roots: list[list[int]] = []
    for trees in models:
        roots.append([])
        for root, content in trees:
            roots[-1].append(len(nodes))
            waiting = [root]
            for place, node in enumerate(waiting):
                split = content(node)
                if isinstance(split, tuple):
                    column, threshold, left, right = split
                    nodes.append((column, len(waiting) - place, threshold))
                    waiting += [left, right]
                else:
                    nodes.append((0, 0, split))
    most, nothing = max(len(root) for root in roots), len(nodes)
    features, steps, numbers = (np.array(column) for column in zip(*nodes, (0, 0, 0.0), strict=True))
    filled = np.array([[*root, *[nothing] * (most - len(root))] for root in roots])
    return TreeStack(roots=filled, features=features, steps=steps, numbers=numbers, inputs=inputs)


def write_fitted(fitted: Fitted, folder: Path, anchor: str, member: str) -> str:
    """Write the file of an anchor's member; returns its name in the models folder."""
    name = f"{anchor}/{member}.npz"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written(fitted))
    return name
