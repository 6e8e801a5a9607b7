"""TensorFlow's trace.json: the same rules as for the xplane.pb it is made from."""

from __future__ import annotations

import gzip

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles import tensorflow_trace as reader
from tests.unit.made_chrome_traces import tensorflow_trace, tf_event, tf_step


def test_the_mean_of_two_steps():
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), *tf_step(1, 1000)]))
    assert dict(profile.operations) == pytest.approx(
        {
            "Device_Conv2D": 40.0,
            "Device_Relu": 10.0,
            # From the first kernel at 120 to the end of the last copy at 1,420, less 100 that have an operation.
            "Device_IDLE": (1300 - 100) / 2,
            "Host_Conv2D": 50.0,
            "Host_Relu": 25.0,
            "Host_Dataset": 30.0,
            # One thread from 100 to 1,225 with 150 in operations, one from 20 to 1,050 with 60.
            "Host_IDLE": (1125 - 150 + 1030 - 60) / 2,
        }
    )
    assert (profile.steps, profile.meta.framework, profile.source_format) == (2, "TensorFlow", "TensorFlow trace.json")
    assert (profile.warnings, profile.ignored) == ((), ())
    assert "secret" not in repr(profile)


def test_gzip_changes_nothing():
    data = tensorflow_trace(tf_step(0, 0))
    assert read_profile(gzip.compress(data)) == read_profile(data)


@pytest.mark.parametrize("sample", ["tensorflow-step", "tensorflow-3-steps"])
def test_a_recorded_step_reads_as_its_xplane_does(repository, sample):
    folder = repository / "sample_traces" / "formats"
    (xplane,) = folder.glob(f"{sample}.xplane.pb*")
    expected = read_profile(xplane.read_bytes())
    found = read_profile((folder / f"{sample}.trace.json.gz").read_bytes())
    assert dict(found.operations) == pytest.approx(dict(expected.operations), rel=1e-3)
    assert found.operations["Host_IDLE"] > 0
    assert found.steps == expected.steps


def test_without_marks_the_runs_of_every_operation_tell_the_steps_as_in_the_statistics():
    def unmarked(*steps: list[dict]):
        events = [event for step in steps for event in step if not event["name"].startswith("train")]
        return read_profile(tensorflow_trace(events))

    two = unmarked(tf_step(0, 0), tf_step(1, 1000))
    assert (two.steps, two.operations["Device_Conv2D"]) == (2, 40)
    assert two.warnings == ("The trace marks none of its steps, but every operation ran 2 times: divided by 2.",)
    one = unmarked(tf_step(0, 0))
    assert (one.steps, one.operations["Device_Conv2D"]) == (1, 40)
    assert one.warnings == ("The trace marks no step: it is read as one.",)


def test_a_step_that_began_before_the_profiler_counts_without_its_mark():
    def steps(*marked: int):
        events = [tf_event("MatMul", 100 * run, 10, long_name="net/dense/MatMul:MatMul") for run in range(3)]
        marks = [tf_event(f"train {number}", 100 * number, 90, step_num=str(number)) for number in marked]
        return read_profile(tensorflow_trace([*marks, *events]))

    assert (steps(1).steps, steps(1).operations["Host_MatMul"]) == (3, 10)
    assert len(steps(1).warnings) == 1 and "3 times" in steps(1).warnings[0]
    assert (steps(0, 1, 2).steps, steps(0, 1, 2).warnings) == (3, ())


def test_threads_of_other_processes_are_named_as_ignored():
    events = [*tf_step(0, 0), tf_event("Conv2D", 5, 5, pid=8, long_name="a:Conv2D")]
    profile = read_profile(tensorflow_trace(events))
    assert profile.operations["Host_Conv2D"] == 50
    assert profile.ignored == ("1 threads that are neither the host's nor a GPU's",)


def test_kernels_without_an_operation_are_left_out_and_warned_about():
    fused = [tf_event("fusion_12", 600, 150, pid=1, tid=14)]
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), *fused]))
    assert profile.meta.compiled is True
    # 150 of 220 us of kernels and copies.
    assert profile.warnings[0].startswith("68% of the GPU's time belongs to kernels without a TensorFlow operation")


def test_precision_is_told_by_the_kernels():
    half = tf_event("turing_h1688gemm_128x128", 600, 10, pid=1, tid=14, tf_op="a:MatMul")
    assert read_profile(tensorflow_trace([*tf_step(0, 0), half])).meta.precision == "amp"


def test_a_trace_that_xprof_cut_says_so(monkeypatch):
    monkeypatch.setattr(reader, "XPROF_MAX_EVENTS", 5)
    assert "upload the xplane.pb beside it" in read_profile(tensorflow_trace(tf_step(0, 0))).warnings[0]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (tensorflow_trace([]), "no operation of a /host:CPU or /device:GPU:N process"),
        (tensorflow_trace(tf_step(0, 0), {5: "/device:TPU:0"}), "no operation of a /host:CPU"),
        (tensorflow_trace(tf_step(0, 0))[:-60], "cut short"),
        (gzip.compress(tensorflow_trace(tf_step(0, 0)))[:-9], "cut short"),
        (tensorflow_trace([tf_event("a", 0, 1e17, long_name="a:Mul")]), "a time that no training step takes"),
        (tensorflow_trace([tf_event("a", i, 1, long_name=f"a:T{i}") for i in range(5001)]), "5002 operation types"),
        (tensorflow_trace([tf_event("a", i, 1, tid=i) for i in range(10_001)]), "more than 10,000 threads"),
        (tensorflow_trace([tf_event("t", i, 1, step_num=i) for i in range(50_001)]), "50,000 different names"),
    ],
)
def test_what_can_not_be_read_is_refused_in_one_line(data, says):
    with pytest.raises(ProfileError) as caught:
        read_profile(data, "trace.json")
    assert says in str(caught.value)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "odd",
    [
        {"ts": None},
        {"dur": "5"},
        {"dur": -5},
        {"ts": 10**400},
    ],
)
def test_events_without_a_valid_time_are_counted(odd):
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), tf_event("a", 0, 5, long_name="a:Mul") | odd]))
    assert "Host_Mul" not in profile.operations
    assert profile.ignored == ("1 events without a valid time",)


@pytest.mark.parametrize("odd", [{"args": 5}, {"name": None}, {"pid": [1]}, {"tid": {}}, {"ph": 1}])
def test_odd_events_break_nothing(odd):
    plain = read_profile(tensorflow_trace(tf_step(0, 0)))
    found = read_profile(tensorflow_trace([*tf_step(0, 0), tf_event("other", 10, 5) | odd]))
    assert found.operations == plain.operations
