"""Small ONNX files, written by the `onnx` package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Attribute = int | float | str | Sequence[int] | Sequence[float]


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: Attribute
) -> NodeProto:
    """One operator, named after what it puts out."""
    name = f"{outputs[0]}_{operator}" if outputs else operator
    return helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes)


def port(name: str, sides: Sequence[int | str]) -> ValueInfoProto:
    """An input or output; a text is a side that is left open."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, sides)


def empty_tensor(name: str, sides: Sequence[int], type_: int = TensorProto.FLOAT, location: str = "") -> TensorProto:
    """A tensor whose values lie nowhere, or in another file."""
    made = TensorProto(name=name, dims=sides, data_type=type_)
    if location:
        made.data_location = TensorProto.EXTERNAL
        made.external_data.add(key="location", value=location)
    return made


@dataclass
class Model:
    """A model that is put together: `model.node("Relu", ["x"], ["y"])`."""

    inputs: list[ValueInfoProto] = field(default_factory=list)
    outputs: list[ValueInfoProto] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    tensors: list[TensorProto] = field(default_factory=list)
    opset: int = 17

    def data(self) -> bytes:
        """The file."""
        graph = helper.make_graph(self.nodes, "graph", self.inputs, self.outputs, self.tensors)
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, producer_name="tests", opset_imports=[opset]).SerializeToString()

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Attribute) -> str:
        """An operator of one output; its name."""
        self.nodes.append(node(operator, inputs, [output], **attributes))
        return output

    def weights(self, name: str, *sides: int) -> str:
        """A tensor of floats; its name."""
        self.tensors.append(numpy_helper.from_array(np.zeros(sides, np.float32), name))
        return name

    def numbers(self, name: str, *numbers: int) -> str:
        """A tensor of whole numbers; its name."""
        self.tensors.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        return name


def small_network(sides: Sequence[int | str] = ("batch", 3, 16, 16)) -> Model:
    """Convolution, normalization, activation, pooling, a residual and a dense layer."""
    model = Model(inputs=[port("image", sides)], outputs=[port("classes", ("batch", 10))])
    x = model.add(
        "Conv",
        ["image", model.weights("w1", 8, 3, 3, 3)],
        "conv",
        strides=[2, 2],
        pads=[1, 1, 1, 1],
        kernel_shape=[3, 3],
    )
    averages = [model.weights(name, 8) for name in ("scale", "bias", "mean", "variance")]
    x = model.add("Relu", [model.add("BatchNormalization", [x, *averages], "normal")], "active")
    y = model.add("Conv", [x, model.weights("w2", 8, 1, 3, 3), model.weights("b2", 8)], "deep", group=8, pads=[1] * 4)
    x = model.add("Add", [x, y], "sum")
    x = model.add("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    x = model.add("Flatten", [model.add("GlobalAveragePool", [x], "mean_of_all")], "flat")
    model.add("Gemm", [x, model.weights("w3", 10, 8), model.weights("b3", 10)], "classes", transB=1)
    return model
