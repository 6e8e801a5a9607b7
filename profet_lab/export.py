"""Export fitted members as the arrays that serving runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import lightgbm
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from profet_core.ensemble.fitted import DenseStack, Fitted, TreeStack, written
from profet_core.units import US_PER_MS
from profet_lab.documented.ensemble import DenseWeights

_Node = TypeVar("_Node")
#: A split: its column, its threshold, its left and right child.
_Split: TypeAlias = tuple[int, float, _Node, _Node]


def line_stack(lines: Sequence[LinearRegression]) -> DenseStack:
    """Lines of one input."""
    kernel = np.array([[[line.coef_.item()]] for line in lines])
    bias = np.array([[[float(line.intercept_)]] for line in lines])
    return DenseStack((kernel,), (bias,), "relu")


def dense_stack(networks: Sequence[DenseWeights]) -> DenseStack:
    """The documented ensemble's networks; the last layer divides their microseconds into milliseconds."""
    kernels = [np.stack(layer) for layer in zip(*(network.kernels for network in networks), strict=True)]
    biases = [np.stack(layer)[:, None] for layer in zip(*(network.biases for network in networks), strict=True)]
    kernels[-1], biases[-1] = kernels[-1] / US_PER_MS, biases[-1] / US_PER_MS
    return network_stack(kernels, biases, "relu")


def network_stack(kernels: Sequence[np.ndarray], biases: Sequence[np.ndarray], activation: str) -> DenseStack:
    """Networks that were trained in single precision, whose weights are kept in it.

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
    nodes = _Nodes()
    roots = []
    for forest in forests:
        share = 1 / len(forest.estimators_)
        roots.append([nodes.add(0, _scikit_learn_nodes(each.tree_, share)) for each in forest.estimators_])
    return nodes.stack(roots, forests[0].n_features_in_)


def boosted_stack(models: Sequence[lightgbm.Booster]) -> TreeStack:
    """Boosted trees."""
    nodes = _Nodes()
    trees = [[each["tree_structure"] for each in model.dump_model()["tree_info"]] for model in models]
    roots = [[nodes.add(tree, _lightgbm_node) for tree in each] for each in trees]
    return nodes.stack(roots, models[0].num_feature())


def xgboost_stack(trees: Sequence[dict[str, Any]], inputs: int) -> TreeStack:
    """xgboost's trees, as it dumps them in JSON, for values that single precision holds exactly."""
    nodes = _Nodes()
    return nodes.stack([[nodes.add(tree, _xgboost_node) for tree in trees]], inputs)


def write_fitted(fitted: Fitted, folder: Path, anchor: str, member: str) -> str:
    """Write the file of an anchor's member; returns its name in the models folder."""
    name = f"{anchor}/{member}.npz"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written(fitted))
    return name


def _scikit_learn_nodes(tree: Any, share: float) -> Callable[[int], _Split[int] | float]:
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    columns, thresholds = tree.feature.tolist(), tree.threshold.tolist()
    values = (tree.value[:, 0, 0] * share).tolist()

    def of(node: int) -> _Split[int] | float:
        is_leaf = lefts[node] < 0
        return values[node] if is_leaf else (columns[node], thresholds[node], lefts[node], rights[node])

    return of


def _lightgbm_node(node: dict[str, Any]) -> _Split[dict[str, Any]] | float:
    if "leaf_value" in node:
        return float(node["leaf_value"])
    if (node["decision_type"], node["missing_type"]) != ("<=", "None"):
        raise ValueError(f"trees are split by numbers, none missing; not {node['decision_type']}")
    return node["split_feature"], node["threshold"], node["left_child"], node["right_child"]


def _xgboost_node(node: dict[str, Any]) -> _Split[dict[str, Any]] | float:
    if "leaf" in node:
        return float(node["leaf"])
    children = {each["nodeid"]: each for each in node["children"]}
    # It goes left below the threshold, `TreeStack` up to it: the next smaller number of single precision.
    threshold = float(np.nextafter(np.float32(node["split_condition"]), np.float32(-np.inf)))
    return int(node["split"][1:]), threshold, children[node["yes"]], children[node["no"]]


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The table of nodes that a `TreeStack` has, as it grows tree by tree."""

    features: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def add(self, root: _Node, of: Callable[[_Node], _Split[_Node] | float]) -> int:
        """Add a tree, level by level; `of` gives a node's split or a leaf's value. Its first node's number."""
        first, waiting = len(self.steps), [root]
        for place, node in enumerate(waiting):
            found = of(node)
            if isinstance(found, tuple):
                column, threshold, left, right = found
                self._append(column, len(waiting) - place, threshold)
                waiting += [left, right]
            else:
                self._append(0, 0, found)
        return first

    def stack(self, roots: Sequence[Sequence[int]], inputs: int) -> TreeStack:
        """The stack of these trees; where an ensemble has fewer than others, leaves that add nothing stand in."""
        most = max(len(each) for each in roots)
        nothing = len(self.steps)
        self._append(0, 0, 0.0)
        return TreeStack(
            roots=np.array([[*each, *[nothing] * (most - len(each))] for each in roots]),
            features=np.array(self.features),
            steps=np.array(self.steps),
            numbers=np.array(self.numbers),
            inputs=inputs,
        )

    def _append(self, feature: int, steps: int, number: float) -> None:
        self.features.append(feature)
        self.steps.append(steps)
        self.numbers.append(number)
