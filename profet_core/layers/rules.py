"""The rules of counting: each kind of layer from its input's shape and its settings to what it is and takes.

`KINDS` has a rule for every class of Keras, `TABLE_KINDS` what layer tables call them. Each rule raises `InputError`, a
line that a layer's name can stand before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from operator import mul
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from profet_core.errors import InputError
from profet_core.layers.network import (
    MAX_DIMENSIONS,
    MAX_ELEMENTS,
    Kind,
    Layer,
    Shape,
    elements,
    shape_text,
    shown,
    whole,
)

#: What is added around an input: as little as keeps ceil(size / stride), nothing, or (before, after) for each side.
Padding = Literal["same", "valid"] | tuple[tuple[int, int], ...]


def broadcast(first: Shape, second: Shape) -> Shape:
    """Return the shape of an elementwise operation on both, as numpy has it: aligned at the last side, 1 fits any."""
    if first == second:
        return first
    length = max(len(first), len(second))
    pairs = zip((1,) * (length - len(first)) + first, (1,) * (length - len(second)) + second, strict=True)
    sides = []
    for size, other in pairs:
        if size != other and 1 not in (size, other):
            raise InputError(f"its inputs, {shape_text(first)} and {shape_text(second)}, don't fit each other.")
        sides.append(other if size == 1 else size)
    return tuple(sides)


class Window(NamedTuple):
    """What moves over an image, side by side: convolution and pooling. Strides and dilation None: 1."""

    kernel: Shape
    strides: Shape | None = None
    padding: Padding = "valid"
    dilation: Shape | None = None

    def output(self, sides: Shape, round_up: bool = False) -> Shape:
        """Output sides of an image with these sides."""
        output = []
        for axis, side in enumerate(sides):
            stride, width = self._at(axis)
            if self.padding == "same":
                output.append(-(-side // stride))
                continue
            before, after = (0, 0) if self.padding == "valid" else self.padding[axis]
            room = side + before + after - width
            count = -(-room // stride) + 1 if round_up else room // stride + 1
            # The last window has to start inside the input or in the padding before it.
            if round_up and (count - 1) * stride >= side + before:
                count -= 1
            output.append(count if room >= 0 else 0)
        return tuple(output)

    def transposed_output(self, sides: Shape, extra: Shape | None = None) -> Shape:
        """Return the same of a transposed convolution; `extra` is the output padding, None for Keras' own."""
        output = []
        for axis, side in enumerate(sides):
            stride, width = self._at(axis)
            if extra is None:
                output.append(side * stride if self.padding == "same" else side * stride + max(width - stride, 0))
                continue
            before, after = self.padding[axis] if isinstance(self.padding, tuple) else (0, 0)
            output.append((side - 1) * stride + width - before - after + extra[axis])
        return tuple(output)

    def _at(self, axis: int) -> tuple[int, int]:
        """Stride, and the width that the kernel spans with its gaps."""
        dilation = self.dilation[axis] if self.dilation else 1
        return self.strides[axis] if self.strides else 1, (self.kernel[axis] - 1) * dilation + 1


def convolution(shape: Shape, filters: int, window: Window, groups: int = 1, bias: bool = True) -> Layer:
    """Count a convolution over all sides but the channels; one filter or more for each channel is a depthwise one."""
    sides, _ = _image(shape, window.kernel)
    return _convolved(shape, (*window.output(sides), filters), window.kernel, groups, bias)


def convolution_kind(kernel: Shape, channels: int, groups: int) -> Kind:
    """Return the kind of a convolution of an image with so many channels."""
    if groups > 1:
        return Kind.DEPTHWISE if groups == channels else Kind.GROUPED
    return Kind.POINTWISE if prod(kernel) == 1 else Kind.CONVOLUTION


def _convolved(
    shape: Shape, output: Shape, kernel: Shape, groups: int, bias: bool, *, is_transposed: bool = False
) -> Layer:
    channels, filters = shape[-1], output[-1]
    if channels % groups or filters % groups:
        raise InputError(f"{channels:,} channels and {filters:,} filters don't divide into {groups:,} groups.")
    weights = prod(kernel) * (channels // groups) * filters
    parameters = weights + (filters if bias else 0)
    return Layer(
        Kind.CONVOLUTION if is_transposed else convolution_kind(kernel, channels, groups),
        output,
        parameters,
        parameters,
        2 * weights * prod((shape if is_transposed else output)[:-1]),
        input_elements=elements(shape),
        channels=(channels // groups, filters // groups),
    )


def dense(shape: Shape, units: int, *, bias: bool = True) -> Layer:
    """Return a dense layer on the last side; the others are positions that share its weights."""
    if not shape:
        raise InputError("a dense layer needs features, and its input has none.")
    weights = shape[-1] * units
    parameters = weights + (units if bias else 0)
    flops = 2 * weights * prod(shape[:-1])
    return Layer(Kind.DENSE, (*shape[:-1], units), parameters, parameters, flops, input_elements=elements(shape))


def product(output: Shape, inner: int) -> Layer:
    """Return a product of two matrices that the network computes, as attention has it, over `inner` values each."""
    return Layer(Kind.PRODUCT, output, flops=2 * inner * elements(output))


def global_pooling(shape: Shape, *, keep_sides: bool = False) -> Layer:
    """Pooling over all of the image."""
    if len(shape) < 2:
        raise InputError(f"global pooling needs an image, and its input is {shape_text(shape)}.")
    return Layer(Kind.POOLING, ((1,) * (len(shape) - 1) if keep_sides else ()) + shape[-1:])


def elementwise(*shapes: Shape, parameters: int = 0, trainable: int | None = None) -> Layer:
    """Activations, dropout and scales of one input; sums and products of several: a value for each of the inputs'."""
    if not shapes:
        raise InputError("it has no input.")
    output = shapes[0]
    for shape in shapes[1:]:
        output = broadcast(output, shape)
    kind = Kind.ELEMENTWISE if len(shapes) > 1 else Kind.ACTIVATION
    return Layer(kind, output, parameters, parameters if trainable is None else trainable)


def resized(output: Shape) -> Layer:
    """Anything that computes nothing we count and puts out this shape: resizing, padding, choosing."""
    return Layer(Kind.SHAPING, output)


def _image(shape: Shape, kernel: Shape) -> tuple[Shape, int]:
    """Sides and channels of an image with as many sides as the kernel has."""
    if len(shape) != len(kernel) + 1:
        raise InputError(f"it needs an image of {len(kernel)} sides and channels, its input is {shape_text(shape)}.")
    if elements(shape) > MAX_ELEMENTS or min(shape) < 1:
        raise InputError(f"its input of {shape_text(shape)} makes no sense.")
    return shape[:-1], shape[-1]


# --- kinds of layers --------------------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """The settings of one layer as Keras names them; methods raise `InputError` for what is missing or senseless.

    Attributes
    ----------
    names : what the file calls a setting, where that is something else.
    """

    values: Mapping[str, Any]
    names: Mapping[str, str] = MappingProxyType({})

    def whole(self, key: str, least: int = 1, default: int | None = None) -> int:
        """Return a whole number."""
        return whole(self.values.get(key, default), self.names.get(key, key), least)

    def wholes(self, key: str, length: int, default: int | None = None, least: int = 1) -> Shape:
        """So many whole numbers; one number stands for all, `default` if missing."""
        value, name = self.values.get(key), self.names.get(key, key)
        value = default if value is None else value
        values = value if isinstance(value, list) else [value] * length
        if len(values) != length:
            raise InputError(f"its {name} has {len(values):,} numbers, {length} are needed.")
        return tuple(whole(number, name, least) for number in values)

    def flag(self, key: str, default: bool) -> bool:
        """Return True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise InputError(f"its {self.names.get(key, key)} is neither true nor false.")
        return value

    def window(self) -> Window:
        """Return what a convolution moves over an image."""
        kernel, strides = self.wholes("kernel_size", 2), self.wholes("strides", 2, 1)
        return Window(kernel, strides, self.padding(), self.wholes("dilation_rate", 2, 1))

    def padding(self) -> Padding:
        """Return "same", "valid" (the default), or how much on each side."""
        value = self.values.get("padding", "valid")
        if isinstance(value, list):
            return self.margins("padding")
        match value.lower() if isinstance(value, str) else value:
            case "same":
                return "same"
            case "valid":
                return "valid"
        raise InputError(f"its padding is {shown(value)}: same and valid are known.")

    def margins(self, key: str) -> tuple[tuple[int, int], ...]:
        """(before, after) of height and width: one number, one a side, or two a side."""
        value = self.values.get(key)
        sides = value if isinstance(value, list) else [value] * 2
        if len(sides) != 2:
            raise InputError(f"its {key} has {len(sides):,} sides, 2 are needed.")
        pairs = [side if isinstance(side, list) else [side, side] for side in sides]
        if any(len(pair) != 2 for pair in pairs):
            raise InputError(f"its {key} has sides of other than two numbers.")
        return tuple((whole(pair[0], key, 0), whole(pair[1], key, 0)) for pair in pairs)

    def axis(self, value: Any, shape: Shape) -> int:
        """Return the side that an axis is, which a file counts with the batch."""
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < abs(value) <= len(shape):
            raise InputError(f"its axis doesn't fit an input of {shape_text(shape)}.")
        return value - 1 if value > 0 else value % len(shape)

    def features(self, shape: Shape) -> int:
        """How many values the sides have that a normalization works on."""
        axes = self.values.get("axis", -1)
        sides = {self.axis(axis, shape) for axis in (axes if isinstance(axes, list) else [axes])}
        return elements(tuple(shape[side] for side in sides))


#: From settings and the inputs' shapes to the layers that it is: one, or several that work one after another.
Rule = Callable[[Settings, tuple[Shape, ...]], Layer | list[Layer]]


def apply_rule(kind: str, settings: Settings, shapes: tuple[Shape, ...]) -> list[Layer]:
    """Return the layers that one of a file is; `kind` is one of `KINDS`."""
    made = KINDS[kind](settings, shapes)
    layers = made if isinstance(made, list) else [made]
    if settings.values.get("activation") not in (None, "linear") and layers[-1].flops:
        layers[-1] = replace(layers[-1], is_activated=True)
    return layers


def _of_one(rule: Callable[[Settings, Shape], Layer | list[Layer]]) -> Rule:
    """Return the rule of a kind that has one input."""

    def only(settings: Settings, shapes: tuple[Shape, ...]) -> Layer | list[Layer]:
        if len(shapes) != 1:
            raise InputError(f"it has {len(shapes):,} inputs, 1 is needed.")
        return rule(settings, shapes[0])

    return only


def _convolution(settings: Settings, shape: Shape) -> Layer:
    filters, groups = settings.whole("filters"), settings.whole("groups", default=1)
    return convolution(shape, filters, settings.window(), groups, settings.flag("use_bias", True))


def _depthwise(settings: Settings, shape: Shape) -> Layer:
    channels = shape[-1] if shape else 1
    filters = settings.whole("filters", default=channels * settings.whole("depth_multiplier", default=1))
    return convolution(shape, filters, settings.window(), channels, settings.flag("use_bias", True))


def _separable(settings: Settings, shape: Shape) -> list[Layer]:
    """Return a depthwise convolution, and one of a pixel that has the bias."""
    values = {**settings.values, "use_bias": False}
    filters = values.pop("filters", None)
    first = _depthwise(Settings(values), shape)
    pointwise = Settings({"filters": filters, "kernel_size": 1, "use_bias": settings.flag("use_bias", True)})
    return [first, _convolution(pointwise, first.output)]


def _transposed(settings: Settings, shape: Shape) -> Layer:
    """Return a transposed convolution: each input value is multiplied with the whole kernel."""
    filters, window, extra = settings.whole("filters"), settings.window(), None
    if settings.values.get("output_padding") is not None:
        extra = settings.wholes("output_padding", 2, least=0)
        if window.padding == "same":
            # With an output padding Keras takes half the window away on each side, not what keeps the size.
            halves = [window._at(axis)[1] // 2 for axis in range(2)]
            window = window._replace(padding=tuple((half, half) for half in halves))
    elif isinstance(window.padding, tuple):
        extra = (0, 0)
    groups, bias = settings.whole("groups", default=1), settings.flag("use_bias", True)
    sides, _ = _image(shape, window.kernel)
    output = (*window.transposed_output(sides, extra), filters)
    return _convolved(shape, output, window.kernel, groups, bias, is_transposed=True)


def _pooling(settings: Settings, shape: Shape) -> Layer:
    size = settings.wholes("pool_size", 2)
    strides = size if settings.values.get("strides") is None else settings.wholes("strides", 2)
    sides, channels = _image(shape, size)
    return Layer(Kind.POOLING, (*Window(size, strides, settings.padding()).output(sides), channels))


def _norm(settings: Settings, shape: Shape, kind: str = "layer") -> Layer:
    """Return a normalization; a batch's keeps running averages, which have no gradient."""
    if not shape:
        raise InputError("a normalization needs features, and its input has none.")
    if kind == "batch":
        features = shape[settings.axis(settings.values.get("axis", -1), shape)]
    else:
        features = settings.features(shape)
    weights = 1
    if kind == "batch" or (kind == "layer" and not settings.flag("rms_scaling", False)):
        weights = settings.flag("scale", True) + settings.flag("center", True)
    trainable = weights * features
    return Layer(Kind.NORMALIZATION, shape, trainable + 2 * features * (kind == "batch"), trainable)


def _prelu(settings: Settings, shape: Shape) -> Layer:
    shared = settings.values.get("shared_axes") or []
    if not isinstance(shared, list):
        raise InputError("its shared_axes don't fit its input.")
    sides = {settings.axis(axis, shape) for axis in shared}
    weights = elements(tuple(1 if side in sides else size for side, size in enumerate(shape)))
    return elementwise(shape, parameters=weights)


def _scale(_: Settings, shape: Shape) -> Layer:
    """Each channel times a weight of its own."""
    weights = shape[-1] if shape else 1
    return Layer(Kind.ELEMENTWISE, shape, weights, weights)


def _input_normalization(settings: Settings, shape: Shape) -> Layer:
    if settings.values.get("mean") is not None:
        return elementwise(shape)
    # No axis: one mean for all, which Keras writes as an empty list.
    features = 1 if settings.values.get("axis", -1) is None else settings.features(shape)
    # Mean, variance, and how many values they were made from.
    return elementwise(shape, parameters=2 * features + 1, trainable=0)


def _reshape(settings: Settings, shape: Shape) -> Layer:
    """Return the same values in another shape; one side may be -1, which is what is left."""
    sides = settings.values.get("target_shape")
    if not isinstance(sides, list) or len(sides) > MAX_DIMENSIONS:
        raise InputError("its target_shape is missing.")
    target = tuple(-1 if side in (-1, None) else whole(side, "target_shape") for side in sides)
    rest = prod(side for side in target if side != -1)
    if target.count(-1) == 1 and elements(shape) % rest == 0:
        target = tuple(elements(shape) // rest if side == -1 else side for side in target)
    if min(target, default=1) < 1 or elements(target) != elements(shape):
        raise InputError(f"{shape_text(shape)} values don't fill {shape_text(target)}: other pixels than its own?")
    return Layer(Kind.SHAPING, target)


def _operation_reshape(settings: Settings, shape: Shape) -> Layer:
    """`keras.ops.reshape`, whose shape has the batch."""
    target = settings.values.get("newshape")
    if not isinstance(target, list) or not 2 <= len(target) <= MAX_DIMENSIONS + 1 or target[0] not in (-1, None):
        raise InputError("it reshapes a batch other than image by image, which isn't counted: reshape with -1 first.")
    return _reshape(Settings({"target_shape": target[1:]}), shape)


def _transpose(settings: Settings, shape: Shape) -> Layer:
    """`keras.ops.transpose`, whose axes have the batch, which has to stay first."""
    axes = settings.values.get("axes")
    if not isinstance(axes, list) or axes[:1] != [0]:
        raise InputError("it moves the batch, which isn't counted: transpose with axis 0 first.")
    return _permute(Settings({"dims": axes[1:]}), shape)


def _permute(settings: Settings, shape: Shape) -> Layer:
    """Return the sides in another order, counted from 1."""
    order = settings.wholes("dims", len(shape))
    if sorted(order) != list(range(1, len(shape) + 1)):
        raise InputError(f"its order doesn't fit an input of {shape_text(shape)}.")
    return Layer(Kind.SHAPING, tuple(shape[side - 1] for side in order))


def _margins(settings: Settings, shape: Shape, key: str = "padding", sign: int = 1) -> Layer:
    """(before, after) added to height and width, or taken away."""
    margins = settings.margins(key)
    if len(margins) != len(shape) - 1:
        raise InputError(f"padding of {len(margins)} sides doesn't fit an input of {shape_text(shape)}.")
    sides = [side + sign * sum(margin) for side, margin in zip(shape, margins, strict=False)]
    return resized((*sides, shape[-1]))


def _upsampling(settings: Settings, shape: Shape) -> Layer:
    factors = settings.wholes("size", 2, 2)
    sides, channels = _image(shape, factors)
    return resized((*map(mul, sides, factors), channels))


def _resizing(settings: Settings, shape: Shape) -> Layer:
    if len(shape) != 3:
        raise InputError(f"it needs an image, and its input is {shape_text(shape)}.")
    return resized((settings.whole("height"), settings.whole("width"), shape[-1]))


def _squeeze_excite(settings: Settings, shape: Shape) -> list[Layer]:
    """Channels weighed: pooled, two 1 x 1 convolutions with activations, and multiplied to each channel."""
    bias, squeezed = settings.flag("use_bias", True), settings.whole("filters")
    pooled = global_pooling(shape, keep_sides=True)
    first = convolution(pooled.output, squeezed, Window((1, 1)), bias=bias)
    second = convolution(first.output, shape[-1], Window((1, 1)), bias=bias)
    functions = [elementwise(layer.output) for layer in (first, second)]
    return [pooled, first, functions[0], second, functions[1], elementwise(shape, second.output)]


def _elementwise(_: Settings, shapes: tuple[Shape, ...]) -> Layer:
    return elementwise(*shapes)


def _identity(_: Settings, shape: Shape) -> Layer:
    return Layer(Kind.IDENTITY, shape)


def _function(settings: Settings, shape: Shape) -> Layer:
    """Return an activation, or dropout of values; of whole images that is stochastic depth."""
    kept = settings.values.get("noise_shape")
    is_depth = isinstance(kept, list) and len(kept) > 1 and all(side == 1 for side in kept[1:])
    return (
        _identity(settings, shape) if is_depth or settings.values.get("activation") == "linear" else elementwise(shape)
    )


def _concatenate(settings: Settings, shapes: tuple[Shape, ...]) -> Layer:
    """Layers side by side along one side, the last one as a rule."""
    if not shapes:
        raise InputError("it has nothing to put together.")
    at = settings.axis(settings.values.get("axis", -1), shapes[0])
    rest = {(len(shape), *shape[:at], *shape[at + 1 :]) for shape in shapes}
    if len(rest) != 1:
        raise InputError("its inputs don't fit each other: " + ", ".join(map(shape_text, shapes[:4])) + ".")
    return resized((*shapes[0][:at], sum(shape[at] for shape in shapes), *shapes[0][at + 1 :]))


def _attention(settings: Settings, shapes: tuple[Shape, ...]) -> list[Layer]:
    """Multi-head attention as its four projections and two products, and perhaps a gate; query, value, perhaps key."""
    if not 1 <= len(shapes) <= 3 or any(len(shape) != 2 for shape in shapes):
        raise InputError("it needs sequences of vectors.")
    query, value = shapes[0], shapes[min(1, len(shapes) - 1)]
    key = shapes[2] if len(shapes) == 3 else value
    heads, key_width = settings.whole("num_heads"), settings.whole("key_dim")
    value_width = key_width if settings.values.get("value_dim") is None else settings.whole("value_dim")
    output = query[-1] if settings.values.get("output_shape") is None else settings.wholes("output_shape", 1)[0]
    bias = settings.flag("use_bias", True)
    attended = (query[0], heads * value_width)
    gate = [dense(query, attended[-1], bias=bias), elementwise(attended)]
    return [
        dense(query, heads * key_width, bias=bias),
        dense(key, heads * key_width, bias=bias),
        dense(value, heads * value_width, bias=bias),
        product((heads, query[0], key[0]), key_width),
        Layer(Kind.SOFTMAX, (heads, query[0], key[0])),
        product(attended, key[0]),
        *(gate if settings.flag("use_gate", False) else []),
        dense(attended, output, bias=bias),
    ]


#: Functions of one tensor, and sums and products of several, of all formats: in small letters, without "_" and without
#: their module.
_FUNCTION_NAMES = """
relu relu6 leakyrelu prelu elu selu celu thresholdedrelu sigmoid hardsigmoid logsigmoid tanh hardtanh softmax
logsoftmax hardmax softplus softsign silu hardsilu swish hardswish mish gelu erf exp log reciprocal round sign sin
cos clip clipbyvalue abs absolute negative power pow sqrt rsqrt square cast isnan identity converttotensor lrn
dropout spatialdropout2d alphadropout gaussiandropout gaussiannoise bernoulli randomuniformlike randomnormallike
activityregularization unitnormalization customscalelayer rescaling
add subtract multiply divide truedivide truediv average maximum minimum
"""
#: They change images in training, before the network sees them, and leave their size as it is.
_AUGMENTATION_NAMES = """
RandomFlip RandomRotation RandomZoom RandomContrast RandomBrightness RandomTranslation RandomSaturation RandomHue
RandomSharpness RandomGrayscale RandomShear RandomPosterization RandomColorJitter RandomColorDegeneration
RandomGaussianBlur RandomErasing RandomInvert RandomPerspective RandomElasticTransform AutoContrast Equalization
Solarization MixUp CutMix AugMix RandAugment
"""
FUNCTIONS, AUGMENTATION = (frozenset(names.split()) for names in (_FUNCTION_NAMES, _AUGMENTATION_NAMES))


def is_function(name: str) -> bool:
    """Whether a class, an operation or an operator computes each value by itself.

    >>> is_function("nn.leaky_relu"), is_function("__operators__.add"), is_function("Conv")
    (True, True, False)
    """
    return name.rpartition(".")[2].replace("_", "").lower() in FUNCTIONS


#: Classes of Keras; operations that Keras 3 calls on tensors behind "ops.", and what only layer tables have.
KINDS: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(AUGMENTATION, _elementwise),
        "Conv2D": _of_one(_convolution),
        "DepthwiseConv2D": _of_one(_depthwise),
        "SeparableConv2D": _of_one(_separable),
        "Conv2DTranspose": _of_one(_transposed),
        **dict.fromkeys(("MaxPooling2D", "AveragePooling2D"), _of_one(_pooling)),
        **dict.fromkeys(
            [f"Global{kind}Pooling{sides}D" for kind in ("Max", "Average") for sides in (1, 2)],
            _of_one(lambda settings, shape: global_pooling(shape, keep_sides=settings.flag("keepdims", False))),
        ),
        "ZeroPadding2D": _of_one(_margins),
        "Cropping2D": _of_one(partial(_margins, key="cropping", sign=-1)),
        "UpSampling2D": _of_one(_upsampling),
        "Dense": _of_one(
            lambda settings, shape: dense(shape, settings.whole("units"), bias=settings.flag("use_bias", True))
        ),
        "BatchNormalization": _of_one(partial(_norm, kind="batch")),
        **dict.fromkeys(("LayerNormalization", "GroupNormalization"), _of_one(_norm)),
        "RMSNormalization": _of_one(partial(_norm, kind="rms")),
        "Normalization": _of_one(_input_normalization),
        "PReLU": _of_one(_prelu),
        "LayerScale": _of_one(_scale),
        "Flatten": _of_one(lambda _, shape: resized((elements(shape),))),
        "Reshape": _of_one(_reshape),
        "Permute": _of_one(_permute),
        "RepeatVector": _of_one(lambda settings, shape: resized((settings.whole("n"), *shape))),
        **dict.fromkeys(("Resizing", "CenterCrop", "RandomCrop"), _of_one(_resizing)),
        # Stochastic depth leaves out whole blocks of some images, as a setting of the training.
        **dict.fromkeys(("Identity", "StochasticDepth"), _of_one(_identity)),
        **dict.fromkeys(("Activation", "Dropout"), _of_one(_function)),
        "Concatenate": _concatenate,
        "MultiHeadAttention": _attention,
        "ops.Concatenate": _concatenate,
        "ops.Reshape": _of_one(_operation_reshape),
        "ops.Transpose": _of_one(_transpose),
        "function of several": _elementwise,
        "function of one": _of_one(lambda _, shape: elementwise(shape)),
        "squeeze excite": _of_one(_squeeze_excite),
    }
)
#: Kinds in layer tables -> those of `KINDS`.
TABLE_KINDS = {
    "convolution": "Conv2D",
    "depthwise convolution": "DepthwiseConv2D",
    "transposed convolution": "Conv2DTranspose",
    "dense": "Dense",
    "max pooling": "MaxPooling2D",
    "average pooling": "AveragePooling2D",
    "global pooling": "GlobalAveragePooling2D",
    "batch normalization": "BatchNormalization",
    "layer normalization": "LayerNormalization",
    "activation": "function of one",
    "dropout": "function of one",
    "scale": "LayerScale",
    "squeeze excite": "squeeze excite",
    "flatten": "Flatten",
    "padding": "ZeroPadding2D",
    "upsampling": "UpSampling2D",
    "add": "function of several",
    "multiply": "function of several",
    "concatenate": "Concatenate",
}
