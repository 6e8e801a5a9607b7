"""Count each class of Keras layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from profet_core.errors import InputError
from profet_core.layers import rules
from profet_core.layers.network import shown, whole
from profet_core.layers.rules import MAX_DIMENSIONS, Kind, Layer, Padding, Shape, elements, shape_text


@dataclass(frozen=True, slots=True)
class Settings:
    """The `config` of one layer; each method raises `InputError` where what it asks for is missing or senseless."""

    values: Mapping[str, Any]

    def whole(self, key: str, least: int = 1) -> int:
        """A whole number."""
        return whole(self.values.get(key), key, least)

    def wholes(self, key: str, length: int, default: int | None = None, least: int = 1) -> Shape:
        """So many whole numbers; one number stands for all, `default` if missing."""
        value = self.values.get(key)
        if value is None and default is not None:
            value = default
        if isinstance(value, list):
            if len(value) != length:
                raise InputError(f"its {key} has {len(value):,} numbers, {length} are needed.")
            return tuple(whole(each, key, least) for each in value)
        return (whole(value, key, least),) * length

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise InputError(f"its {key} is neither true nor false.")
        return value

    def padding(self) -> Padding:
        """ "same" or "valid", the default."""
        value = self.values.get("padding", "valid")
        match value.lower() if isinstance(value, str) else value:
            case "same":
                return "same"
            case "valid":
                return "valid"
        raise InputError(f"its padding is {shown(value)}: same and valid are known.")

    def margins(self, key: str, length: int) -> tuple[tuple[int, int], ...]:
        """(before, after) of so many sides: one number, one a side, or two a side."""
        value = self.values.get(key, 1)
        if length == 1 and isinstance(value, list) and len(value) == 2 and not isinstance(value[0], list):
            value = [value]
        sides = value if isinstance(value, list) else [value] * length
        if len(sides) != length:
            raise InputError(f"its {key} has {len(sides):,} sides, {length} are needed.")
        pairs = [side if isinstance(side, list) else [side, side] for side in sides]
        if any(len(pair) != 2 for pair in pairs):
            raise InputError(f"its {key} has sides of other than two numbers.")
        return tuple((whole(pair[0], key, 0), whole(pair[1], key, 0)) for pair in pairs)


#: From settings and the input's shape to the layers that it is: one, or several that work one after another.
Rule = Callable[[Settings, Shape], Layer | list[Layer]]


def counted(rule: Rule, settings: Settings, shapes: tuple[Shape, ...]) -> list[Layer]:
    """The layers that a layer of one input is."""
    made = rule(settings, rules.only(shapes))
    layers = made if isinstance(made, list) else [made]
    if settings.values.get("activation") not in (None, "linear") and layers[-1].flops:
        layers[-1] = replace(layers[-1], is_activated=True)
    return layers


def _window(settings: Settings) -> dict[str, Any]:
    """Strides, padding, dilation and bias of a convolution."""
    return {
        "strides": settings.wholes("strides", 2, 1),
        "padding": settings.padding(),
        "dilation": settings.wholes("dilation_rate", 2, 1),
        "bias": settings.flag("use_bias", True),
    }


def _convolution(settings: Settings, shape: Shape) -> Layer:
    filters, kernel = settings.whole("filters"), settings.wholes("kernel_size", 2)
    groups = whole(settings.values.get("groups", 1), "groups")
    return rules.convolution(shape, filters, kernel, **_window(settings), groups=groups)


def _depthwise(settings: Settings, shape: Shape) -> Layer:
    channels = shape[-1] if shape else 1
    filters, kernel = channels * settings.whole("depth_multiplier"), settings.wholes("kernel_size", 2)
    return rules.convolution(shape, filters, kernel, **_window(settings), groups=channels)


def _separable(settings: Settings, shape: Shape) -> list[Layer]:
    """A depthwise convolution, and one of a pixel that has the bias."""
    first = _depthwise(Settings({**settings.values, "use_bias": False}), shape)
    bias = settings.flag("use_bias", True)
    return [first, rules.convolution(first.output, settings.whole("filters"), (1, 1), bias=bias)]


def _transposed(settings: Settings, shape: Shape) -> Layer:
    filters, kernel = settings.whole("filters"), settings.wholes("kernel_size", 2)
    window, extra = _window(settings), None
    if settings.values.get("output_padding") is not None:
        extra = settings.wholes("output_padding", 2, least=0)
        if window["padding"] == "same":
            # With an output padding Keras takes half the window away on each side, not what keeps the size.
            reaches = [(size - 1) * apart + 1 for size, apart in zip(kernel, window["dilation"], strict=True)]
            window["padding"] = tuple((reach // 2, reach // 2) for reach in reaches)
    return rules.transposed_convolution(shape, filters, kernel, **window, output_padding=extra)


def _dense(settings: Settings, shape: Shape) -> Layer:
    return rules.dense(shape, settings.whole("units"), bias=settings.flag("use_bias", True))


def _pooling(settings: Settings, shape: Shape) -> Layer:
    size = settings.wholes("pool_size", 2, 2)
    strides = size if settings.values.get("strides") is None else settings.wholes("strides", 2)
    return rules.pooling(shape, size, strides, settings.padding())


def _global_pooling(settings: Settings, shape: Shape) -> Layer:
    return rules.global_pooling(shape, keep_sides=settings.flag("keepdims", False))


def _axis(value: Any, shape: Shape) -> int:
    """The axis a layer works on, counted without the batch."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(value, bool) or not isinstance(value, int) or not -len(shape) <= value <= len(shape) or value == 0:
        raise InputError(f"its axis doesn't fit an input of {shape_text(shape)}.")
    return value - 1 if value > 0 else value % len(shape)


def _batch_norm(settings: Settings, shape: Shape) -> Layer:
    features = shape[_axis(settings.values.get("axis", -1), shape)]
    return rules.normalization(shape, **_scale_and_center(settings), features=features)


def _layer_norm(settings: Settings, shape: Shape) -> Layer:
    if settings.flag("rms_scaling", False):
        return _rms_norm(settings, shape)
    features = _features(settings, shape)
    return rules.normalization(shape, **_scale_and_center(settings), averages=False, features=features)


def _rms_norm(settings: Settings, shape: Shape) -> Layer:
    return rules.normalization(shape, center=False, averages=False, features=_features(settings, shape))


def _scale_and_center(settings: Settings) -> dict[str, bool]:
    return {name: settings.flag(name, True) for name in ("scale", "center")}


def _features(settings: Settings, shape: Shape) -> int:
    """How many values the sides have that a normalization works on."""
    axes = settings.values.get("axis", -1)
    sides = {_axis(axis, shape) for axis in (axes if isinstance(axes, list) else [axes])}
    return elements(tuple(shape[side] for side in sides))


def _prelu(settings: Settings, shape: Shape) -> Layer:
    shared = settings.values.get("shared_axes") or []
    if not isinstance(shared, list):
        raise InputError("its shared_axes don't fit its input.")
    sides = {_axis(axis, shape) for axis in shared}
    weights = elements(tuple(1 if side in sides else size for side, size in enumerate(shape)))
    return rules.elementwise(shape, parameters=weights)


def _input_normalization(settings: Settings, shape: Shape) -> Layer:
    if settings.values.get("mean") is not None:
        return rules.elementwise(shape)
    # No axis: one mean for all, which Keras writes as an empty list.
    features = 1 if settings.values.get("axis", -1) is None else _features(settings, shape)
    # Mean, variance, and how many values they were made from.
    return rules.elementwise(shape, parameters=2 * features + 1, trainable=0)


def _reshape(settings: Settings, shape: Shape) -> Layer:
    target = settings.values.get("target_shape")
    if not isinstance(target, list) or len(target) > MAX_DIMENSIONS:
        raise InputError("its target_shape is missing.")
    return rules.reshaping(shape, tuple(-1 if side in (-1, None) else whole(side, "target_shape") for side in target))


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
    return rules.permutation(shape, tuple(side - 1 for side in settings.wholes("dims", len(shape))))


def _cropping(settings: Settings, shape: Shape) -> Layer:
    return rules.margins(shape, tuple((-before, -after) for before, after in settings.margins("cropping", 2)))


def _resizing(settings: Settings, shape: Shape) -> Layer:
    if len(shape) != 3:
        raise InputError(f"it needs an image, and its input is {shape_text(shape)}.")
    return rules.resized((settings.whole("height"), settings.whole("width"), shape[-1]))


def _activation(settings: Settings, shapes: tuple[Shape, ...]) -> list[Layer]:
    return [_identity(shapes) if settings.values.get("activation") == "linear" else rules.elementwise(*shapes)]


def _dropout(settings: Settings, shapes: tuple[Shape, ...]) -> list[Layer]:
    """Dropout of values; of whole images it is stochastic depth."""
    kept = settings.values.get("noise_shape")
    is_depth = isinstance(kept, list) and len(kept) > 1 and all(side == 1 for side in kept[1:])
    return [_identity(shapes) if is_depth else rules.elementwise(*shapes)]


def _identity(shapes: tuple[Shape, ...]) -> Layer:
    return Layer(Kind.IDENTITY, rules.only(shapes))


def _concatenate(settings: Settings, shapes: tuple[Shape, ...]) -> list[Layer]:
    return [rules.concatenation(shapes, _axis(settings.values.get("axis", -1), shapes[0]) if shapes else -1)]


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
    gate = [rules.dense(query, attended[-1], bias=bias), rules.elementwise(attended)]
    return [
        rules.dense(query, heads * key_width, bias=bias),
        rules.dense(key, heads * key_width, bias=bias),
        rules.dense(value, heads * value_width, bias=bias),
        rules.product((heads, query[0], key[0]), key_width),
        rules.elementwise((heads, query[0], key[0])),
        rules.product(attended, key[0]),
        *(gate if settings.flag("use_gate", False) else []),
        rules.dense(attended, output, bias=bias),
    ]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ELEMENTWISE = _words("""
ReLU LeakyReLU ELU Softmax ThresholdedReLU
SpatialDropout2D AlphaDropout GaussianDropout GaussianNoise
ActivityRegularization UnitNormalization
Add Subtract Multiply Average Maximum Minimum CustomScaleLayer
Rescaling
""")
#: Stochastic depth leaves out whole blocks of some images, as a setting of the training.
_IDENTITY = _words("Identity StochasticDepth")
#: They change images in training, before the network sees them, and leave their size as it is.
AUGMENTATION = _words("""
RandomFlip RandomRotation RandomZoom RandomContrast RandomBrightness RandomTranslation RandomSaturation RandomHue
RandomSharpness RandomGrayscale RandomShear RandomPosterization RandomColorJitter RandomColorDegeneration
RandomGaussianBlur RandomErasing RandomInvert RandomPerspective RandomElasticTransform AutoContrast Equalization
Solarization MixUp CutMix AugMix RandAugment
""")
#: Keras 3's operations that were called on tensors, and are layers of their own in the file.
OPERATIONS = _words("""
Relu Relu6 Sigmoid Tanh Silu Gelu Elu Selu Softplus Softsign Swish HardSigmoid HardSilu HardSwish HardTanh LeakyRelu
LogSigmoid LogSoftmax Softmax Mish Abs Absolute Exp Log Negative Power Sqrt Rsqrt Square Clip Cast
Add Subtract Multiply Divide TrueDivide Maximum Minimum
""")
#: Those that have rules of their own.
OPERATION_RULES: Mapping[str, Rule] = MappingProxyType({"Reshape": _operation_reshape, "Transpose": _transpose})
#: The same in TensorFlow's files (Keras 2), by the function's name.
FUNCTIONS = _words("""
nn.relu nn.relu6 nn.sigmoid nn.tanh nn.silu nn.swish nn.gelu nn.elu nn.softmax nn.leaky_relu nn.softplus
math.add math.subtract math.multiply math.divide math.maximum math.minimum math.sigmoid math.tanh math.abs math.square
math.sqrt math.rsqrt math.exp math.truediv math.negative
__operators__.add clip_by_value cast identity convert_to_tensor
keras.activations.relu keras.activations.sigmoid keras.backend.relu
""")

#: Classes of one input.
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "Conv2D": _convolution,
        "DepthwiseConv2D": _depthwise,
        "SeparableConv2D": _separable,
        "Conv2DTranspose": _transposed,
        "MaxPooling2D": _pooling,
        "AveragePooling2D": _pooling,
        **{f"Global{kind}Pooling{sides}D": _global_pooling for kind in ("Max", "Average") for sides in (1, 2)},
        "ZeroPadding2D": lambda settings, shape: rules.margins(shape, settings.margins("padding", 2)),
        "Cropping2D": _cropping,
        "UpSampling2D": lambda settings, shape: rules.enlargement(shape, settings.wholes("size", 2, 2)),
        "Dense": _dense,
        "BatchNormalization": _batch_norm,
        "LayerNormalization": _layer_norm,
        "GroupNormalization": _layer_norm,
        "RMSNormalization": _rms_norm,
        "Normalization": _input_normalization,
        "PReLU": _prelu,
        "LayerScale": lambda _, shape: rules.scaling(shape),
        "Flatten": lambda _, shape: rules.flattening(shape),
        "Reshape": _reshape,
        "Permute": _permute,
        "RepeatVector": lambda settings, shape: rules.resized((settings.whole("n"), *shape)),
        "Resizing": _resizing,
        "CenterCrop": _resizing,
        "RandomCrop": _resizing,
    }
)
#: Classes of several.
JOINING: Mapping[str, Callable[[Settings, tuple[Shape, ...]], list[Layer]]] = MappingProxyType(
    {
        **dict.fromkeys(_ELEMENTWISE | AUGMENTATION, lambda _, shapes: [rules.elementwise(*shapes)]),
        **dict.fromkeys(_IDENTITY, lambda _, shapes: [_identity(shapes)]),
        "Activation": _activation,
        "Dropout": _dropout,
        "Concatenate": _concatenate,
        "MultiHeadAttention": _attention,
    }
)
