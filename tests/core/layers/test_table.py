"""Layer tables: networks that a person writes as CSV."""

from __future__ import annotations

import pytest

from profet_core.errors import InputError
from profet_core.layers import counts_of
from profet_core.layers.reading import read_network
from profet_core.layers.table import COLUMNS, JOINING, RULES

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


def test_a_table_is_the_network_that_it_describes():
    network = read_network(LENET, "lenet.csv", 32)
    assert network.counts == counts_of("LeNet5", 32)
    assert network.source_format == "layer table" and network.name == "lenet.csv"


def test_branches_are_named():
    network = read_network(RESIDUAL)
    counts = network.counts
    assert counts.parameters == 432 + 64 + 144 + (16 * 4 + 4 + 4 * 16 + 16) + (64 + 16) + (32 * 5 + 5)
    assert counts.convolution_flops == 2 * (432 + 64) * 32 * 32 + 2 * 128
    assert counts.depthwise_flops == 2 * 144 * 32 * 32
    assert (counts.pixels, counts.classes, counts.layers) == (64, 5, 16)
    assert [layer.output for layer in network.layers if layer.name == "wide"] == [(32, 32, 32)]
    assert read_network(RESIDUAL, pixels=32).counts.depthwise_flops == counts.depthwise_flops / 4


def test_spreadsheets_write_tables_in_several_ways():
    for change in ((b",", b";"), (b",", b"\t"), (b"\n", b"\r\n"), (b"kind", b"\xef\xbb\xbfkind", 1)):
        assert read_network(LENET.replace(*change), pixels=32).counts == counts_of("LeNet5", 32)


def test_every_kind_can_be_written():
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
    for kind in (*RULES, *JOINING):
        table = f"kind,channels,kernel,padding\ninput,4,,\n{kind},{lines.get(kind, ',,')}\n"
        assert read_network(table.encode(), pixels=8).counts.layers >= 2, kind


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
        (b"kind,channels\nflatten,\ndense,-5", "line 3: channels is -5: a whole number"),
        ("kind,channels\nflatten,\ndense,\N{SUPERSCRIPT TWO}".encode(), "line 3: channels is"),
        (b"kind,channels,bias\ndense,5,maybe", "line 2: bias is maybe: write yes or no"),
        (b"kind,channels,kernel\nconvolution,5,3x3x3", "line 2: kernel is 3x3"),
        (b"kind,padding\npadding,same", "line 2: its padding has to be a number"),
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


def test_pixels_have_an_end_and_come_from_somewhere():
    for pixels in (0, 4097):
        with pytest.raises(InputError, match=r"^mine\.csv: images of .* pixels are not supported: use 1 to 4,096"):
            read_network(LENET, "mine.csv", pixels)
    with pytest.raises(InputError, match="give the pixels, or a row of kind input"):
        read_network(LENET)


def test_the_guide_to_tables_names_every_column_and_kind(repository):
    text = (repository / "docs" / "NETWORKS.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in (*COLUMNS, *RULES, *JOINING, "input"))
    example = text.partition("```csv\n")[2].partition("```")[0]
    counts = read_network(example.encode(), "example.csv").counts
    assert (counts.convolutions, counts.parameters) == (2, 3 * 49 * 64 + 256 + 9 * 64 * 64 + 256 + 65_000)
