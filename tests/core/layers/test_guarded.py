"""Third-party network files in a limited process: the same networks, and output that is not trusted."""

from __future__ import annotations

import io
import json
import subprocess
from dataclasses import replace

import pytest

from profet_core.errors import InputError
from profet_core.layers import guarded
from profet_core.layers.guarded import SMALL_BYTES, network_document, network_in, read_network_guarded
from profet_core.layers.reading import read_network
from profet_core.sandbox.process import ReadLimits
from tests.core.layers.test_keras import IMAGE, functional, layer, of
from tests.core.layers.test_table import LENET
from tests.made.onnx_files import small_network

MODEL = json.dumps(functional(IMAGE, layer("Conv2D", "conv", "image", filters=4, kernel_size=3))).encode()
#: A text that takes four bytes a letter once it is read.
WIDE = f'{{"class_name":"Sequential","x":"{"a" * 15_000_000}\N{GRINNING FACE}"}}'.encode()


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """The command of every process that is started."""
    commands: list[list[str]] = []
    start = subprocess.Popen

    def noted(arguments, **named):
        commands.append(arguments)
        return start(arguments, **named)

    monkeypatch.setattr(subprocess, "Popen", noted)
    return commands


@pytest.mark.parametrize(("data", "pixels"), [(MODEL, None), (small_network().data(), 24)])
def test_a_file_reads_as_in_this_process(started, data, pixels):
    network = read_network_guarded(io.BytesIO(data), "my secret net.bin", pixels)
    assert network == read_network(data, "my secret net.bin", pixels)
    assert len(started) == 1 and "secret" not in repr(started)


def test_a_small_table_needs_no_process(started):
    assert read_network_guarded(LENET, "lenet.csv", 32) == read_network(LENET, "lenet.csv", 32)
    assert started == []
    padded = LENET + b"\n" * SMALL_BYTES
    assert read_network_guarded(padded, "lenet.csv", 32).counts == read_network(LENET, "lenet.csv", 32).counts
    assert len(started) == 1


def test_a_refusal_is_the_same_line():
    for data in (json.dumps(of("Secret")).encode(), b"hello"):
        with pytest.raises(InputError) as here:
            read_network(data, "mine\n.json")
        with pytest.raises(InputError) as there:
            read_network_guarded(data, "mine\n.json")
        assert str(here.value) == str(there.value)


def test_too_much_memory_is_said():
    with pytest.raises(InputError, match=r"^net\.json: it takes more than 80 MB of memory to read: give "):
        read_network_guarded(WIDE, "net.json", limits=ReadLimits(80, 5))


def test_a_process_that_says_nonsense_is_not_believed(monkeypatch):
    monkeypatch.setattr(guarded, "TASK", replace(guarded.TASK, module="this"))
    with pytest.raises(InputError, match=r"^net: reading it ended without a result"):
        read_network_guarded(MODEL, "net")


def test_what_is_no_network_is_refused():
    record = json.loads(json.dumps(network_document(read_network(MODEL, "net"))))
    row = record["layers"][0]
    changes = [
        {"layers": []},
        {"layers": [row] * 20_001},
        {"layers": [[*row[:2], -1, *row[3:]]]},
        {"layers": [["lambda", *row[1:]]]},
        {"layers": [[row[0], [0, 5], *row[2:]]]},
        {"layers": [[row[0], ["5"], *row[2:]]]},
        {"layers": [[*row[:5], "two\nlines"]]},
        {"layers": [[row[0], [2**39], *row[2:]]]},
        {"pixels": 0},
        {"classes": "10"},
        {"caveats": ["two\nlines"]},
        {"caveats": ["x"] * 101},
        {"name": 7},
    ]
    documents = [None, {}, *(record | change for change in changes)]
    documents += [{key: record[key] for key in record if key != gone} for gone in record]
    for document in documents:
        with pytest.raises(ValueError):
            network_in(document)
