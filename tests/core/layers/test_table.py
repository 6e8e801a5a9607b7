"""Every rule of counting, on numbers worked by hand; sizes of windows as PyTorch has them."""

from __future__ import annotations

import itertools

import pytest

from profet_core.errors import InputError
from profet_core.layers import rules
from profet_core.layers.network import Kind, Layer, count
from profet_core.layers.reading import COLUMNS, read_network
from profet_core.layers.rules import TABLE_KINDS, Settings, Window
from tests.made.plain_lenet import PLAIN_LENET

IMAGE = (7, 7, 8)


def made(kind: str, *shapes: tuple[int, ...], **settings: object) -> Layer:
    """The one layer that a rule makes of these inputs."""
    (layer,) = rules.apply_rule(kind, Settings(settings), shapes)
    return layer


def convolved(shape: tuple[int, ...], filters: int, side: int = 3, **settings: object) -> Layer:
    return made("Conv2D", shape, filters=filters, kernel_size=side, **settings)


@pytest.mark.parametrize(
    ("layer", "output", "parameters", "flops"),
    [
        # 4 filters of 3 x 3 x 3 and a bias each; 9 and 16 places.
        (convolved((7, 7, 3), 4, strides=2), (3, 3, 4), 112, 2 * 108 * 9),
        (convolved((7, 7, 3), 4, strides=2, padding="same"), (4, 4, 4), 112, 2 * 108 * 16),
        (convolved((7, 7, 3), 4, strides=2, padding=[1, 1], use_bias=False), (4, 4, 4), 108, 2 * 108 * 16),
        # A window of 3 with gaps of 1 reaches over 5.
        (convolved((7, 7, 1), 1, dilation_rate=2), (3, 3, 1), 10, 2 * 9 * 9),
        # Each of 6 filters sees 2 of 6 channels.
        (convolved((5, 5, 6), 6, 1, groups=3), (5, 5, 6), 18, 2 * 12 * 25),
        (made("Conv2DTranspose", (4, 4, 3), filters=2, kernel_size=2, strides=2, padding="same"), (8, 8, 2), 26, 768),
        (made("Dense", (5,), units=3), (3,), 18, 30),
        (made("Dense", (4, 4, 5), units=3, use_bias=False), (4, 4, 3), 15, 2 * 15 * 16),
        (made("MaxPooling2D", IMAGE, pool_size=3, strides=2), (3, 3, 8), 0, 0),
        (made("AveragePooling2D", IMAGE, pool_size=3, strides=2, padding="same"), (4, 4, 8), 0, 0),
        (made("GlobalMaxPooling2D", IMAGE, keepdims=True), (1, 1, 8), 0, 0),
        (made("BatchNormalization", IMAGE, scale=False), IMAGE, 24, 0),
        (made("function of several", IMAGE, (1, 1, 8)), IMAGE, 0, 0),
        (made("Concatenate", IMAGE, (2, 7, 8), axis=1), (9, 7, 8), 0, 0),
        (made("Flatten", IMAGE), (392,), 0, 0),
        (made("Reshape", IMAGE, target_shape=[49, -1]), (49, 8), 0, 0),
        (made("Permute", (7, 6, 5), dims=[3, 1, 2]), (5, 7, 6), 0, 0),
        (made("Cropping2D", IMAGE, cropping=[[1, 1], [0, 2]]), (5, 5, 8), 0, 0),
        (made("UpSampling2D", IMAGE, size=[2, 3]), (14, 21, 8), 0, 0),
    ],
)
def test_a_layer_worked_by_hand(layer, output, parameters, flops):
    assert (layer.output, layer.parameters, layer.flops) == (output, parameters, flops)


def test_averages_have_no_gradient_one_filter_a_channel_is_depthwise_and_branches_are_named():
    assert made("BatchNormalization", IMAGE).trainable == made("LayerNormalization", IMAGE).parameters == 16
    kinds = [convolved((5, 5, 6), filters, groups=groups).kind for filters, groups in ((6, 6), (12, 6), (6, 3), (6, 1))]
    assert kinds == [Kind.DEPTHWISE, Kind.DEPTHWISE, Kind.GROUPED, Kind.CONVOLUTION]
    network = read_network(RESIDUAL)
    counts = network.counts
    assert counts.parameters == 432 + 64 + 144 + (16 * 4 + 4 + 4 * 16 + 16) + (64 + 16) + (32 * 5 + 5)
    assert counts.flops.convolution == 2 * (432 + 64) * 32 * 32 + 2 * 128
    assert counts.flops.depthwise == 2 * 144 * 32 * 32
    assert (counts.pixels, counts.classes, counts.layers.all) == (64, 5, 16)
    assert [layer.output for layer in network.layers if layer.name == "wide"] == [(32, 32, 32)]
    assert read_network(RESIDUAL, pixels=32).counts.flops.depthwise == counts.flops.depthwise / 4


def test_counts_sum_layers_by_their_kind():
    layers = rules.apply_rule("squeeze excite", Settings({"filters": 4}), ((8, 8, 16),))
    assert layers[-1].output == (8, 8, 16)
    counts = count(layers, 8)
    # 16 to 4 and back, with their biases; 64 products each way.
    assert counts.parameters == 16 * 4 + 4 + 4 * 16 + 16
    assert counts.flops.convolution == 2 * 64 + 2 * 64
    assert counts.elements.all == 16 + 4 + 4 + 16 + 16 + 8 * 8 * 16
    assert (counts.layers.convolutions, counts.layers.pools, counts.layers.all) == (2, 1, 6)
    layers = [Layer(Kind.INPUT, (6, 6, 3)), convolved((6, 6, 3), 4), made("BatchNormalization", (4, 4, 4))]
    layers += [convolved((4, 4, 4), 4, groups=4), made("GlobalMaxPooling2D", (2, 2, 4)), made("Dense", (4,), units=10)]
    counts = count(layers, 6)
    assert counts.parameters == (108 + 4) + 16 + (36 + 4) + (40 + 10)
    assert counts.trainable_parameters == counts.parameters - 8
    assert counts.flops.convolution == 2 * 108 * 16 and counts.flops.depthwise == 2 * 36 * 4
    assert counts.flops.dense == 80 and counts.flops.all == 3456 + 288 + 80
    assert counts.elements.all == 108 + 64 + 64 + 16 + 4 + 10
    assert counts.elements.other == 108 + 64 + 4
    numbers = counts.layers
    assert (numbers.convolutions, numbers.dense, numbers.normalizations, numbers.pools) == (2, 1, 1, 1)
    assert (counts.layers.all, counts.classes, counts.pixels) == (6, 10, 6)


@pytest.mark.parametrize(
    ("kind", "shapes", "settings", "line"),
    [
        ("Conv2D", [(2, 2, 3)], {"filters": 4, "kernel_size": 3}, "would put out 0 x 0 x 4"),
        ("Conv2D", [(5, 5, 3)], {"filters": 4, "kernel_size": 3, "groups": 2}, "don't divide into 2 groups"),
        ("Conv2D", [(5,)], {"filters": 4, "kernel_size": 3}, "needs an image"),
        ("Conv2D", [(8, 8, 3)], {"filters": 2**24, "kernel_size": 2**20, "padding": "same"}, "more than .* parameters"),
        ("Conv2DTranspose", [(2**18, 2**18, 3)], {"filters": 4, "kernel_size": 3, "strides": 2}, "more than .* values"),
        ("Dense", [()], {"units": 4}, "needs features"),
        ("function of several", [IMAGE, (7, 7, 3)], {}, "don't fit each other"),
        ("Concatenate", [IMAGE, (5, 7, 8)], {}, "don't fit each other"),
        ("Cropping2D", [(2, 2, 3)], {"cropping": [[1, 1], [0, 0]]}, "would put out 0 x 2 x 3"),
        ("ZeroPadding2D", [(2, 3)], {"padding": 1}, "padding of 2 sides doesn't fit"),
        ("Permute", [(2, 3)], {"dims": [1, 1]}, "its order doesn't fit"),
    ],
)
def test_what_makes_no_sense_is_one_line(kind, shapes, settings, line):
    with pytest.raises(InputError, match=line) as error:
        made(kind, *shapes, **settings)
    assert "\n" not in str(error.value)


def test_windows_have_the_sizes_that_pytorch_gives_them():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, and the app does not need it")
    for size, kernel, stride, pad, dilation in itertools.product((5, 8, 13), (1, 2, 3), (1, 2, 3), (0, 1), (1, 2)):
        if pad > kernel // 2 or (kernel - 1) * dilation + 1 > size + 2 * pad:
            continue
        image, around = torch.zeros(1, 1, size), ((pad, pad),)
        for round_up in (False, True):
            pooled = torch.nn.functional.max_pool1d(image, kernel, stride, pad, dilation, ceil_mode=round_up)
            ours = Window((kernel,), (stride,), around, (dilation,)).output((size,), round_up)
            assert ours == tuple(pooled.shape[2:]), (size, kernel, stride, pad, dilation, round_up)
        weight = torch.zeros(1, 1, kernel)
        convolved = torch.nn.functional.conv_transpose1d(image, weight, None, stride, pad, stride - 1, 1, dilation)
        ours = Window((kernel,), (stride,), around, (dilation,)).transposed_output((size,), (stride - 1,))
        assert ours == tuple(convolved.shape[2:])


LENET = b"""kind,channels,kernel,stride
convolution,6,5,
max pooling,,2,
convolution,16,5,
max pooling,,2,2
flatten,,,
dense,120,,
dense,84,,
dense,10,,
"""
RESIDUAL = b"""layer,kind,from,channels,kernel,stride,padding,groups,bias,pixels
image,input,,3,,,,,,64
stem,convolution,,16,3,2,same,,no,
,batch normalization,,,,,,,,
start,activation,,,,,,,,
,depthwise convolution,,,3,,1,,no,
,squeeze excite,,4,,,,,,
end,convolution,,16,1x1,,,4,yes,
both,add,start end,,,,,,,
wide,concatenate,both start,,,,,,,
,global pooling,,,,,,,,
head,dense,,5,,,,,,
"""


def test_a_table_is_the_network_that_it_describes_however_it_is_written():
    network = read_network(LENET, "lenet.csv", 32)
    assert network.counts == PLAIN_LENET
    assert network.source_format == "layer table" and network.name == "lenet.csv"
    for change in ((b",", b";"), (b",", b"\t"), (b"\n", b"\r\n"), (b"kind", b"\xef\xbb\xbfkind", 1)):
        assert read_network(LENET.replace(*change), pixels=32).counts == PLAIN_LENET
    lines = {
        "convolution": "4,3,same",
        "depthwise convolution": ",3,same",
        "transposed convolution": "4,2,valid",
        "dense": "7,,",
        "max pooling": ",2,",
        "average pooling": ",2,",
        "squeeze excite": "2,,",
        "padding": ",,2x1",
    }
    for kind in TABLE_KINDS:
        table = f"kind,channels,kernel,padding\ninput,4,,\n{kind},{lines.get(kind, ',,')}\n"
        assert read_network(table.encode(), pixels=8).counts.layers.all >= 2, kind


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (b"kind,channels\nconvolution,6", "line 2: its kernel is missing"),
        (b"kind,channels\nmystery,6", "line 2: its kind is mystery: one of convolution, "),
        (b"kind,color\ndense,6", "a column color: the columns are layer, kind, "),
        (b"kind,kind\ndense,6", "the column kind twice"),
        (b"name,units\nfirst,5\n", "its first line names no column `kind`"),
        (b"kind,channels,from\ndense,6,above", "line 2: no layer above is called above"),
        (b"kind,layer\nflatten,a\nactivation,a", "line 3: a layer above is called a too"),
        (b"kind,channels\nflatten,\ndense,-5", "line 3: its channels is -5: a whole number"),
        ("kind,channels\nflatten,\ndense,\N{SUPERSCRIPT TWO}".encode(), "line 3: its channels is"),
        (b"kind,channels,bias\ndense,5,maybe", "line 2: bias is maybe: write yes or no"),
        (b"kind,channels,kernel\nconvolution,5,3x3x3", "line 2: its kernel is the text .*3x3"),
        (b"kind,padding\npadding,same", "line 2: its padding is the text .same.: a whole number"),
        (b"kind\n", "it has no layers"),
        (b"kind,channels\ndense,5,6,7", "line 2 has more fields"),
        (b'kind,layer\nflatten,"' + b"x" * 200_000 + b'"', "is not CSV"),
        (b"kind\n" + b"activation\n" * 20_001, "more than 20,000 layers"),
        (b"kind,layer\nflatten,\xff", "not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_the_line(table, line):

    with pytest.raises(InputError, match=line) as error:
        read_network(table, "mine.csv", 8)
    assert str(error.value).startswith("mine.csv: ") and "\n" not in str(error.value)


def test_pixels_have_an_end_and_the_guide_names_every_column_and_kind(repository):
    for pixels in (0, 4097):
        with pytest.raises(InputError, match=r"^mine\.csv: images of .* pixels are not supported: use 1 to 4,096"):
            read_network(LENET, "mine.csv", pixels)
    with pytest.raises(InputError, match="give the pixels, or a row of kind input"):
        read_network(LENET)
    text = (repository / "docs" / "NETWORKS.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in (*COLUMNS, *TABLE_KINDS, "input"))
    example = text.partition("```csv\n")[2].partition("```")[0]
    counts = read_network(example.encode(), "example.csv").counts
    assert (counts.layers.convolutions, counts.parameters) == (2, 3 * 49 * 64 + 256 + 9 * 64 * 64 + 256 + 65_000)
