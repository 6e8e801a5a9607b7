"""Follow an ONNX graph from image to outputs, and count its layers; the `onnx` package infers each operator's shapes.

Weights are passed over before the package sees the file: of VGG16 it would hold 1.1 GB, where this takes 80 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import defs, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from profet_core.errors import InputError, ProfileError, no_vision
from profet_core.layers.network import (
    MAX_SETTING,
    Caveats,
    Kind,
    Layer,
    LayerList,
    Network,
    Shape,
    check_shape,
    count,
    image_sides,
    shape_text,
    shown,
    whole,
)
from profet_core.layers.rules import Window, convolution_kind, is_function
from profet_profiles.protobuf_wire import FIXED_32, LENGTH, VARINT, WireStream

#: Longer fields are weights, and passed over.
_MAX_FIELD_BYTES = 4_096
#: Neither these are read: what a tensor keeps in another file, which is never opened, and notes.
_SKIPPED = frozenset({"external_data", "data_location", "value_info", "metadata_props", "doc_string", "training_info"})
_MAX_DIMENSIONS = 16
#: Values of a constant that is computed; shapes have a handful, masks some thousands.
_MAX_CONSTANT = 65_536
#: Of weights.
_FLOAT_TYPES = frozenset(
    {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
)
_DOMAINS = frozenset({"", "ai.onnx"})
#: Channels that an image has: they tell which side of an input they are.
_IMAGE_CHANNELS = frozenset({1, 2, 3, 4})
_DAMAGED = "the ONNX file is damaged or cut short, or not ONNX: export or download it again."
_AT_RUN_TIME = "it depends on runtime values: export it for one image size."

_OPERATORS = {
    Kind.CONVOLUTION: "Conv ConvTranspose",
    Kind.DENSE: "Gemm MatMul",
    Kind.NORMALIZATION: """
        BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization LpNormalization
    """,
    Kind.POOLING: "MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool",
    Kind.SHAPING: """
        Transpose Slice Expand Tile Concat Gather Pad Split Resize Upsample DepthToSpace SpaceToDepth
    """,
    Kind.ELEMENTWISE: """
        Abs Floor Ceil Neg Not Cast Add Sub Mul Div Mod Min Max Sum Mean Where Equal Greater Less GreaterOrEqual
        LessOrEqual And Or Xor ReduceMean ReduceMax ReduceMin ReduceSum ReduceL2 ReduceSumSquare ReduceProd
    """,
    Kind.IDENTITY: "Identity Reshape Flatten Squeeze Unsqueeze Shape Size Range ConstantOfShape",
}
#: Operators that are counted -> their kind; others that `is_function` knows compute each value by itself.
KINDS: Mapping[str, Kind] = MappingProxyType(
    {operator: kind for kind, operators in _OPERATORS.items() for operator in operators.split()}
)
#: Of one value for all others, as in the parts of GELU, they cost no pass of their own.
_SCALING = frozenset(
    {"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Sum", "Mean", "Where"}
    | {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor"}
)
#: They move no values.
_VIEWS = frozenset({"Reshape", "Flatten"})
#: Sides of what a classifier puts out; softmax of more is over attention's scores.
_CLASS_SIDES = 2
_BRANCHING = frozenset({"If", "Loop", "Scan", "SequenceMap"})


class Value(NamedTuple):
    """One tensor.

    Attributes
    ----------
    type : element type and shape, with the batch, as the package has them.
    numbers : its values where the file has them or they follow from shapes.
    weights : names of the float tensors of the file that it was made of, if of nothing else.
    is_static : whether it is the same for every image.
    """

    type: onnx.TypeProto
    numbers: np.ndarray | None = None
    weights: tuple[str, ...] = ()
    is_static: bool = False

    @property
    def shape(self) -> Shape:
        """All sides."""
        return tuple(side.dim_value for side in self.type.tensor_type.shape.dim)


def read_onnx(stream: BinaryIO, name: str, pixels: int | None) -> Network:
    """Read the network in an ONNX file.

    Weights are passed over, and other files that it names are never opened.
    """
    model = _read_model(stream)
    followed = _Followed(model, pixels)
    size = followed.caveats.square(*followed.image)
    layers = tuple(followed.built)
    kinds = {layer.kind for layer in layers}
    if Kind.NORMALIZATION not in kinds and any("convolution" in kind for kind in kinds):
        followed.caveats.add(
            "It has no normalization: if the exporter folded it into convolutions, a training takes longer"
        )
    producer = model.producer_name
    source = f"ONNX model of {shown(producer)}" if producer else "ONNX model"
    return Network(name, source, layers, count(layers, size, followed.classes), followed.caveats.lines())


def _read_model(stream: BinaryIO) -> onnx.ModelProto:
    """Read the model without its weights."""
    try:
        model = onnx.ModelProto.FromString(_without_weights(WireStream(stream), None, onnx.ModelProto.DESCRIPTOR))
    except (ProfileError, DecodeError):
        raise InputError(_DAMAGED) from None
    if not model.graph.node:
        what = "it has no graph of operators, so it is not an ONNX model"
        raise InputError(f"{what}: export it again; for a SavedModel, model.save('model.keras') is read.")
    if model.graph.sparse_initializer:
        raise InputError("it has sparse tensors, which aren't counted: export it with dense ones.")
    return model


def _without_weights(wire: WireStream, size: int | None, message: Any) -> bytes:
    """Return the next `size` bytes, a message of this descriptor, with the fields that are not too long."""
    kept = bytearray()
    for number, kind, value in wire.entries(size):
        field = message.fields_by_number.get(number)
        if field is None or field.name in _SKIPPED:
            continue
        kept += _varint(number << 3 | kind)
        if kind != LENGTH:
            kept += _varint(value) if kind == VARINT else value.to_bytes(4 if kind == FIXED_32 else 8, "little")
            continue
        data = b""
        if field.message_type is not None:
            data = _without_weights(wire, value, field.message_type)
        elif value <= _MAX_FIELD_BYTES:
            data = wire.read(value)
        kept += _varint(len(data)) + data
    return bytes(kept)


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _tensor(tensor: onnx.TensorProto, name: str = "") -> Value:
    """Return a tensor of the file, with its values where they were kept."""
    sides, is_float = tuple(tensor.dims), tensor.data_type in _FLOAT_TYPES
    if len(sides) > _MAX_DIMENSIONS or min(sides, default=0) < 0:
        raise InputError(f"it has a tensor of a negative size, or more than {_MAX_DIMENSIONS} sides: export it again.")
    numbers = None
    if prod(sides) <= _MAX_FIELD_BYTES:
        try:
            numbers = numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError):
            # Passed over, in another file, or of another number of bytes than its sides ask for.
            numbers = None
    made = helper.make_tensor_type_proto(tensor.data_type, sides)
    return Value(made, numbers, (name,) if is_float else (), is_static=True)


class _Followed:
    """The graph with its shapes known."""

    def __init__(self, model: onnx.ModelProto, pixels: int | None) -> None:
        self.caveats = Caveats()
        self.built = LayerList()
        self.image: tuple[int, int] = (0, 0)
        graph = self._graph = model.graph
        versions = [opset.version for opset in model.opset_import if opset.domain in _DOMAINS]
        latest = defs.onnx_opset_version()
        self._opset = helper.make_opsetid("", max(1, min(versions[0], latest)) if versions else latest)
        self._batch = 1
        self._counted: set[str] = set()
        # Outputs of matrix products, and of the error function with what is added to it.
        self._products: set[str] = set()
        self._errors: set[str] = set()
        self._values: dict[str, Value] = {"": Value(onnx.TypeProto())} | {
            tensor.name: _tensor(tensor, tensor.name) for tensor in graph.initializer
        }
        for port in graph.input:
            if port.name not in self._values:
                self._input(port, pixels)
        if not self.image[0]:
            raise InputError("it has no image as its input: one of batch, channels, height and width is needed.")
        for node in graph.node:
            try:
                self._add(node)
            except InputError as error:
                label = f"operator {shown(node.name or ', '.join(node.output[:1]))} ({shown(node.op_type)})"
                raise InputError(f"{label}: {error}") from None

    @property
    def classes(self) -> int:
        """Width of the first output; channels, if that is an image."""
        for port in self._graph.output:
            if (value := self._values.get(port.name)) is not None and value.shape:
                return value.shape[1 if len(value.shape) == 4 else -1]
        raise InputError("none of its operators has the model's output: export it again.")

    def _input(self, port: onnx.ValueInfoProto, pixels: int | None) -> None:
        if not port.type.tensor_type.HasField("shape"):
            raise InputError(f"its input {shown(port.name)} has no shape: export it with one.")
        # Exporters write 0 or -1 for what is open.
        dimensions = [side.dim_value for side in port.type.tensor_type.shape.dim]
        sides = [side if side > 0 else None for side in dimensions]
        if len(sides) == 4 and not self.image[0]:
            is_last = sides[1] not in _IMAGE_CHANNELS and sides[3] in _IMAGE_CHANNELS
            height, width = sides[1:3] if is_last else sides[2:4]
            channels = sides[3] if is_last else sides[1]
            image = image_sides(height, width, pixels)
            if channels is None:
                raise InputError("it leaves the image's channels open: export it with their number.")
            self.image = image
            whole(channels, "number of channels")
            self._batch = whole(sides[0] or 1, "batch size")
            rest = (*self.image, channels) if is_last else (channels, *self.image)
            shape: Shape = (self._batch, *rest)
        elif any(side is None for side in sides[1:]):
            raise InputError(f"its input {shown(port.name)} leaves its size open: export it with one.")
        else:
            shape = tuple(whole(side, "input's size") for side in (sides[:1] and (sides[0] or 1), *sides[1:]))
        check_shape(shape)
        made = helper.make_tensor_type_proto(port.type.tensor_type.elem_type, shape)
        self._put_out(port.name, Value(made))
        self.built.put(Layer(Kind.INPUT, self._per_image(shape)), name=shown(port.name))

    def _add(self, node: onnx.NodeProto) -> None:
        if node.domain not in _DOMAINS:
            raise InputError(f"operators of {shown(node.domain)} aren't known: export it with ONNX' own.")
        inputs = [self._values.get(name) if name else None for name in node.input]
        for name, value in zip(node.input, inputs, strict=True):
            if name and value is None:
                raise InputError(f"it takes {shown(name)}, which nothing before it puts out.")
        is_static = all(value is None or value.is_static for value in inputs)
        kind = _kind(node.op_type, is_static)
        weights = tuple(dict.fromkeys(name for value in inputs if value is not None for name in value.weights))
        attribute = next((attribute for attribute in node.attribute if attribute.name == "value"), None)
        if node.op_type == "Constant" and attribute is not None and node.output:
            value = _tensor(attribute.t, node.output[0])
            self._put_out(node.output[0], value)
            return
        is_filled = node.op_type == "ConstantOfShape" and (attribute is None or attribute.t.data_type in _FLOAT_TYPES)
        if node.output and is_static and (is_filled or (node.op_type == "Identity" and weights)):
            # PyTorch keeps one of several weights that are alike, as new ones are, and copies it for the others; some
            # files fill their weights with one number.
            weights = (node.output[0],)
        if node.op_type in ("Shape", "Size") or node.op_type not in KINDS:
            # A mask that is written into constants is no weight.
            weights = weights if is_function(node.op_type) else ()
        given = {name: self._values[name] for name in node.input if name}
        try:
            types = self._inferred(node, given)
            numbers = self._numbers(node, given, types)
        except (InputError, MemoryError):
            raise
        except Exception:  # whatever the package raises for an operator that makes no sense
            shapes = ", ".join(shape_text(value.shape) for value in given.values()) or "none"
            raise InputError(f"its inputs, {shapes}, don't fit it: leave the pixels out, or export it again.") from None
        if numbers is not None:
            for name, array in numbers.items():
                made = helper.make_tensor_type_proto(types[name].tensor_type.elem_type, array.shape)
                self._put_out(name, Value(made, array, weights, is_static=True))
            return
        output = check_shape(_shape_of(next(iter(types.values()))))
        if not is_static:
            kind, flops = _work(node, kind, inputs, output)
            is_layer = True
            if kind in (Kind.IDENTITY, Kind.ELEMENTWISE):
                # Of one computed input it is an activation, whatever constants it takes.
                is_one = sum(value is not None and not value.is_static for value in inputs) < 2
                is_view = node.op_type in _VIEWS
                is_layer = kind is Kind.ELEMENTWISE or is_view or bool(self._unseen(weights))
                kind = Kind.ACTIVATION if is_one else Kind.ELEMENTWISE
                if node.op_type == "Softmax" and len(output) > _CLASS_SIDES:
                    kind = Kind.SOFTMAX
                if is_view or self._is_fused(node, inputs):
                    kind = Kind.IDENTITY
            if node.op_type == "MatMul":
                self._products.update(node.output)
            if is_layer:
                self._layer(node, Layer(kind, output, flops=flops), inputs, weights)
        for name, type_ in types.items():
            # Of other outputs than the first, as training's of older normalizations, the shape may be open.
            if type_.tensor_type.HasField("shape"):
                self._put_out(name, Value(type_, None, weights if is_static else (), is_static))

    def _is_fused(self, node: onnx.NodeProto, inputs: Sequence[Value | None]) -> bool:
        """Whether frameworks compute it with what is before it: a product's bias, and the parts of GELU."""
        if node.op_type == "Erf" or (node.op_type == "Add" and any(name in self._errors for name in node.input)):
            self._errors.update(node.output)
        biases = [value for value in inputs if value is not None and value.is_static and len(value.shape) == 1]
        is_bias = node.op_type == "Add" and bool(biases) and any(name in self._products for name in node.input)
        return is_bias or (node.op_type == "Mul" and any(name in self._errors for name in node.input))

    def _inferred(self, node: onnx.NodeProto, given: Mapping[str, Value]) -> dict[str, onnx.TypeProto]:
        """Element types and shapes of the outputs, in their order, from the inputs by name."""
        numbers = {name: value.numbers for name, value in given.items() if value.numbers is not None}
        inferred = shape_inference.infer_node_outputs(
            defs.get_schema(node.op_type, self._opset.version, ""),
            node,
            {name: value.type for name, value in given.items()},
            {name: numpy_helper.from_array(array) for name, array in numbers.items()},
            opset_imports=[self._opset],
        )
        types = {name: inferred[name] for name in node.output if name in inferred}
        shape = next(iter(given.values())).shape if given else ()
        if node.op_type.endswith("Pool") and _attribute(node, "ceil_mode", 0):
            # The package counts a last window that begins behind the image; frameworks leave it out.
            sides = len(shape) - 2
            pads = _attribute(node, "pads", [0] * 2 * sides)
            margins = tuple(zip(pads[:sides], pads[sides:], strict=True))
            dilations = _attribute(node, "dilations", None)
            window = Window(_attribute(node, "kernel_shape", ()), _attribute(node, "strides", None), margins, dilations)
            pooled = (*shape[:2], *window.output(shape[2:], round_up=True))
            types = {
                name: helper.make_tensor_type_proto(type_.tensor_type.elem_type, pooled)
                for name, type_ in types.items()
            }
        if not types:
            raise ValueError
        return types

    def _numbers(
        self, node: onnx.NodeProto, given: Mapping[str, Value], types: Mapping[str, onnx.TypeProto]
    ) -> dict[str, np.ndarray] | None:
        """Return the values of the outputs where those of all inputs are known and few; None if not."""
        if node.op_type in ("Shape", "Size"):
            # Of these the shape is enough; an array of one byte, whatever its shape, has it.
            given = {
                name: value._replace(numbers=np.broadcast_to(np.int8(0), value.shape)) for name, value in given.items()
            }
        is_known = all(value.numbers is not None for value in given.values())
        if not is_known or prod(_shape_of(next(iter(types.values())))) > _MAX_CONSTANT:
            return None
        function = helper.make_function("", "constant", list(given), list(types), [node], [self._opset])
        feeds = {name: value.numbers for name, value in given.items()}
        with np.errstate(all="ignore"):
            arrays = ReferenceEvaluator(function).run(None, feeds, attributes={})
        return {name: np.asarray(array) for name, array in zip(types, arrays, strict=True)}

    def _layer(
        self, node: onnx.NodeProto, batch: Layer, inputs: Sequence[Value | None], weights: tuple[str, ...]
    ) -> None:
        """Add the layer of one image, by that of a batch, with the weights that no layer had so far."""
        unseen = self._unseen(weights)
        self._counted.update(unseen)
        parameters = sum(unseen.values())
        averages = 0
        if node.op_type == "BatchNormalization":
            kept = {name for value in inputs[3:5] if value is not None for name in value.weights}
            averages = sum(size for name, size in unseen.items() if name in kept)
        flops = -(-batch.flops // self._batch)
        is_read = batch.kind is Kind.DENSE or node.op_type.startswith("Conv")
        first = inputs[0].shape if is_read and inputs[0] is not None else ()
        channels = (0, 0)
        if node.op_type.startswith("Conv"):
            groups = _attribute(node, "group", 1)
            channels = first[1] // groups, batch.output[1] // groups
        per_image = Layer(
            batch.kind,
            self._per_image(batch.output),
            parameters,
            parameters - averages,
            flops,
            input_elements=prod(first) // self._batch if first else 0,
            channels=channels,
        )
        self.built.put(per_image, name=shown(node.name or node.op_type))

    def _unseen(self, weights: tuple[str, ...]) -> dict[str, int]:
        """Values of the weights that no layer had so far; a single number is a constant, no weight."""
        sizes = {name: prod(self._values[name].shape) for name in weights if name not in self._counted}
        return {name: size for name, size in sizes.items() if size > 1}

    def _put_out(self, name: str, value: Value) -> None:
        if name in self._values and name:
            raise InputError(f"two operators put out {shown(name)}: export it again.")
        self._values[name] = value

    def _per_image(self, shape: Shape) -> Shape:
        """Return a shape without the batch, which may have been split or put into another side."""
        if not shape or shape[0] == self._batch:
            return shape[1:]
        return (shape[0] // self._batch, *shape[1:]) if shape[0] % self._batch == 0 else shape


def _kind(operator: str, is_static: bool) -> Kind:
    """Return the kind of layer that an operator is; identity without computation.

    Raises
    ------
    InputError : it isn't counted.
    """
    if operator in ("LSTM", "GRU", "RNN"):
        raise InputError(no_vision("the network is no vision network", "it has recurrent layers", "Give one"))
    if operator in KINDS:
        return KINDS[operator]
    if is_function(operator):
        return Kind.ELEMENTWISE
    # What is computed once, of nothing that depends on the image, is no layer, whatever it is.
    if is_static and operator not in _BRANCHING:
        return Kind.IDENTITY
    raise InputError("this operator isn't counted: export the model with others, or write a layer table.")


def _shape_of(type_: onnx.TypeProto) -> Shape:
    """Return the shape of an operator's output.

    Raises
    ------
    InputError : it is open, or makes no sense.
    """
    tensor = type_.tensor_type
    if not tensor.HasField("shape") or any(not side.HasField("dim_value") for side in tensor.shape.dim):
        raise InputError(_AT_RUN_TIME)
    return tuple(side.dim_value for side in tensor.shape.dim)


def _work(node: onnx.NodeProto, kind: Kind, inputs: Sequence[Value | None], output: Shape) -> tuple[Kind, int]:
    """Kind and FLOPs of an operator on a batch."""
    shapes = [() if value is None else value.shape for value in inputs]
    match node.op_type:
        case "Conv" | "ConvTranspose":
            return _convolution(node, shapes[0], shapes[1], output)
        case "Gemm" | "MatMul":
            return _product(node, inputs, output)
        case "Reshape" if prod(output) != prod(shapes[0]):
            values, target = shape_text(shapes[0]), shape_text(output)
            raise InputError(f"{values} values don't fill {target}: other pixels than its own?")
        case operator if operator.startswith("Reduce"):
            # Over an image's sides it is pooling, as some exporters write it.
            axes = _attribute(node, "axes", None)
            if axes is None and len(inputs) > 1 and inputs[1] is not None and inputs[1].numbers is not None:
                axes = inputs[1].numbers.ravel()
            return (Kind.POOLING if len(shapes[0]) == 4 and axes is not None and len(axes) == 2 else kind), 0
        case operator if operator in _SCALING and len(inputs) > 1:
            moving = [value for value in inputs if value is not None and prod(value.shape) > 1]
            return (Kind.IDENTITY if len(moving) == 1 and not moving[0].is_static else kind), 0
    return kind, 0


def _attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    """Return an attribute's value."""
    given = next((attribute for attribute in node.attribute if attribute.name == name), None)
    return default if given is None else helper.get_attribute_value(given)


def _convolution(node: onnx.NodeProto, shape: Shape, weight: Shape, output: Shape) -> tuple[Kind, int]:
    groups, is_transposed = _attribute(node, "group", 1), node.op_type == "ConvTranspose"
    if len(shape) < 3 or len(weight) != len(shape) or min(weight) < 1 or not 1 <= groups <= MAX_SETTING:
        raise InputError("its weights don't fit an image of so many sides.")
    channels = weight[0] if is_transposed else weight[1] * groups
    if channels != shape[1]:
        raise InputError(f"its weights are for {channels:,} channels, and it gets {shape[1]:,}.")
    if channels % groups or output[1] % groups:
        raise InputError(f"{channels:,} channels and {output[1]:,} filters don't divide into {groups:,} groups.")
    kind = Kind.CONVOLUTION if is_transposed else convolution_kind(weight[2:], channels, groups)
    # Each value of the input is multiplied with the whole kernel, or each of the output is the sum of as many products.
    return kind, 2 * prod(weight) * shape[0] * prod((shape if is_transposed else output)[2:])


def _product(node: onnx.NodeProto, inputs: Sequence[Value | None], output: Shape) -> tuple[Kind, int]:
    first, second = inputs[:2]
    assert first is not None and second is not None
    if min(len(first.shape), len(second.shape)) < 2:
        raise InputError("it does not multiply matrices.")
    inner = first.shape[-2 if _attribute(node, "transA", 0) else -1]
    is_dense = node.op_type == "Gemm" or first.is_static or second.is_static
    return Kind.DENSE if is_dense else Kind.PRODUCT, 2 * prod(output) * inner
