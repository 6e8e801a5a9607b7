"""PROFET's raw folders: a CSV of statistics and a file of times a run, in both of its layouts."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from profet_lab.datasets.sources.raw import read_raw
from profet_lab.measurements.tables import DataError

CSV = (
    "Rank,Host/device,Type,Operation,#Occurrences,Total time (us),Avg. time (us)\n"
    "1,Device,Conv2D,a/Conv2D,2,1000,500\n2,Device,Conv2D,b/Conv2D,2,500,250\n"
    "3,Device,IDLE,IDLE,0,300,0\n4,Host,IDLE,IDLE,0,4000,0\n"
)
RUN = "p2.xlarge-64-VGG16-SGD-32-1-20220301-101010"
TIMES = [60.0, [0.9, 0.1], 30.0, [0.002, 0.001, 0.004]]


def put(path: Path, content: str | list) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else pickle.dumps(content))


def test_the_published_layout_is_read(tmp_path):
    for number, csv in ((1, CSV), (2, CSV.replace("1000,500", "2000,1000"))):
        folder = tmp_path / f"exp{number:02d}" / "g3s.xlarge"
        put(folder / "g3s.xlarge-128dataset-AlexNet-SGD-16-20210202-1426402021_02_02_14_29_22.csv", csv)
        put(
            folder / "times-g3s.xlarge-128dataset-AlexNet-SGD-16-20210202-150000.pickle",
            [*TIMES[:2], 30.0 + number, TIMES[3]],
        )
    found = read_raw(tmp_path)
    cells = found.cells
    assert cells[["instance", "model", "pixels", "batch_size", "repeat"]].to_numpy().tolist() == [
        ["g3s.xlarge", "AlexNet", 128, 16, 1],
        ["g3s.xlarge", "AlexNet", 128, 16, 2],
    ]
    # The median step of the second epoch, and that epoch.
    assert cells["batch_latency_ms"].tolist() == [2.0, 2.0] and cells["epoch_latency_s"].tolist() == [31.0, 32.0]
    assert cells["steps_profiled"].tolist() == [2, 2] and cells["gpu"].tolist() == ["Tesla M60"] * 2
    assert cells[["framework", "framework_version", "precision"]].iloc[0].tolist() == ["tensorflow", "2.5", "fp32"]
    first = found.operations[found.operations["cell"] == 0]
    assert dict(zip(first["operation"], first["time_us"], strict=True)) == {
        "Device_Conv2D": 750.0,
        "Device_IDLE": 150.0,
        "Host_IDLE": 2_000.0,
    }
    convolutions = found.operations[found.operations["operation"] == "Device_Conv2D"]
    assert convolutions["time_us"].tolist() == [750.0, 1_250.0]


def test_what_the_scripts_write_today_is_read_and_repeats_are_counted_by_time(tmp_path):
    for day, epoch_s in (("20220302", 33.0), ("20220301", 32.0)):
        put(tmp_path / f"p3.2xlarge-64-VGG16-SGD-32-1-{day}-101010.1234562022_03_01_10_15_00.csv", CSV)
        put(
            tmp_path / f"times-p3.2xlarge-64-VGG16-SGD-32-1-{day}-111111.123456.pickle", [*TIMES[:2], epoch_s, TIMES[3]]
        )
    put(tmp_path / "times-p3.2xlarge-64-VGG16-SGD-64-2-20220301-101010.1.pickle", TIMES)
    put(tmp_path / "p3.2xlarge-64-VGG19-SGD-64-1-20220301-101010.12022.csv", CSV)
    notes: list[str] = []
    cells = read_raw(tmp_path, notes.append).cells
    assert cells[["instance", "batch_size", "repeat", "epoch_latency_s"]].to_numpy().tolist() == [
        ["p3.2xlarge", 32, 1, 32.0],
        ["p3.2xlarge", 32, 2, 33.0],
    ]
    assert sorted(notes) == [
        "1 files are of several GPUs or use an optimizer other than SGD and are skipped",
        "1 profiles have no file of times and are skipped",
    ]


def test_a_file_that_says_how_many_steps_it_covers_is_believed(tmp_path):
    # Every operation ran three times.
    ran = CSV.replace(",2,1000,", ",3,1000,").replace(",2,500,", ",3,500,")
    update = "5,Device,ResourceApplyGradientDescent,c/ResourceApplyGradientDescent,3,30,10\n"
    put(tmp_path / "p3.2xlarge-64-VGG16-SGD-32-1-20220301-101010.csv", ran + update)
    put(tmp_path / "times-p3.2xlarge-64-VGG16-SGD-32-1-20220301-101010.pickle", TIMES)
    found = read_raw(tmp_path)
    assert found.cells["steps_profiled"].tolist() == [3]
    assert found.operations["time_us"].tolist() == [500.0, 100.0, 10.0, pytest.approx(4_000 / 3)]
    # One that does not say is of two steps, as PROFET's recipe has it.
    untold = "Host/device,Type,Total time (us)\nDevice,Conv2D,1000\nHost,IDLE,10\n"
    put(tmp_path / "p3.2xlarge-64-VGG16-SGD-32-1-20220301-101010.csv", untold)
    found = read_raw(tmp_path)
    assert found.cells["steps_profiled"].tolist() == [2] and found.operations["time_us"].tolist() == [500.0, 5.0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (f"times-{RUN}.pickle", "cos\nsystem\n(Vtrue\ntR.", r"refers to 'os\.system'"),
        (f"times-{RUN}.pickle", "", "is empty"),
        ("readme.csv", CSV, "holds no raw files such as"),
    ],
)
def test_what_cannot_be_read_is_one_line(name, content, said, tmp_path):
    put(tmp_path / name, content)
    with pytest.raises(DataError, match=said) as caught:
        read_raw(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_damaged_csv_and_two_files_of_one_run_are_named(tmp_path):
    put(tmp_path / f"times-{RUN}.pickle", TIMES)
    put(tmp_path / f"{RUN}.csv", CSV.replace("1000,500", "much,1"))
    with pytest.raises(DataError, match=RUN):
        read_raw(tmp_path)
    for folder in ("a", "copy of a"):
        put(tmp_path / "copies" / folder / f"times-{RUN}.123456.pickle", TIMES)
    with pytest.raises(DataError, match=r"a/times-.* and .*copy of a/times-.* are of one run"):
        read_raw(tmp_path / "copies")
    for time in ("101010", "111111"):
        put(tmp_path / "exp01" / "p2.xlarge" / f"times-p2.xlarge-64-VGG16-SGD-32-1-20220301-{time}.pickle", TIMES)
    with pytest.raises(DataError, match="are of one run"):
        read_raw(tmp_path / "exp01")


@pytest.mark.parametrize(
    ("written", "instance"),
    [
        ("n1-standard-4-64-VGG16", "n1-standard-4"),
        ("Standard_NC6s_v3-64-VGG16", "Standard_NC6s_v3"),
        ("g3s.xlarge-g3s.xlarge-64dataset-VGG16", "g3s.xlarge"),
        ("64dataset-VGG16", "folder"),
    ],
)
def test_instances_of_any_cloud_keep_their_whole_name(written, instance, tmp_path):
    put(tmp_path / "folder" / f"times-{written}-SGD-32-20220301-101010.pickle", TIMES)
    put(tmp_path / "folder" / f"{written}-SGD-32-20220301-1010102022_03_01_10_15_00.csv", CSV)
    found = read_raw(tmp_path).cells.iloc[0]
    assert found[["instance", "model", "pixels", "batch_size"]].tolist() == [instance, "VGG16", 64, 32]
    assert found["steps_profiled"] == 2
