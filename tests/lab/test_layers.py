"""Networks and Keras files have the layers that Keras builds."""

from __future__ import annotations

import json
import zipfile
from math import prod
from operator import attrgetter

import pytest

from profet_collect import in_keras
from profet_core.errors import InputError
from profet_core.layers.network import Kind
from profet_core.layers.networks import counts_of
from profet_core.layers.reading import read_network
from profet_lab.measurements.tables import data_folder, load_architectures

#: Column of the table -> what counts call it.
COLUMNS = {
    "classes": "classes",
    "parameters": "parameters",
    "trainable": "trainable_parameters",
    "conv_flops": "flops.convolution",
    "dwconv_flops": "flops.depthwise",
    "dense_flops": "flops.dense",
    "other_elems": "elements.other",
    "act_elems": "elements.all",
    "n_conv": "layers.convolutions",
    "n_dense": "layers.dense",
    "n_bn": "layers.normalizations",
    "n_pool": "layers.pools",
    "n_layers": "layers.all",
}


def test_every_row_is_reproduced_to_the_last_digit(measurements):
    rows = load_architectures(data_folder()).to_dict("records")
    assert len(rows) == 71 and set(rows[0]) == {"model", "pixels", *COLUMNS}
    for row in rows:
        counts = counts_of(f"PROFET {row['model']}", row["pixels"])
        values = {column: attrgetter(field)(counts) for column, field in COLUMNS.items()}
        assert values == {column: row[column] for column in COLUMNS}, (row["model"], row["pixels"])


@pytest.fixture(autouse=True)
def keras_is_loaded():
    """Not while tests are collected: it takes seconds."""
    global keras, layers
    import keras
    from keras import layers


@pytest.mark.parametrize("name", ["LeNet5", "AlexNet", "VGG13", "ResNetSmall", "ResNet34", "ResNet50", "CIFAR10_CNN"])
def test_a_measured_network_is_built_as_it_was_measured(name):
    with keras.StatelessScope(initialize_variables=False):
        model = in_keras.build(name, 64, 100, ends="softmax")
    read = read_network(model.to_json().encode()).counts
    assert read.values == pytest.approx(counts_of(f"PROFET {name}", 64).values)


def branches():
    """Two branches, a separable convolution, squeeze-excite, a shared layer and an operation on tensors."""
    image = keras.Input((40, 40, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(image)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    separable = layers.SeparableConv2D(12, 3, padding="same", depth_multiplier=2)(x)
    other = layers.Conv2D(12, (1, 5), padding="same", groups=4)(x)
    x = layers.Concatenate()([separable, other])
    weights = layers.GlobalAveragePooling2D(keepdims=True)(x)
    weights = layers.Conv2D(24, 1, activation="sigmoid")(layers.Conv2D(6, 1, activation="relu")(weights))
    x = x * weights
    shared = layers.Conv2D(24, 3, padding="same")
    x = layers.Add()([shared(shared(x)), x])
    x = layers.LayerNormalization()(layers.ZeroPadding2D(((1, 0), (0, 1)))(x))
    x = layers.AveragePooling2D(3, strides=2)(keras.ops.relu(x))
    x = layers.UpSampling2D(2)(layers.Conv2DTranspose(10, 3, strides=2)(x))
    x = layers.PReLU(shared_axes=[1, 2])(layers.Cropping2D(2)(x))
    x = layers.Reshape((-1, 10))(layers.Permute((2, 1, 3))(x))
    x = layers.Dense(7)(layers.GlobalMaxPooling1D()(x))
    return keras.Model(image, [x, layers.Softmax()(x)])


def augmented():
    """A sequence with augmentation before it and dense layers that grow with the image."""
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.RandomFlip("horizontal"),
            layers.RandomRotation(0.1),
            layers.Rescaling(1 / 255),
            layers.Conv2D(4, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )


def nested():
    """A model in a model, half of it frozen, as transfer learning has it."""
    inside = keras.Sequential([keras.Input((32, 32, 3)), layers.Conv2D(4, 3), layers.BatchNormalization()])
    inside.trainable = False
    base_image = keras.Input((32, 32, 3))
    base = keras.Model(base_image, layers.Conv2D(8, 3, padding="same")(inside(base_image)))
    image = keras.Input((32, 32, 3))
    x = base(layers.Normalization()(image))
    return keras.Model(image, layers.Dense(3)(layers.GlobalAveragePooling2D()(x)))


def flattened(model, collected=None):
    """Every layer of a model, those of models in it instead of themselves."""
    collected = [] if collected is None else collected
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            flattened(layer, collected)
        else:
            collected.append(layer)
    return collected


@pytest.mark.parametrize("make", [branches, augmented, nested])
@pytest.mark.parametrize("kind", ["file", "json"])
def test_parameters_and_shapes_are_those_that_keras_has(tmp_path, make, kind):
    model = make()
    path = tmp_path / "net.keras"
    if kind == "file":
        model.save(path)
    else:
        path.write_text(model.to_json(), encoding="utf-8")
    network = read_network(path, path.name)
    assert network.counts.parameters == model.count_params()
    assert network.counts.trainable_parameters == sum(prod(weight.shape) for weight in model.trainable_weights)
    counted = {layer.name: layer for layer in network.layers}
    for layer in flattened(model):
        if layer.name in counted and not isinstance(layer, layers.InputLayer):
            assert counted[layer.name].output == tuple(layer.output.shape[1:]), layer.name


def test_work_by_hand_of_a_file_with_branches(tmp_path):
    model = branches()
    model.save(tmp_path / "net.keras")
    counts = read_network(tmp_path / "net.keras").counts
    places = 20 * 20
    # The stem, the point-wise half of the separable one, the grouped one, squeeze-excite, the shared one twice, the
    # transposed one on 10 x 10.
    macs = (3 * 9 * 8 + 16 * 12 + 2 * 5 * 12) * places + 2 * 24 * 6 + 2 * 24 * 9 * 24 * places + 24 * 9 * 10 * 10 * 10
    assert counts.flops.convolution == 2 * macs
    assert counts.flops.depthwise == 2 * 16 * 9 * places
    assert counts.flops.dense == 2 * 10 * 7
    assert counts.classes == 7


def test_what_is_assumed_of_a_file_is_noted(tmp_path):
    augmented().save(tmp_path / "net.keras")
    network = read_network(tmp_path / "net.keras")
    assert any(line.startswith("Augmentation") and "random_flip" in line for line in network.caveats)
    larger = read_network(tmp_path / "net.keras", pixels=56)
    assert larger.counts.pixels == 56
    assert larger.counts.parameters == 4 * 10 + (27 * 27 * 4) * 10 + 10
    assert any("its dense layers take all of the image" in line for line in larger.caveats)
    nested().save(tmp_path / "nested.keras")
    assert any(line.startswith("Frozen in the file") for line in read_network(tmp_path / "nested.keras").caveats)


def test_other_pixels_are_what_keras_builds_at_them(tmp_path):
    # Sizes that halve as its own do: Keras writes how much it pads before a stride into the file.
    make = keras.applications.MobileNetV2
    path = tmp_path / "mobile.keras"
    make(weights=None, input_shape=(96, 96, 3), classes=10).save(path)
    for pixels in (64, 160):
        read = read_network(path, pixels=pixels)
        built = make(weights=None, input_shape=(pixels, pixels, 3), classes=10)
        assert read.counts == read_network(built.to_json().encode()).counts
        sizes = {layer.name: tuple(layer.output.shape[1:]) for layer in built.layers}
        names = {layer.name for layer in read.layers} & set(sizes)
        assert len(names) > 140
        assert all(sizes[layer.name] == layer.output for layer in read.layers if layer.name in names)


@pytest.mark.parametrize("name", ["EfficientNetB0", "MobileNetV3Small"])
def test_named_networks_are_what_keras_builds(name):
    model = getattr(keras.applications, name)(weights=None, input_shape=(224, 224, 3))
    read, named = read_network(model.to_json().encode()).counts, counts_of(f"keras/{name}", 224)
    assert (named.parameters, named.layers.all) == (model.count_params(), read.layers.all)
    assert named.flops.depthwise == pytest.approx(read.flops.depthwise, rel=1e-5)


def test_channels_first_open_sizes_and_a_base_behind_preprocessing():
    image = keras.Input((3, 33, 47))
    refused(keras.Model(image, layers.Conv2D(8, 3, data_format="channels_first")(image)), "save it with channels last")
    image = keras.Input((None, None, 3))
    data = keras.Model(image, layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3)(image))).to_json().encode()
    with pytest.raises(InputError, match="leaves the image's size open: give the pixels"):
        read_network(data)
    assert read_network(data, pixels=10).counts.flops.convolution == 2 * 27 * 4 * 64
    image = keras.Input((40, 40, 3))
    x = keras.applications.resnet50.preprocess_input(layers.RandomFlip()(image))
    base = keras.Sequential([keras.Input((40, 40, 3)), layers.Conv2D(4, 3), layers.BatchNormalization()])
    base.trainable = False
    x = layers.GlobalAveragePooling2D()(base(x, training=False))
    model = keras.Model(image, layers.Dense(2)(x))
    network = read_network(model.to_json().encode())
    assert network.counts.parameters == model.count_params() and network.counts.trainable_parameters == 10
    assert any(line.startswith("Operations counted by their output") and "get_item" in line for line in network.caveats)
    assert read_network(model.to_json().encode(), pixels=20).counts.flops.convolution == 2 * 27 * 4 * 18 * 18


def built(*made):
    """A sequence on images of 8 pixels that is built."""
    return keras.Sequential([keras.Input((8, 8, 3)), *made])


def refused(model, line):
    with pytest.raises(InputError, match=line) as error:
        read_network(model.to_json().encode(), "mine.json")
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:You passed `rms_scaling")
def test_a_normalization_by_mean_squares_has_no_center():
    model = built(layers.LayerNormalization(rms_scaling=True), layers.LayerNormalization(axis=[1, 2, 3]))
    counts = read_network(model.to_json().encode()).counts
    assert counts.parameters == model.count_params() == 3 + 2 * 192


@pytest.mark.parametrize(
    "make",
    [
        lambda x: layers.Normalization(axis=None)(x),
        lambda x: layers.Normalization(axis=(1, 3))(x),
        lambda x: layers.RMSNormalization()(x),
        lambda x: layers.RMSNormalization(axis=[1, 3])(x),
        lambda x: layers.Conv2DTranspose(4, 3, strides=2, output_padding=1)(x),
        lambda x: layers.Conv2DTranspose(4, (4, 3), strides=3, padding="same", output_padding=(0, 1))(x),
        lambda x: layers.Conv2DTranspose(4, 3, padding="same", output_padding=0, dilation_rate=2)(x),
        lambda x: keras.ops.transpose(x, (0, 3, 1, 2)),
        lambda x: keras.ops.reshape(x, (-1, 8, 24)),
        lambda x: layers.MultiHeadAttention(2, 4)(*[keras.ops.reshape(x, (-1, 64, 3))] * 2),
        lambda x: layers.MultiHeadAttention(2, 4, 5, output_shape=7)(*[keras.ops.reshape(x, (-1, 64, 3))] * 2),
        lambda x: layers.MultiHeadAttention(2, 4, use_gate=True)(*[keras.ops.reshape(x, (-1, 64, 3))] * 2),
        lambda x: keras.ops.concatenate([x, x], axis=2),
    ],
)
def test_shapes_and_parameters_of_rarer_layers_are_those_that_keras_has(make):
    image = keras.Input((8, 8, 3))
    output = make(image)
    model = keras.Model(image, output)
    network = read_network(model.to_json().encode())
    assert network.layers[-1].output == tuple(output.shape[1:])
    assert network.counts.parameters == model.count_params()
    assert network.counts.trainable_parameters == sum(prod(weight.shape) for weight in model.trainable_weights)


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda x: keras.ops.reshape(x, (-1, 3)), "don't fill 3"),
        (lambda x: keras.ops.reshape(x, (4, -1, 3)), "it reshapes a batch other than image by image"),
        (lambda x: keras.ops.transpose(x, (1, 0, 2, 3)), "it moves the batch"),
        (lambda x: keras.ops.average(x, axis=1), r"\(Average\): this operation of Keras isn't counted"),
        (lambda x: layers.EinsumDense("abcd,de->abce", (None, None, 5))(x), "this kind of layer isn't counted"),
    ],
)
def test_rarer_layers_that_cannot_be_counted_are_refused(make, line):
    image = keras.Input((8, 8, 3))
    refused(keras.Model(image, make(image)), line)


def test_code_in_a_file_is_never_run(tmp_path):
    image = keras.Input((8, 8, 3))
    same = layers.Lambda(lambda x: x * 2, output_shape=(8, 8, 3), name="twice")(image)
    model = keras.Model(image, layers.Flatten()(same))
    network = read_network(model.to_json().encode())
    assert any(line.startswith("Code that is not run") and "twice" in line for line in network.caveats)
    half = layers.Lambda(lambda x: x[:, ::2], output_shape=(4, 8, 3), name="half")(image)
    with pytest.raises(InputError, match=r"layer half \(Lambda\): what its code does can't be known"):
        read_network(keras.Model(image, layers.Flatten()(half)).to_json().encode(), "mine.json")

    @keras.saving.register_keras_serializable("mine")
    class Conv2D(layers.Layer):
        def call(self, x):
            return x

    with pytest.raises(InputError, match=r"\(Conv2D\): this kind of layer isn't counted"):
        read_network(keras.Model(image, Conv2D()(image)).to_json().encode())


def test_weights_are_not_opened(tmp_path):
    path, bare = tmp_path / "net.keras", tmp_path / "bare.keras"
    augmented().save(path)
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(bare, "w") as other:
        other.writestr("model.weights.h5", b"\x89no weights at all")
        other.writestr("config.json", whole.read("config.json"))
    assert read_network(bare).counts == read_network(path).counts
    assert {layer.kind for layer in read_network(bare).layers} >= {Kind.CONVOLUTION, Kind.DENSE}
    config = json.loads(zipfile.ZipFile(path).read("config.json"))
    assert read_network(json.dumps(config).encode()).counts == read_network(path).counts
