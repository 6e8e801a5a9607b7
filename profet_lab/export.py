"""Writes fitted members as ONNX: float32 in, milliseconds out, any number of rows."""

from __future__ import annotations

from collections.abc import Sequence

import lightgbm
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.base import BaseEstimator

from profet_core.units import US_PER_MS
from profet_lab.documented.dense import DenseWeights

#: What onnxruntime of the serving set reads; fixed so that a newer exporter changes no file.
OPSET = 17
IR_VERSION = 9
#: Attributes of a tree ensemble that hold one value a node or a leaf.
_PER_NODE = frozenset(
    {
        "nodes_treeids",
        "nodes_nodeids",
        "nodes_featureids",
        "nodes_modes",
        "nodes_values",
        "nodes_truenodeids",
        "nodes_falsenodeids",
        "nodes_missing_value_tracks_true",
        "target_treeids",
        "target_nodeids",
        "target_ids",
        "target_weights",
    }
)


def estimator_to_onnx(estimator: BaseEstimator, inputs: int) -> bytes:
    """A scikit-learn estimator of `inputs` features as ONNX."""
    model = to_onnx(estimator, np.zeros((1, inputs), np.float32), target_opset={"": OPSET, "ai.onnx.ml": 3})
    return _serialise(model)


def dense_to_onnx(weights: DenseWeights) -> bytes:
    """A dense network as ONNX, its microseconds divided into milliseconds by the last layer."""
    nodes, constants = [], []
    value, last = "profile_us", len(weights.kernels) - 1
    for layer, (kernel, bias) in enumerate(zip(weights.kernels, weights.biases, strict=True)):
        scale = 1 / US_PER_MS if layer == last else 1.0
        constants += [
            numpy_helper.from_array((kernel * scale).astype(np.float32), f"kernel_{layer}"),
            numpy_helper.from_array((bias * scale).astype(np.float32), f"bias_{layer}"),
        ]
        output = "latency_ms" if layer == last else f"sum_{layer}"
        nodes.append(helper.make_node("Gemm", [value, f"kernel_{layer}", f"bias_{layer}"], [output]))
        if layer < last:
            value = f"hidden_{layer}"
            nodes.append(helper.make_node("Relu", [output], [value]))
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("profile_us", TensorProto.FLOAT, ["profiles", weights.kernels[0].shape[0]])],
        [helper.make_tensor_value_info("latency_ms", TensorProto.FLOAT, ["profiles", 1])],
        constants,
    )
    return _serialise(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))


def stack_to_onnx(kernels: Sequence[np.ndarray], biases: Sequence[np.ndarray], activation: str) -> bytes:
    """Networks side by side as ONNX: (profiles, inputs) -> (networks, profiles, outputs).

    Parameters
    ----------
    kernels, biases : per layer (networks, inputs, outputs) and (networks, 1, outputs).
    activation : "relu" or "silu", between layers.
    """
    nodes, constants = [], []
    value, last = "inputs", len(kernels) - 1
    for layer, (kernel, bias) in enumerate(zip(kernels, biases, strict=True)):
        constants += [
            numpy_helper.from_array(kernel.astype(np.float32), f"kernel_{layer}"),
            numpy_helper.from_array(bias.astype(np.float32), f"bias_{layer}"),
        ]
        output = "outputs" if layer == last else f"sum_{layer}"
        nodes.append(helper.make_node("MatMul", [value, f"kernel_{layer}"], [f"product_{layer}"]))
        nodes.append(helper.make_node("Add", [f"product_{layer}", f"bias_{layer}"], [output]))
        if layer < last:
            value = f"hidden_{layer}"
            if activation == "relu":
                nodes.append(helper.make_node("Relu", [output], [value]))
            else:
                nodes.append(helper.make_node("Sigmoid", [output], [f"gate_{layer}"]))
                nodes.append(helper.make_node("Mul", [output, f"gate_{layer}"], [value]))
    graph = helper.make_graph(
        nodes,
        "stack",
        [helper.make_tensor_value_info("inputs", TensorProto.FLOAT, ["profiles", kernels[0].shape[1]])],
        [
            helper.make_tensor_value_info(
                "outputs", TensorProto.FLOAT, [len(kernels[0]), "profiles", kernels[-1].shape[2]]
            )
        ],
        constants,
    )
    return _serialise(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))


def trees_to_onnx(models: Sequence[lightgbm.Booster]) -> bytes:
    """Boosted trees side by side as ONNX: (profiles, inputs) -> (models, profiles, 1)."""
    inputs = models[0].num_feature()
    attributes: dict[str, list] = {}
    trees = 0
    for number, model in enumerate(models):
        converted = convert_lightgbm(
            model, initial_types=[("inputs", FloatTensorType([None, inputs]))], target_opset=15, zipmap=False
        )
        (node,) = (node for node in converted.graph.node if node.op_type == "TreeEnsembleRegressor")
        found = {item.name: list(helper.get_attribute_value(item)) for item in node.attribute if item.name in _PER_NODE}
        for name in ("nodes_treeids", "target_treeids"):
            found[name] = [tree + trees for tree in found[name]]
        found["target_ids"] = [number] * len(found["target_ids"])
        trees = max(found["nodes_treeids"]) + 1
        for name, values in found.items():
            attributes.setdefault(name, []).extend(values)
    ensemble = helper.make_node(
        "TreeEnsembleRegressor",
        ["inputs"],
        ["by_profile"],
        domain="ai.onnx.ml",
        n_targets=len(models),
        aggregate_function="SUM",
        post_transform="NONE",
        **attributes,
    )
    graph = helper.make_graph(
        [
            ensemble,
            helper.make_node("Transpose", ["by_profile"], ["by_model"], perm=[1, 0]),
            helper.make_node("Unsqueeze", ["by_model", "last"], ["outputs"]),
        ],
        "trees",
        [helper.make_tensor_value_info("inputs", TensorProto.FLOAT, ["profiles", inputs])],
        [helper.make_tensor_value_info("outputs", TensorProto.FLOAT, [len(models), "profiles", 1])],
        [numpy_helper.from_array(np.array([2], np.int64), "last")],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
    return _serialise(helper.make_model(graph, opset_imports=opsets))


def _serialise(model: onnx.ModelProto) -> bytes:
    model.ir_version = IR_VERSION
    # The exporters stamp their own names and versions; the manifest has them, and equal models are equal bytes.
    model.producer_name = model.producer_version = model.domain = model.doc_string = ""
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)
