"""Collections and pickles are imported; no pickle runs anything."""

from __future__ import annotations

import base64
import copyreg
import io
import os
import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.core.indexes.base import _new_Index
from pandas.core.internals.managers import BlockManager

from profet_collect.store import open_store
from profet_core.collected.record import Cell, CellResult
from profet_core.errors import ProfileError
from profet_core.sandbox.process import ReadLimits
from profet_lab.datasets.as_measurements import measurements_of
from profet_lab.datasets.files import read_dataset, write_dataset
from profet_lab.datasets.sources import pickles_in, read_frame, read_pickles, read_sources, read_store
from profet_lab.datasets.unpickler import ALLOWED, Recorded, frame_columns
from profet_lab.measurements.tables import DataError

MANIFEST = {"instance": "my.h200", "device": "gpu", "gpu": "NVIDIA H200", "driver": "570.1", "host": {"cores": 16}}
MANIFEST |= {"threads": None}
RAN = CellResult(
    Cell("pytorch", "tf32", "ResNet50", 224, 32),
    "2.13.0",
    "ok",
    "2026-11-22T07:00:00+00:00",
    batch_latency_ms=20.0,
    latency_repeats_ms=(19.5, 20.0, 21.0),
    peak_memory_bytes=3_000_000_001,
    operations_us={"Device_Conv2D": 15_000.0, "Device_IDLE": 0.0, "Host_IDLE": 1.5},
)
FULL = CellResult(
    Cell("pytorch", "tf32", "VGG19", 256, 256),
    "2.13.0",
    "out-of-memory",
    "2026-11-22T07:01:00+00:00",
    why="no\nmemory\x1b",
)


@pytest.fixture
def collected(tmp_path) -> Path:
    folder = tmp_path / "collected"
    with open_store(folder, MANIFEST) as store:
        store.append(RAN)
        store.append(FULL)
    return folder


def test_every_finished_cell_is_a_row(collected, tmp_path):
    write_dataset(read_sources([collected]), tmp_path / "out")
    found = read_dataset(tmp_path / "out")
    ran, full = (found.cells.iloc[place] for place in (0, 1))
    of = ran[["instance", "gpu", "framework", "framework_version", "precision"]].tolist()
    assert of == ["my.h200", "H200-SXM-141GB", "pytorch", "2.13.0", "tf32"]
    # Runs count from 1, as PROFET's.
    assert ran[["model", "pixels", "batch_size", "repeat", "status"]].tolist() == ["ResNet50", 224, 32, 1, "ok"]
    assert (ran["batch_latency_ms"], list(ran["latency_repeats_ms"])) == (20.0, [19.5, 20.0, 21.0])
    assert (ran["peak_memory_bytes"], ran["steps_profiled"]) == (3_000_000_001, 1)
    assert ran["recorded_at"] == "2026-11-22T07:00:00+00:00"
    times = found.operations[["operation", "time_us"]].to_numpy().tolist()
    assert times == [["Device_Conv2D", 15_000.0], ["Host_IDLE", 1.5]]
    assert (full["status"], full["why"], full["model"]) == ("out-of-memory", "no memory", "VGG19")
    assert full[["batch_latency_ms", "peak_memory_bytes", "steps_profiled"]].isna().all()
    facts = found.instances["my.h200"]
    assert (facts.gpu, facts.driver, facts.host) == ("H200-SXM-141GB", "570.1", '{"cores": 16}')
    assert (found.sources[0].kind, sorted(found.sources[0].files)) == ("collection", ["cells.jsonl", "manifest.json"])


def test_it_trains_beside_the_published_ones(collected, tables, tmp_path):
    joined = read_sources([tables, collected])
    assert sorted(joined.instances) == ["my.h200", "p2.xlarge", "p3.2xlarge"]
    assert [source.name for source in joined.sources] == ["my.h200", "profet"]
    alone = measurements_of(joined, ["my.h200"])
    assert alone.latency_ms["my.h200"].tolist() == [20.0]
    assert alone.times_us["my.h200"][0, list(alone.operations).index("Device_Conv2D")] == 15_000.0


def test_torn_and_damaged_lines_and_no_cells(collected, tmp_path):
    path = collected / "cells.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    assert read_store(collected).cells["model"].tolist() == ["ResNet50"]
    path.write_bytes(data.replace(b"15000.0", b"15001.0"))
    with pytest.raises(DataError, match=r"line 1 of cells\.jsonl is damaged"):
        read_store(collected)
    with open_store(tmp_path / "empty", MANIFEST):
        pass
    with pytest.raises(DataError, match="holds no measurements"):
        read_store(tmp_path / "empty")


def test_a_processor_that_stands_in_keeps_its_name(tmp_path):
    with open_store(tmp_path / "cpu", {**MANIFEST, "device": "cpu", "gpu": "Made L4 processor"}) as store:
        store.append(RAN)
    assert read_store(tmp_path / "cpu").instances["my.h200"].gpu == "Made L4 processor"


def published(table: pd.DataFrame) -> pd.DataFrame:
    """As PROFET's scripts have it: seconds, names in texts, 64-bit numbers; texts as pandas before 3 had them."""
    operations = [name for name in table if name.startswith(("Device_", "Host_"))]
    frame = table[operations].assign(
        exp_name=[f"exp{repeat:02d}" for repeat in table["repeat"]],
        instance_name=table["instance"],
        dataset=[f"{pixels}dataset" for pixels in table["pixels"]],
        model=table["model"],
        optimizer="SGD",
        batchsize=table["batch_size"],
        epoch_latency=table["epoch_latency_s"],
        batch_latency=table["batch_latency_ms"] / 1_000,
    )
    return of_old_texts(frame)


def of_old_texts(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.astype({name: object for name in frame if not pd.api.types.is_numeric_dtype(frame[name])})
    return frame.set_axis(pd.Index(list(frame), dtype=object), axis=1)


class _OldPickler(pickle._Pickler):
    """Writes frames as pandas 0.25 to 1.2 did: the manager's state holds everything twice, blocks are of mappings."""

    def reducer_override(self, found: object) -> object:
        if isinstance(found, BlockManager):
            axes = list(found.axes)
            blocks = [{"values": block.values, "mgr_locs": block.mgr_locs.indexer} for block in found.blocks]
            names = [axes[0][block.mgr_locs.indexer] for block in found.blocks]
            state = (axes, [block["values"] for block in blocks], names, {"0.14.1": {"axes": axes, "blocks": blocks}})
            return copyreg.__newobj__, (BlockManager,), state
        if isinstance(found, pd.RangeIndex):
            return _new_Index, (pd.Index, {"data": np.asarray(found), "name": None})
        return NotImplemented


def pickled_by_old_pandas(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    _OldPickler(file, 3).dump(frame)
    renamed = (
        (b"numpy._core.multiarray", b"numpy.core.multiarray"),
        (b"cpandas\nDataFrame", b"cpandas.core.frame\nDataFrame"),
    )
    data = file.getvalue()
    for new, old in renamed:
        assert new in data
        data = data.replace(new, old)
    return data


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_a_frame_of_objects_and_numbers_is_read(profiles, protocol):
    frame = published(profiles)
    found = frame_columns(pickle.dumps(frame, protocol=protocol))
    pd.testing.assert_frame_equal(of_old_texts(pd.DataFrame(found)[list(frame)]), of_old_texts(frame))


#: What pandas 1.5.3 with numpy 1.24.4 dumped under protocol 4, by zlib and base64: rows with an Int64Index.
OF_PANDAS_1_5 = """
eNqFU91OE0EULqVLKYpAjEoCMcQrvLCBSohGE5BWEFdrognxAjKZ3Q6dDbOzm91ZoEYSvRAhmSs5XtQ38RFMfBGfQs/MtrEo0d1kfnbPz/ed8513pc/r
pYJ99FRMZYumVT9KWHU3oSEDXWlQRdft+Qxuv4cjmNclErYT0DcHzQOpWCKpSKshlbTNkhT05TUR+XvP8zu6z+vrPRciAi/97QN6gmQyDvw9wYhnnNBa
X5NZGHfy8GEmVECThHYwLEmYH8lUJZmvjKFjDUGXMbY1OQO38AHqQx58hJcw7w7hWzwGPqGdlurEhoou7t6D05P8/7AeegjNZvPpT3zs4hYUeKf1yS/d
bvf+7I9VW6Dvn1YBP+tRLwsQjkTcTioCn9mEJosJ5xbNyi/xK3zKwOBX+yCKFsS0LgYDqfnsRYnn9rYrNudY3pvCZG+f6+0GCL+FQcfdkX9ndfpZX5wj
/PYPwism7w72yGGH8cIi5HsN9Fh8t1o7FDRpM+CP9FitttRCTaRMAV/TztbGxuIy8LoefrXRAN5gObCiW/5fOfKezPSq3O1+Xcn3bys9cqNuZTCGAgNv
+rzqWuyQpVUP4SBSItkB2TTfsCN8Szv9s1WtQQ1/w6jg5YFlPt5g+9hNUo/kfq2B2n8SpYpsNp49Bj2K1SDSjsQ4dl5RiYb5vdwvh3bCqMUEOkaxCsLg
DapeVzyqfJ7iBT3tmQiqmPQ7YEqlSzZIMzs2VXqtZy6ih/pmSeAjw02plpcGWPHtC2SGlztY1eGeVMqDkhF5JmYWHGScBoRoCPTnnYRMUVuqHSRElcJJ
PgI9QnYFbdvjDSpEdJCSVhaj+JELEvIYTvFJmnnVXxsZnt4=
"""


def test_the_bytes_of_a_real_old_pandas_are_read():
    data = zlib.decompress(base64.b64decode(OF_PANDAS_1_5))
    assert b"Int64Index" in data and b"_unpickle_block" in data and b"numpy.core.multiarray" in data
    assert frame_columns(data) == {
        "Device_Conv2D": [51_425.8, 1_203.0],
        "Host_IDLE": [613_483, 10],
        "exp_name": ["exp01", "exp02"],
        "instance_name": ["p3.2xlarge"] * 2,
        "dataset": ["224dataset"] * 2,
        "model": ["VGG16"] * 2,
        "optimizer": ["SGD"] * 2,
        "batchsize": [16, 32],
        "batch_latency": [0.1, 0.2],
    }


def test_big_endian_numbers_and_numpys_scalars_are_read():
    numbers = np.array([[1.5, -2.0]], dtype=">f8")
    frame = pd.DataFrame({"a": numbers[0], "b": np.array([np.int64(7), np.float32(0.5)], dtype=object)})
    assert frame_columns(pickle.dumps(of_old_texts(frame))) == {"a": [1.5, -2.0], "b": [7, 0.5]}


def test_the_allow_list_names_records_that_do_nothing():
    for kind in ALLOWED.values():
        assert issubclass(kind, Recorded) and kind("any", 1).args == ("any", 1)
        assert {name for name in vars(kind) if not name.startswith("__")} == set()
    assert {module.split(".")[0] for module, _ in ALLOWED} == {"pandas", "numpy", "builtins"}


def calling(module: str, name: str, argument: str) -> bytes:
    """A pickle that calls module.name(argument)."""
    return f"c{module}\n{name}\n(V{argument}\ntR.".encode()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("pandas.core.frame", "DataFrame.to_csv"),
        ("numpy.core.multiarray", "fromfile"),
    ],
)
def test_what_no_frame_needs_is_not_called(module, name, tmp_path):
    left = tmp_path / "left"
    with pytest.raises(ProfileError, match=f"it refers to '{module}.{name}', which measurements don't need"):
        frame_columns(calling(module, name, f"touch {left}"))
    assert not left.exists()


def test_a_call_within_a_frame_is_not_made(profiles, tmp_path):
    class Evil:
        def __reduce__(self) -> tuple:
            return os.system, (f"touch {tmp_path / 'left'}",)

    frame = published(profiles)
    frame.iloc[0, list(frame).index("model")] = Evil()
    with pytest.raises(ProfileError, match=r"it refers to 'posix\.system'"):
        frame_columns(pickle.dumps(frame))
    assert not (tmp_path / "left").exists()


HUGE_MEMO = b"\x80\x04N" + b"r" + struct.pack("<I", 2**32 - 2) + b"."


def doubled_lists() -> bytes:
    """A list in which a list stands twice, sixty deep: 2^60 elements to whoever goes through it."""
    pairs = (b"\x94](h" + bytes([place]) + b"h" + bytes([place]) + b"e" for place in range(60))
    return b"\x80\x04]" + b"".join(pairs) + b"."


@pytest.mark.parametrize(
    "made",
    [
        lambda: HUGE_MEMO,
        doubled_lists,
        lambda: b"no pickle",
        lambda: pickle.dumps([1, 2]),
        # A class that is built upon, an extension, and frames without or with another state.
        lambda: b"\x80\x02cpandas\nDataFrame\n}U\x07__new__cpandas\nIndex\nsb.",
        lambda: b"\x80\x02\x82\x01.",
        lambda: b"cpandas\nDataFrame\n)\x81N" + b"b.",
        lambda: b"cpandas\nDataFrame\n)\x81}b.",
        lambda: pickle.dumps(of_old_texts(pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}))),
        lambda: pickle.dumps(of_old_texts(pd.DataFrame({"a": [[1]]}))),
        lambda: pickle.dumps(of_old_texts(pd.DataFrame({"a": [1.0]})))[:-40],
    ],
)
def test_what_is_no_frame_is_one_line(made: Callable[[], bytes], tmp_path):
    limits = ReadLimits(memory_mb=300, cpu_s=10, wall_s=30.0)
    with pytest.raises(DataError) as caught:
        read_frame(tmp_path / "x.pickle", made(), limits)
    line = str(caught.value)
    assert line.startswith(f"{tmp_path}/x.pickle: it ") and "\n" not in line
    assert made() != HUGE_MEMO or "more than 300 MB of memory" in line


@pytest.fixture
def release(profiles, latencies, tmp_path) -> Path:
    """The files of PROFET's repository: frames of anchors repeat those of all instances."""
    folder = tmp_path / "release" / "data"
    files = {"pre_data/target_preprocessing": published(latencies)}
    for name in ("p2.xlarge", "p3.2xlarge"):
        own = published(profiles[profiles["instance"] == name])
        files[f"anchor_data/anchor_{name[:2]}"] = of_old_texts(own.assign(**{"g4dn.xlarge": 1.0}))
    for name, frame in files.items():
        path = folder / f"{name}.pickle"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickled_by_old_pandas(frame))
    return folder


def test_a_release_is_what_the_tables_are(release, dataset):
    found = read_pickles(pickles_in(release))
    pd.testing.assert_frame_equal(found.operations, dataset.operations)
    columns = [name for name in dataset.cells if name != "latency_repeats_ms"]
    pd.testing.assert_frame_equal(found.cells[columns], dataset.cells[columns], rtol=1e-12)
    assert found.sources[0].kind == "profet pickles"
    assert sorted(found.sources[0].files) == ["anchor_p2.pickle", "anchor_p3.pickle", "target_preprocessing.pickle"]


def test_releases_that_differ_are_refused(release, profiles):
    other = profiles[profiles["instance"] == "p2.xlarge"].assign(Host_IDLE=1.0)
    (release / "anchor_data" / "other.pickle").write_bytes(pickle.dumps(published(other)))
    with pytest.raises(DataError, match=r"two different profiles of one run \(p2\.xlarge, VGG11, 32, 20, 2\)"):
        read_pickles(pickles_in(release))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exp_name": "first"}, "'first' is not a repeat"),
        ({"optimizer": "Adam"}, "an optimizer other than SGD"),
        ({"batch_latency": "fast"}, "column batch_latency holds texts"),
        ({"batchsize": 1.5}, "'1.5' is not a batch_size"),
    ],
)
def test_a_frame_of_something_else_is_named(changes, said, latencies, tmp_path):
    path = tmp_path / "target.pickle"
    path.write_bytes(pickle.dumps(of_old_texts(published(latencies).assign(**changes))))
    with pytest.raises(DataError, match=said):
        read_pickles([path])
    path.write_bytes(pickle.dumps(published(latencies).drop(columns="model")))
    with pytest.raises(DataError, match=r"target\.pickle: its frame has no column model"):
        read_pickles([path])
