"""The operation statistics as CSV, JSON and tensorflow_stats.pb: columns, several steps, cut lists, damaged tables."""

from __future__ import annotations

import codecs
import gzip
import json

import pytest

from profet_core import read_profile
from profet_profiles import statistics as reader
from tests.made.protobuf import entry
from tests.made.refused import refusal
from tests.made.tensorflow_stats import tensorflow_stats

NEW = "Rank,Host/device,Operation Type,Operation Name,#Occurrences,Total time (us),Total self-time (us)"
OLD = "Rank,Host/device,Type,Operation,#Occurrences,Total time (us),Total self-time (us)"
ROWS = [
    "1,Device,IDLE,IDLE,0,300,300",
    "2,Device,Conv2D,secret_net/a/Conv2D,1,100.5,100.5",
    "3,Device,Conv2D,secret_net/b/Conv2D,2,20,20",
    "4,Host,Dataset,Iterator::Root,16,50,10",
    "5,Host,IDLE,IDLE,0,7,7",
    "6,Host,Conv2D,secret_net/a/Conv2D,1,1e-1,0.1",
]
EXPECTED = {"Device_Conv2D": 120.5, "Device_IDLE": 300.0, "Host_Conv2D": 0.1, "Host_Dataset": 50.0, "Host_IDLE": 7.0}


def csv_of(*rows: str, header: str = NEW) -> bytes:
    return "\n".join([header, *rows]).encode()


def json_of(*rows: str) -> bytes:
    """The same rows as XProf's table."""
    names = ["rank", "host_or_device", "type", "operation", "occurrences", "total_time", "total_self_time"]
    columns = [{"id": name, "label": label} for name, label in zip(names, NEW.split(","), strict=True)]
    cells = [
        [{"v": text if index in (1, 2, 3) else float(text)} for index, text in enumerate(r.split(","))] for r in rows
    ]
    table = {"cols": columns, "rows": [{"c": row} for row in cells]}
    return json.dumps([table, {"cols": columns, "rows": []}]).encode()


@pytest.mark.parametrize(
    "data",
    [
        csv_of(*ROWS),
        csv_of(*ROWS, header=OLD),
        codecs.BOM_UTF8 + csv_of(*ROWS),
        csv_of(*ROWS).replace(b"\n", b"\r\n") + b"\r\n\r\n",
        csv_of(*ROWS).replace(b",", b"\t"),
        "\n".join(",".join(f'"{cell}"' for cell in row.split(",")) for row in [NEW, *ROWS]).encode(),
    ],
    ids=["new", "old", "byte-order mark", "Windows", "tabs", "quoted"],
)
def test_total_time_is_summed_by_side_and_type(data):
    profile = read_profile(data)
    assert dict(profile.operations) == EXPECTED
    assert (profile.source_format, profile.steps, profile.warnings) == ("statistics CSV", 1, ())
    assert profile.meta.framework == "TensorFlow"
    assert "secret" not in repr(profile)


def test_the_json_table_gives_the_same_and_may_stand_alone_and_lack_labels():
    profile = read_profile(json_of(*ROWS))
    assert dict(profile.operations) == EXPECTED
    assert profile.source_format == "XProf framework_op_stats JSON"
    table = json.loads(json_of(*ROWS))[0]
    for column in table["cols"]:
        del column["label"]
    assert dict(read_profile(json.dumps(table).encode()).operations) == EXPECTED


def test_steps_are_counted_from_how_often_operations_ran_and_that_is_reported():
    rows = ["1,Device,IDLE,IDLE,0,300,300", "2,Device,Conv2D,a,3,90,90", "4,Host,Dataset,Iterator::Root,16,60,10"]
    profile = read_profile(csv_of(*rows))
    assert profile.steps == 3
    assert dict(profile.operations) == {"Device_Conv2D": 30, "Device_IDLE": 100, "Host_Dataset": 20}
    assert profile.warnings == (
        "Every operation ran 3 times or a multiple of that: the times were divided by 3 steps.",
    )
    counted = read_profile(csv_of(*ROWS))
    assert (counted.steps, counted.steps_basis, counted.may_be_cut) == (1, "counted", False)
    uncounted = read_profile(b"Host/device,Type,Total time (us)\nHost,IDLE,5\nHost,Mul,6")
    assert (uncounted.steps, uncounted.steps_basis) == (1, "assumed")
    assert dict(uncounted.operations) == {"Host_IDLE": 5, "Host_Mul": 6}
    undecided = read_profile(csv_of("1,Host,IDLE,IDLE,0,5,5", "2,Device,Relu,a,2,5,5", "3,Device,Mul,b,3,5,5"))
    assert (undecided.steps, undecided.steps_basis) == (1, "assumed")
    assert "more than 10,000 times" in refusal(csv_of("1,Host,MatMul,a,1e300,5,5", "2,Host,IDLE,IDLE,0,5,5"))


def test_a_forward_pass_is_refused_unless_a_name_is_of_a_gradient_and_missing_idle_time_said():
    forward = ["1,Device,IDLE,IDLE,0,300,300", "2,Device,MatMul,net/d/MatMul,1,90,90"]
    assert read_profile(csv_of(*forward)).refusal.startswith("This profile has only a forward pass")
    assert read_profile(csv_of(*forward, "3,Device,MatMul,gradient_tape/net/d/MatMul,1,90,90")).refusal == ""
    (warning,) = read_profile(csv_of("1,Host,Mul,a,1,2,2")).warnings
    assert warning.startswith("The statistics exclude idle time")


@pytest.mark.parametrize("first", ["", "replica_0/"])
def test_statistics_that_add_up_several_gpus_are_refused(first):
    names = [first, *(f"replica_{number}/" for number in range(1, 4))]
    rows = [f"{n},Device,Conv2DBackpropInput,{name}net/c,1,90,90" for n, name in enumerate(names)]
    assert "times of 4 GPUs" in read_profile(csv_of("1,Device,IDLE,IDLE,0,3,3", *rows)).refusal
    assert not read_profile(csv_of("1,Device,IDLE,IDLE,0,3,3", rows[0])).refusal


@pytest.mark.parametrize(("rows", "idle", "cut"), [(500, True, True), (499, True, False), (499, False, True)])
def test_a_list_of_500_rows_was_cut(rows, idle, cut):
    listed = [f"{n},Device,Mul,a{n},1,2,2" for n in range(rows - idle)] + ["0,Device,IDLE,IDLE,0,9,9"] * idle
    warnings = read_profile(csv_of(*listed, "1,Host,IDLE,IDLE,0,7,7")).warnings
    assert any("only the 500 costliest operations of the device" in text for text in warnings) == cut
    assert not any("of the host" in text for text in warnings)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (csv_of(), "No operation was found"),
        (csv_of("1,Host,Mul,a,1,x,2"), "Row 2 of the table has 'x' where a number of 0 or more belongs"),
        (csv_of("1,Host,Mul,a,1,-2,2"), "Row 2 of the table has '-2'"),
        (csv_of('1,Host,Mul,a,1,"10,12",2'), "Row 2 of the table has '10,12'"),
        (csv_of("1,Host,Mul,a,1,1e999,2"), "Row 2 of the table has '1e999'"),
        (csv_of("1,Host,Mul,a,1,1e300,2"), "an implausible time"),
        (csv_of("1,Host,Mul,a,1,0,2"), "Every operation took 0 microseconds"),
        (csv_of("1,Tail,Mul,a,1,2,2"), "Row 2 of the table is neither Host nor Device but 'Tail'"),
        (csv_of("1,Host,Mul"), "Row 2 of the table is truncated"),
        (csv_of('1,Host,"Mul'), "of the table is damaged"),
        (csv_of("1,Host,Mul,\xff,1,2,2").replace(b"\xc3\xbf", b"\xff"), "not UTF-8"),
        (csv_of(header=NEW.replace("Total time (us)", "Time")), "lacks a column"),
        (csv_of("1,Host,Mul," + "a" * 200_000 + ",1,2,2"), "of the table is damaged"),
        (b'{"cols": [{"id": "host_or_device"}]}', 'not a table of "cols" and "rows"'),
        (b'{"cols": 5, "rows": [], "host_or_device": 1}', 'not a table of "cols" and "rows"'),
        (b'[{"cols": [{"id": "host_or_device"}], "rows": []}]', "lacks a column"),
        (json_of(*ROWS).replace(b'"v": 300.0', b'"v": true'), "Row 2 of the table has True"),
        (json_of(*ROWS).replace(b'"v": 300.0', b'"v": [1]'), "Row 2 of the table has [1]"),
        (json_of(*ROWS).replace(b'{"v": 300.0}', b"7"), 'not a table of "cols" and "rows"'),
    ],
)
def test_what_can_not_be_summed_is_refused_in_one_line(data, says):
    assert says in refusal(data)


RECORDS = [
    ("Device", "IDLE", "IDLE", 0, 300.0),
    ("Device", "Conv2D", "secret_net/a/Conv2D", 2, 100.5),
    ("Device", "Conv2D", "secret_net/b/Conv2D", 4, 20.0),
    ("Device", "ResourceApplyAdam", "Adam/Adam/update/ResourceApplyAdam", 2, 8.0),
    ("Device", "Unknown", "MakeTensorFromProto", 2, 4.0),
    ("Host", "Dataset", "Iterator::Root", 17, 50.0),
    ("Host", "IDLE", "IDLE", 0, 7.0),
]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_times_are_those_of_one_step(pack):
    profile = read_profile(pack(tensorflow_stats(RECORDS)))
    assert dict(profile.operations) == {
        "Device_Conv2D": 60.25,
        "Device_IDLE": 150.0,
        "Device_MemcpyHToD": 2.0,
        "Device_ResourceApplyAdam": 4.0,
        "Host_Dataset": 25.0,
        "Host_IDLE": 3.5,
    }
    assert (profile.steps, profile.steps_basis) == (2, "counted")
    assert (profile.source_format, profile.meta.framework) == ("TensorFlow tensorflow_stats.pb", "TensorFlow")
    assert profile.refusal == "" and "secret" not in repr(profile)


def test_the_table_without_idle_time_is_read_alone_and_a_bomb_of_records_refused():
    database = reader.messages().Database.FromString(tensorflow_stats(RECORDS))
    database.ClearField("with_idle")
    profile = read_profile(database.SerializeToString())
    assert profile.operations["Device_Conv2D"] == 60.25 and "Device_IDLE" not in profile.operations
    assert any("exclude idle time" in warning for warning in profile.warnings)
    database = tensorflow_stats([("Host", "Mul", "a", 1, 1.0)])
    record = database[2 : 2 + database[1]]
    assert "neither Host nor Device" in refusal(entry(4, record + b"\x0a\x00" * 100_000))


@pytest.mark.parametrize("kind", ["TPUExecute", "_TPUCompileMlir", "InfeedEnqueueTuple"])
def test_a_tpus_statistics_are_refused_by_name(kind):
    assert "TPU" in refusal(tensorflow_stats([("Device", "Conv2D", "c", 1, 50.0), ("Host", kind, "t", 1, 9.0)]))
