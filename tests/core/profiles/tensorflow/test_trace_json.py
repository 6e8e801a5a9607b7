"""TensorFlow's trace.json: the same rules as for the xplane.pb it is made from."""

from __future__ import annotations

import pytest

from profet_core import ProfileError, read_profile
from profet_core.profiles.tensorflow import trace_json as reader
from tests.made.chrome_traces import tensorflow_trace, tf_event, tf_step


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


def test_threads_of_other_processes_are_named_as_ignored():
    events = [*tf_step(0, 0), tf_event("Conv2D", 5, 5, pid=8, long_name="a:Conv2D")]
    profile = read_profile(tensorflow_trace(events))
    assert profile.operations["Host_Conv2D"] == 50
    assert profile.ignored == ("1 threads that belong to neither the host nor a GPU",)


def test_kernels_without_an_operation_count_by_their_names():
    named = [tf_event("volta_h884gemm_64x64", 600, 150, pid=1, tid=14), tf_event("fusion_12", 600, 50, pid=1, tid=14)]
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), *named]))
    assert (profile.operations["Device_MatMul"], profile.operations["Device_Unknown"]) == (150, 50)
    assert (profile.meta.compiled, profile.meta.precision) == (True, "amp")
    (warning,) = profile.warnings
    assert warning.startswith("60% of the GPU time is in kernels that name no operation")


def test_a_forward_pass_and_a_jax_trace_are_refused_by_name():
    assert read_profile(tensorflow_trace(tf_step(0, 0))).refusal.startswith("This is a forward pass")
    gradient = tf_event("k", 500, 5, pid=1, tid=14, tf_op="gradient_tape/secret/d/MatMul:MatMul")
    assert read_profile(tensorflow_trace([*tf_step(0, 0), gradient])).refusal == ""
    with pytest.raises(ProfileError, match="This is a JAX profile"):
        read_profile(tensorflow_trace([tf_event("PjitFunction(f)", 0, 10), tf_event("a", 0, 1, pid=1, tid=14)]))


def test_a_trace_that_xprof_cut_says_so(monkeypatch):
    monkeypatch.setattr(reader, "XPROF_MAX_EVENTS", 5)
    assert "upload the xplane.pb beside it" in read_profile(tensorflow_trace(tf_step(0, 0))).warnings[0]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (tensorflow_trace([]), "no operation of a /host:CPU or /device:GPU:N process"),
        (tensorflow_trace(tf_step(0, 0), {5: "/device:FPGA:0"}), "no operation of a /host:CPU"),
        (tensorflow_trace(tf_step(0, 0))[:-60], "truncated"),
        (tensorflow_trace([tf_event("a", 0, 1e17, long_name="a:Mul")]), "an implausible time"),
    ],
)
def test_what_can_not_be_read_is_refused_in_one_line(data, says):
    with pytest.raises(ProfileError) as caught:
        read_profile(data, "trace.json")
    assert says in str(caught.value)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 250


def test_traces_without_end_are_refused(monkeypatch):
    monkeypatch.setattr(reader, "MAX_NAMES", 100)
    monkeypatch.setattr(reader, "MAX_THREADS", 200)
    for events, says in (
        ([tf_event("t", i, 1, step_num=i) for i in range(101)], "more than 100 different names"),
        ([tf_event("a", i, 1, tid=i) for i in range(201)], "more than 200 threads"),
    ):
        with pytest.raises(ProfileError, match=says):
            read_profile(tensorflow_trace(events))


def test_odd_events_break_nothing_and_those_without_a_valid_time_are_counted():
    untimed = [{"ts": None}, {"dur": "5"}, {"dur": -5}, {"ts": 10**400}]
    odd = [tf_event("a", 0, 5, long_name="a:Mul") | change for change in untimed]
    changes = [{"args": 5}, {"name": None}, {"pid": [1]}, {"tid": {}}, {"ph": 1}]
    odd += [tf_event("other", 10, 5) | change for change in changes]
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), *odd]))
    assert profile.operations == read_profile(tensorflow_trace(tf_step(0, 0))).operations
    assert "4 events without a valid time" in profile.ignored
