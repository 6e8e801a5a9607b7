"""Work of a transformer's forward pass by the shapes that PyTorch's profiler records (`record_shapes=True`)."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from profet_profiles.record import TransformerWork

if TYPE_CHECKING:
    import numpy as np

    from profet_profiles.intervals import FloatArray

Shape = Sequence[int]
_MAX_DIMENSIONS, _MAX_SIDE = 8, 10**9
#: Values of a step's tensor; larger ones are no sizes.
_MAX_VALUES = 10**13

_FUSED_ATTENTION = re.compile(r"aten::_scaled_dot_product_(?:flash|efficient|cudnn|fused)_attention(?!\w*backward)")
_NORMALIZATIONS = frozenset(
    f"aten::{name}"
    for name in (
        *("native_layer_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "native_group_norm"),
        *("_fused_rms_norm", "rms_norm"),
    )
)
_FUNCTIONS = frozenset(
    f"aten::{name}"
    for name in [
        "gelu",
        "relu",
        "relu_",
        "silu",
        "silu_",
        "hardswish",
        "sigmoid",
        "tanh",
        "leaky_relu",
        "elu",
        "mish",
        "native_dropout",
        "pow",
        "exp",
    ]
)
_SUMS = frozenset(f"aten::{name}" for name in ["add", "add_", "mul", "mul_", "sub", "div", "div_"])
_COPIES = frozenset(f"aten::{name}" for name in ["copy_", "cat", "roll", "index", "constant_pad_nd"])
_POOLS = frozenset(
    f"aten::{name}" for name in ["mean", "avg_pool2d", "max_pool2d_with_indices", "_adaptive_avg_pool2d"]
)
_GRADIENT = "torch::autograd::AccumulateGrad"
_EMBEDDING, _CONVOLUTION = "aten::embedding", "aten::convolution"
_PRODUCTS = {"aten::mm": 0, "aten::addmm": 1, "aten::bmm": 0, "aten::baddbmm": 1}


def tells_work(name: str) -> bool:
    """Whether the shapes of an operation's inputs tell work."""
    return (
        name in _PRODUCTS
        or name in _NORMALIZATIONS
        or name in _FUNCTIONS
        or name in _SUMS
        or name in _COPIES
        or name in _POOLS
        or name in (_GRADIENT, _EMBEDDING, _CONVOLUTION, "aten::_softmax")
        or _FUSED_ATTENTION.match(name) is not None
    )


class _Row(NamedTuple):
    """Work of one operation.

    Attributes
    ----------
    field : of `TransformerWork`, that its values belong to.
    side : of a product of two matrices, or of a softmax, how many tokens see each other; of a convolution, its stride.
    """

    field: str
    values: float
    flops: float = 0.0
    read: float = 0.0
    side: float = 0.0


def _shapes(dims: object) -> list[Shape] | None:
    """Input shapes, those in lists too; None if they aren't ones."""
    if not isinstance(dims, list):
        return None
    shapes: list[Shape] = []
    for entry in dims:
        if not isinstance(entry, list) or len(entry) > 1_000:
            return None
        shapes += entry if entry and all(isinstance(dim, list) for dim in entry) else [entry]
    for shape in shapes:
        if len(shape) > _MAX_DIMENSIONS or not all(type(side) is int and 0 <= side < _MAX_SIDE for side in shape):
            return None
        if math.prod(shape) > _MAX_VALUES:
            return None
    return shapes


def _row(name: str, dims: object, concrete: object) -> _Row | None:
    """Return the work of an operation of the forward pass, or of summing a gradient."""
    if not (shapes := _shapes(dims)):
        return None
    sizes, first = [math.prod(shape) if shape else 0 for shape in shapes], shapes[0]
    if name in _PRODUCTS:
        pair = shapes[_PRODUCTS[name] :][:2]
        sides = 3 if name.endswith("bmm") else 2
        if len(pair) < 2 or not all(len(side) == sides for side in pair):
            return None
        left, right = pair
        values = math.prod(left[:-1]) * right[-1]
        flops, read = 2.0 * values * left[-1], float(math.prod(left))
        if sides == 2:
            return _Row("dense", values, flops, read)
        return _Row("product", values, flops, side=sorted((left[-2], left[-1], right[-1]))[-2])
    if _FUSED_ATTENTION.match(name):
        if len(shapes) < 2 or not len(first) == len(shapes[1]) == 4:
            return None
        scores = math.prod(first[:3]) * shapes[1][2]
        return _Row("fused", sizes[0], 4.0 * scores * first[3], scores, side=min(first[2], shapes[1][2]))
    if name == _CONVOLUTION:
        return _convolution(shapes, concrete)
    if name == "aten::_softmax":
        return _Row("score", sizes[0], side=first[-1]) if len(first) > 2 else None
    if name == _EMBEDDING:
        return _Row("vocabulary", first[0]) if first else None
    if name == _GRADIENT:
        return _Row("dense_parameters" if len(first) == 2 else "parameters", max(sizes[0], 1))
    if name in _NORMALIZATIONS:
        return _Row("normalization", sizes[0])
    if name in _POOLS:
        return _Row("pooling", sizes[0])
    if name in _FUNCTIONS:
        return _Row("activation", sizes[0])
    if name == "aten::cat":
        return _Row("copies", sum(sizes))
    if name in _COPIES:
        return _Row("copies", sizes[0])
    return _Row("elementwise" if sum(size > 0 for size in sizes[:2]) > 1 else "activation", max(sizes[:2]))


def _convolution(shapes: Sequence[Shape], concrete: object) -> _Row | None:
    """Stride and padding stand among the concrete inputs; without them patches, which don't overlap, are assumed."""
    if len(shapes) < 2 or not len(shapes[0]) == len(shapes[1]) == 4 or not all(shapes[1]):
        return None
    (batch, channels, *image), (filters, within, *kernel) = shapes[:2]
    texts = concrete if isinstance(concrete, list) else []

    def pair(place: int, otherwise: Sequence[int]) -> Sequence[int]:
        text = texts[place] if place < len(texts) else None
        numbers = [int(number) for number in re.findall(r"\d{1,4}", text)] if isinstance(text, str) else []
        return numbers if len(numbers) == 2 and all(number >= 0 for number in numbers) else otherwise

    stride, padding = pair(3, kernel), pair(4, (0, 0))
    if not all(stride):
        return None
    output = [
        (side + 2 * pad - size) // step + 1
        for side, pad, size, step in zip(image, padding, kernel, stride, strict=True)
    ]
    values = batch * filters * math.prod(max(side, 1) for side in output)
    is_spatial = math.prod(kernel) > 1
    flops, read = 2.0 * values * within * math.prod(kernel), float(batch * channels * math.prod(image))
    return _Row("convolution" if is_spatial else "pointwise", values, flops, read, side=stride[0])


_FIELDS = (
    *("convolution", "pointwise", "dense", "product", "fused", "score", "normalization", "activation"),
    *("elementwise", "pooling", "copies", "parameters", "dense_parameters", "vocabulary"),
)
_NUMBERS = {name: number for number, name in enumerate(_FIELDS)}


class ShapeRows:
    """Work of the operations of a trace, in columns."""

    def __init__(self) -> None:
        self._begins, self._fields, self._values = array("d"), array("b"), array("d")

    def add(self, begin_us: float, name: str, dims: object, concrete: object) -> None:
        """Keep an operation that `tells_work`."""
        row = _row(name, dims, concrete)
        if row is not None:
            self._begins.append(begin_us)
            self._fields.append(_NUMBERS[row.field])
            self._values.extend((row.values, row.flops, row.read, row.side))

    def work(
        self, counts: Callable[[FloatArray], np.ndarray], is_forward: Callable[[FloatArray], np.ndarray], steps: int
    ) -> TransformerWork | None:
        """Return the mean step's work; None where convolutions mix the pixels, or no shape tells any.

        Parameters
        ----------
        counts, is_forward : of starts, whether they lie in a step that counts, and in its forward pass.
        """
        import numpy as np  # late: most files need none

        begins, kinds = np.frombuffer(self._begins), np.frombuffer(self._fields, np.int8)
        values = np.frombuffer(self._values).reshape(-1, 4)
        kept = counts(begins)
        of_gradient = np.isin(kinds, [_NUMBERS["parameters"], _NUMBERS["dense_parameters"]])
        kept &= of_gradient | is_forward(begins)
        kinds, values = kinds[kept], values[kept]

        def rows(*names: str) -> np.ndarray:
            return np.isin(kinds, [_NUMBERS[name] for name in names])

        def total(column: int, *names: str) -> float:
            return float(values[rows(*names), column].sum()) / steps

        spatial = rows("convolution")
        if not rows("dense", "product", "fused").any() or spatial.sum() > steps:
            return None
        patch = int(values[spatial, 3].max(initial=0.0))
        products, fused = rows("product"), rows("fused")
        return TransformerWork(
            convolution_flops=total(1, "convolution", "pointwise"),
            dense_flops=total(1, "dense"),
            product_flops=total(1, "product", "fused"),
            convolution_outputs=total(0, "convolution", "pointwise"),
            dense_outputs=total(0, "dense"),
            product_outputs=total(0, "product", "fused"),
            inputs=total(2, "convolution", "pointwise", "dense"),
            normalization=total(0, "normalization"),
            # Scores that no kernel fuses stay in memory, whatever the GPU.
            activation=total(0, "activation", "score"),
            score=total(2, "fused"),
            elementwise=total(0, "elementwise"),
            pooling=total(0, "pooling"),
            copies=total(0, "copies"),
            operations=float((~rows("parameters", "dense_parameters", "vocabulary")).sum()) / steps,
            products=float(products.sum() + 2 * fused.sum()) / steps,
            attended=float(values[products | fused | rows("score"), 3].max(initial=0.0)),
            parameters=total(0, "parameters", "dense_parameters"),
            dense_parameters=total(0, "dense_parameters"),
            vocabulary=float(values[rows("vocabulary"), 0].max(initial=0.0)),
            patch=float(patch),
        )
