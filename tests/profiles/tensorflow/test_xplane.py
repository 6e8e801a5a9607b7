"""xplane.pb: exact totals of made-up GPU steps, several steps, and hostile files."""

from __future__ import annotations

import gzip

import pytest

from profet_core import read_profile
from profet_lab.measurements.tables import data_folder
from profet_profiles.protobuf_wire import PIECE_BYTES
from profet_profiles.record import NO_WORK
from profet_profiles.xplane import messages
from tests.made.protobuf import entry
from tests.made.refused import refusal
from tests.made.xplane import GPU_STEP_US, Ref, gpu_step, kernel, step_marker, xplane


def read(planes) -> dict[str, float]:
    return dict(read_profile(xplane(planes)).operations)


def device(*events, line="Stream #14(Compute)") -> dict[str, float]:
    return read({"/device:GPU:0": {line: list(events)}})


def host(*events) -> dict[str, float]:
    return read({"/host:CPU": {"python": list(events)}})


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_gpu_step_adds_up_as_by_hand(pack):
    profile = read_profile(pack(xplane(gpu_step("secret_net"), host_name="secret-host")))
    assert dict(profile.operations) == GPU_STEP_US
    assert (profile.steps, profile.source_format) == (1, "TensorFlow xplane.pb")
    assert (profile.meta.framework, profile.meta.batch_size) == ("TensorFlow", 64)
    assert (profile.ignored, profile.warnings, profile.may_be_cut) == ((), (), False)
    assert "secret" not in repr(profile)


def test_of_several_gpus_the_busiest_is_read_with_its_own_idle_time():
    one = {"Stream #1": [kernel("a:Conv2D", 100, 10), kernel("a:Conv2D", 150, 10)]}
    two = {"Stream #1": [kernel("a:Conv2D", 100, 20), kernel("a:NcclAllReduce", 250, 10)]}
    copies = {"Stream #1": [("MemcpyH2D", 0, 900, {"tf_op": "a:_Recv"})]}
    marks = {"python": [step_marker(1, 0, 100, batch_size=64)]}
    planes = {"/host:CPU": marks, "/device:GPU:0": one, "/device:GPU:3": two, "/device:GPU:4": copies}
    profile = read_profile(xplane(planes))
    assert dict(profile.operations) == {"Device_Conv2D": 20, "Device_NcclAllReduce": 10, "Device_IDLE": 160 - 30}
    assert profile.warnings == (
        "2 GPUs ran this step. Only GPU 3 is read, with its share of the batch; communication between GPUs "
        "(NCCL) counts as an operation of the step.",
    )
    assert profile.meta.batch_size == 32


@pytest.mark.parametrize(
    ("line_id", "expected_us"),
    [(0xDEADBEEF - 2**32, 10), (0xDEADBEEF + 389, 10), (0xDEADBEEF - 1, 20), (0xDEADBEEF + 500, 20)],
)
def test_lines_with_a_derived_number_do_not_count(line_id, expected_us):
    for plane in ("/host:CPU", "/device:GPU:0"):
        event = ("a:Mul", 0, 10, {"tf_op": "a:Mul"})
        space = messages().Space.FromString(xplane({plane: {"first": [event], "second": [event]}}))
        space.planes[0].lines[1].id = line_id
        profile = read_profile(space.SerializeToString()).operations
        assert [us for name, us in profile.items() if "Mul" in name] == [expected_us]


def test_a_threads_operations_count_in_full_and_names_are_no_types():
    nested = host(("Iterator::A", 0, 100, {}), ("Iterator::A::B", 20, 30, {}), ("x:Mul", 150, 10, {}))
    assert nested == {"Host_Dataset": 130, "Host_Mul": 10, "Host_IDLE": 50}
    names = ["train_function", "ThreadpoolListener::StartRegion", "b:bad-type", "c d:Conv2D", "_a/b:_Send"]
    others = [(name, 0, 1000, {}) for name in (*names, "-b:Add", "a^b:Mul", "b:9ul", "b:Cu:l")]
    assert host(*others, ("a:Mul", 100, 10, {})) == {"Host_Mul": 10, "Host_IDLE": 0}
    for name in ("net/secret_3:", "x:secret", "x:__inference_secret_layer_5", "x:secret_op[a=1]"):
        assert host((name, 0, 10, {})) == {"Host_Unknown": 10, "Host_IDLE": 0}
    for name in ("x:secret", "secret", "c d:Conv2D", "a/b:XlaLaunch;Z"):
        assert device(kernel(name, 0, 10)) == {"Device_Unknown": 10, "Device_IDLE": 0}


def steps_of(*markers, **planes):
    return read_profile(xplane({"/host:CPU": {"t": [*markers, ("a:Mul", 0, 90, {})]}, **planes}))


def test_steps_are_marked_on_the_host_or_device_or_counted_by_runs_or_assumed():
    profile = steps_of(*(step_marker(number, number * 100, 100) for number in (7, 8, 9)))
    assert (profile.steps, dict(profile.operations)) == (3, {"Host_Mul": 30, "Host_IDLE": 0})
    assert profile.steps_basis == "marked"
    assert steps_of(step_marker(1, 0, 100), step_marker(1, 100, 100)).steps == 1, "one that is marked twice"
    markers = [step_marker(number, number * 10, 10) for number in range(4)]
    assert steps_of(*markers, ("epoch", 0, 40, {"step_num": 0})).steps == 4, "the more frequent kind of marks"
    unnumbered = [("odd", 0, 1, {}), *(("odd", at, 1, {"step_num": at}) for at in (1, 2))]
    assert steps_of(*unnumbered).steps_basis == "assumed", "the first of a kind has no number"
    device_steps = {"Steps": [("0", 0, 100, {}), ("1", 100, 100, {})], "Stream #1": [kernel("a:Relu", 0, 10)]}
    profile = steps_of(**{"/device:GPU:0": device_steps})
    assert profile.steps == 2 and profile.operations["Device_Relu"] == 5
    profile = steps_of()
    assert (profile.steps, profile.steps_basis, profile.warnings) == (1, "assumed", ())
    runs = [(f"net/{name}:Mul", 100 * run, 10, {}) for name in "abcdefgh" for run in range(2)]
    profile = read_profile(xplane({"/host:CPU": {"t": [*runs, ("net/cut:Mul", 900, 10, {})]}}))
    assert (profile.steps, profile.steps_basis) == (2, "counted"), "one that ran once less does not decide"


@pytest.mark.parametrize(
    ("name", "marked", "ran", "steps"),
    [
        ("net/a:Mul", 2, 3, 3),
        ("net/a:Mul", 1, 4, 1),
        ("net/a:Mul", 3, 3, 3),
        ("net/a:Mul", 2, 1, 2),
        # Eager operations share a name, and the input pipeline reads ahead.
        ("a:Mul", 1, 3, 1),
        ("Iterator::net/a", 1, 3, 1),
    ],
)
def test_the_first_and_the_last_step_may_lack_a_mark(name, marked, ran, steps):
    markers = [step_marker(number, number, 1) for number in range(marked)]
    events = [(name, 100 * run, 10, {}) for run in range(ran)]
    profile = read_profile(xplane({"/host:CPU": {"t": [*markers, *events]}}))
    assert profile.steps == steps
    assert [us for name, us in profile.operations.items() if "IDLE" not in name] == [pytest.approx(10 * ran / steps)]
    assert [str(ran) in text for text in profile.warnings] == ([True] if steps > marked else [])


@pytest.mark.parametrize(("sizes", "known"), [((16, 16), 16), ((16, 8), None), ((0, 0), None)])
def test_the_batch_size_that_keras_notes_is_kept_if_it_is_one(sizes, known):
    markers = [step_marker(number, number * 100, 100, batch_size=size) for number, size in enumerate(sizes)]
    assert steps_of(*markers).meta.batch_size == known


def gpu(*events, **planes):
    marks = {"t": [step_marker(0, 0, 100)]}
    return read_profile(xplane({"/host:CPU": marks, "/device:GPU:0": {"Stream #1": list(events)}, **planes}))


def test_a_kernel_without_an_operation_counts_by_its_name_or_as_unknown():
    profile = gpu(
        kernel("a:Conv2D", 0, 30),
        ("volta_sgemm_64x64_nn", 30, 20, {"correlation_id": 7}),
        ("some_kernel", 50, 10, {}),
        ("MemcpyH2D", 60, 10, {}),
    )
    # A copy for no operation is idle time, as in the statistics.
    assert dict(profile.operations) == {
        "Device_Conv2D": 30,
        "Device_MatMul": 20,
        "Device_Unknown": 10,
        "Device_IDLE": 10,
    }
    assert profile.warnings == (
        "33% of the GPU time is in kernels that name no operation: they are classified by kernel name.",
    )

    # Where no operation is named at all, copies count by name too.
    profile = gpu(("volta_sgemm_64x64_nn", 0, 20, {}), ("Memcpy HtoD (Pageable -> Device)", 30, 10, {}))
    assert dict(profile.operations) == {"Device_MatMul": 20, "Device_MemcpyHToD": 10, "Device_IDLE": 10}
    # A little time is not worth a line.
    profile = gpu(kernel("a:Conv2D", 0, 970), ("volta_sgemm_64x64_nn", 970, 30, {}), kernel("g:ReluGrad", 1000, 1))
    assert profile.warnings == () and profile.operations["Device_MatMul"] == 30


SEARCH = [(f"volta_scudnn_128x64_relu_kind{number}_nn_v1", 100 * number, 100, {}) for number in range(4)]


def test_cudnns_search_is_left_out_and_a_first_step_refused():
    profile = gpu(
        *SEARCH, ("volta_sgemm_64x64_nn", 400, 100, {}), kernel("a:Conv2D", 500, 300), kernel("g:ReluGrad", 900, 50)
    )
    assert dict(profile.operations) == {"Device_Conv2D": 300, "Device_ReluGrad": 50, "Device_IDLE": 100}
    (warning,) = profile.warnings
    assert warning.startswith("0.5 ms of cuDNN's kernel search") and profile.refusal == ""
    profile = gpu(*SEARCH, kernel("a:Conv2D", 2000, 100), kernel("g:ReluGrad", 2100, 50))
    assert profile.refusal.startswith("This is a first step: all but 0.15 ms is")
    # Convolutions of a trace without operations are no search.
    assert dict(gpu(*SEARCH).operations) == {"Device_Conv2D": 400, "Device_IDLE": 0}
    tried = [f"volta_scudnn_128x64_relu_kind{number}_nn_v1" for number in range(12)]
    searched = [kernel("net/a/Conv2D:Conv2D", 100 * at, 100, name) for at, name in enumerate(tried)]
    gradient = kernel("g:ReluGrad", 1200, 50)
    assert gpu(*searched, gradient).refusal.startswith("This is a first step: cuDNN's kernel search, 1.2 ms, runs in")
    # As many kernels of as many convolutions are a network.
    layers = [kernel(f"net/{at}/Conv2D:Conv2D", 100 * at, 100, name) for at, name in enumerate(tried)]
    assert gpu(*layers, gradient).refusal == ""
    # One small layer's search changes little.
    assert gpu(*searched, gradient, kernel("net/b/MatMul:MatMul", 1300, 9000, "volta_sgemm_64x64_nn")).refusal == ""


def test_short_copies_far_from_the_kernels_are_no_part_of_the_step():
    steps = {"Stream #1(Compute)": [kernel("a:Conv2D", 1000, 9000), kernel("g:ReluGrad", 11000, 1000)]}
    copies = [("MemcpyH2D", 0, 2, {}), ("MemcpyH2D", 90000, 2, {})]
    profile = read_profile(xplane({"/device:GPU:0": {**steps, "Stream #2(MemcpyH2D)": copies}}))
    assert profile.operations["Device_IDLE"] == 1000
    # The copy of a batch is.
    batch = [("MemcpyH2D", 500, 20, {}), *copies]
    profile = read_profile(xplane({"/device:GPU:0": {**steps, "Stream #2(MemcpyH2D)": batch}}))
    assert profile.operations["Device_IDLE"] == 1500


@pytest.mark.parametrize(
    ("operations", "training"),
    [
        (["n/c:_FusedConv2D", "m:AssignAddVariableOp"], False),
        (["n/d:MatMul", "n/s:Softmax"], False),
        (["n/c:Conv2D", "g/c:Conv2DBackpropFilter"], True),
        (["n/d:MatMul", "n/u:ResourceApplyAdam"], True),
        (["n/d:MatMul", "n/u:AssignSubVariableOp"], True),
        (["n/d:MatMul", "gradient_tape/n/d/MatMul:MatMul"], True),
    ],
)
def test_a_forward_pass_is_refused(operations, training):
    profile = gpu(*(kernel(name, 10 * at, 10) for at, name in enumerate(operations)))
    assert profile.refusal[:36] == ("" if training else "This profile has only a forward pass")


@pytest.mark.parametrize(
    "planes",
    [
        {"/host:CPU": {"python": [("PjitFunction(train_step)", 0, 10, {})]}},
        {
            "/host:CPU": {"python": [("PjitFunction(train_step)", 0, 10, {})]},
            "/device:GPU:0": {
                "XLA Modules": [("jit_train_step(123)", 0, 100, {})],
                "Stream #1": [("fusion_1", 0, 100, {"tf_op": Ref("jit(train_step)/jit(main)/dot_general:")})],
            },
        },
    ],
    ids=["on a CPU", "on a GPU"],
)
def test_a_jax_trace_is_refused_by_its_name(planes):
    assert "This is a JAX profile" in refusal(xplane(planes))


def test_other_devices_are_named_and_traces_without_host_gpu_or_operations_refused():
    steps = {"XLA Ops": [("fusion.1", 0, 100, {})]}
    assert "TPU" in refusal(xplane({"/host:CPU": {"python": [("train", 0, 10, {})]}, "/device:TPU:0": steps}))
    planes = {**gpu_step(), "/device:TPU:0": {"Stream #1": [kernel("a:Conv2D", 0, 30)]}, "/host:metadata": {}}
    profile = read_profile(xplane(planes))
    assert dict(profile.operations) == GPU_STEP_US and profile.ignored == ("devices other than GPUs: 1",)
    assert "neither a /host:CPU nor a /device:GPU:N plane" in refusal(xplane({"Task Environment": {}}))
    assert "No operation was found" in refusal(xplane({"/host:CPU": {"python": [step_marker(0, 0, 10)]}}))


@pytest.mark.parametrize("stored", [str, Ref], ids=["in place", "by number"])
def test_the_first_level_with_a_type_is_the_operation(stored):
    for label, kind in (("train_step::net/d/MatMul:MatMul#k=v#::inner/Mul:Mul", "MatMul"), ("my own label", "Unknown")):
        assert device(("k", 0, 10, {"annotation": stored(label)})) == {f"Device_{kind}": 10, "Device_IDLE": 0}


def test_levels_name_the_operation_where_the_annotation_does_not_and_a_step_without_work_is_refused():
    levels = {"level 1": Ref("net/c:Conv2D"), "level 0": Ref("my_loop"), "is_eager": 0}
    assert device(("k", 0, 10, levels)) == {"Device_Conv2D": 10, "Device_IDLE": 0}
    assert device(("k", 0, 10, {**levels, "tf_op": "net/r:Relu"})) == {"Device_Relu": 10, "Device_IDLE": 0}
    assert gpu(kernel("n/r:Relu", 0, 10), kernel("u:ResourceApplyAdam", 10, 10)).refusal == NO_WORK
    assert gpu(kernel("n/r:Relu", 0, 10), kernel("g/r:ReluGrad", 10, 10)).refusal == ""


def test_a_step_that_a_stranger_recorded_is_read_whole():
    profile = read_profile((data_folder() / "real_profiles" / "tensorflow-2.3-8xV100-bert.xplane.pb").read_bytes())
    assert (profile.steps, profile.steps_basis, profile.meta.precision) == (1, "marked", "amp")
    assert profile.meta.gpu == "Tesla V100"
    assert profile.unknown_share < 0.005
    assert profile.warnings[0].startswith("2 GPUs ran this step. Only GPU")
    # What the compute stream holds, by its own line of operations.
    assert profile.device_busy_us == pytest.approx(15_050, rel=0.01)
    assert profile.device_total_us == pytest.approx(21_310.4, abs=0.1), "as long as the step's mark"


def test_precision_and_compilation_are_inferred_from_the_kernels():
    profile = gpu(kernel("a:Conv2D", 0, 10), ("loop_add_fusion_3", 10, 90, {}))
    assert profile.meta.compiled is True and profile.operations["Device_Unknown"] == 90
    for name, capability, precision in (
        ("volta_sgemm_128x64_nn", 7, "fp32"),
        ("volta_sgemm_128x64_nn", 8, None),
        ("ampere_h16816gemm_128x64", 8, "amp"),
    ):
        planes = {"/device:GPU:0": {"Stream #1": [kernel("a:Conv2D", 0, 30, name)]}}
        meta = read_profile(xplane(planes, capability=capability)).meta
        assert (meta.precision, meta.compiled) == (precision, None)
    planes = {
        "/host:CPU": {"t": [("StatefulPartitionedCall:XlaLaunch", 0, 1, {}), step_marker(0, 0, 100)]},
        "/device:GPU:0": {"Stream #1": [kernel("g/c:Conv2DBackpropInput", 0, 970), ("fusion_3", 970, 30, {})]},
    }
    profile = read_profile(xplane(planes))
    assert (profile.meta.compiled, profile.warnings) == (None, ())
    assert profile.unknown_share == pytest.approx(0.03)


T4 = {"compute_cap_minor": 5, "core_count": 40, "memory_size": 15_843_721_216}


def test_the_gpu_is_named_by_what_is_noted_of_it():
    assert read_profile(xplane(gpu_step(), capability=7, facts=T4)).meta.gpu == "Tesla T4"
    v100 = {"compute_cap_minor": 0, "core_count": 80, "memory_size": 16_945_512_448}
    assert read_profile(xplane(gpu_step(), capability=7, facts=v100)).meta.gpu == "Tesla V100"
    rtx = {"compute_cap_minor": 5, "core_count": 40, "memory_size": 8 * 2**30}
    assert read_profile(xplane(gpu_step(), capability=7, facts=rtx)).meta.gpu is None
    assert read_profile(xplane(gpu_step())).meta.gpu is None


@pytest.mark.parametrize(
    "lines", [{}, {"Stream #1": [("MemcpyH2D", 0, 5, {"tf_op": "a:_Recv"})]}], ids=["idle", "copies"]
)
def test_a_gpu_that_did_not_work_is_not_named(lines):
    planes = {"/host:CPU": {"t": [("net/a:Mul", 0, 9, {})]}, "/device:GPU:0": lines}
    profile = read_profile(xplane(planes, capability=7, facts=T4))
    assert profile.meta.gpu is None and profile.operations["Host_Mul"] == 9


@pytest.mark.parametrize(("start_us", "duration_us"), [(0, -1), (-5, 10), (0, 9e12), (9e12, 1)])
def test_times_that_no_step_takes_are_refused(start_us, duration_us):
    assert "implausible times" in refusal(xplane({"/host:CPU": {"t": [("a:Mul", start_us, duration_us, {})]}}))
    kernels = xplane({"/device:GPU:0": {"Stream #1": [kernel("a:Mul", start_us, duration_us)]}})
    assert "The times of 1 kernels (100%" in refusal(kernels)


def test_a_bomb_of_tiny_parts_is_refused(monkeypatch):
    monkeypatch.setattr("profet_profiles.xplane.MAX_METADATA", 2_000)
    for part, count, says in (
        (3, 20_001, "damaged or truncated"),
        (5, 2_001, "more than 2,000 names"),
        (6, 30_000, "No operation was found"),
    ):
        assert says in refusal(entry(1, entry(2, b"/host:CPU") + entry(part, b"") * count))
    assert "damaged or truncated" in refusal(entry(1, entry(2, b"/host:CPU")) * 2_000)


def test_a_line_longer_than_a_piece_is_read_like_a_short_one():
    count = 80_000
    events = [("a/b:Mul" if index % 2 else "c/d:AddV2", index * 10, 4, {}) for index in range(count)]
    data = xplane({"/host:CPU": {"t": [step_marker(0, 0, 1), *events]}})
    assert len(data) > PIECE_BYTES
    expected = {"Host_AddV2": 2.0 * count, "Host_Mul": 2.0 * count, "Host_IDLE": 6.0 * (count - 1)}
    assert dict(read_profile(data).operations) == expected
