"""`profet scale`: exact at both ends, and one line for everything that is wrong."""

from __future__ import annotations

import pytest


def test_scales_json_is_as_the_contract_has_it(document):
    answer = document(
        "scale", "--instance", "p3.2xlarge", "--axis", "batch", "--min-ms", 10, "--max-ms", 100, "--at", 128
    )
    assert list(answer) == ["instance", "axis", "at", "latency_ms"]
    assert (answer["instance"], answer["axis"], answer["at"]) == ("p3.2xlarge", "batch", 128)
    assert 10 < answer["latency_ms"] < 100


@pytest.mark.parametrize(
    ("axis", "at", "latency_ms"), [("batch", 16, 10), ("batch", 256, 100), ("pixels", 32, 10), ("pixels", 256, 100)]
)
def test_scale_is_exact_at_both_ends(document, axis, at, latency_ms):
    ends = ("--min-ms", 10, "--max-ms", 100)
    assert document("scale", "--instance", "p2.xlarge", "--axis", axis, *ends, "--at", at)["latency_ms"] == latency_ms


def test_scales_text_is_one_sentence(run):
    ends = ("--min-ms", 10, "--max-ms", 100)
    assert run("scale", "--instance", "p2.xlarge", "--axis", "batch", *ends, "--at", 16) == (
        0,
        "p2.xlarge at batch 16: 10.0 ms a step\n",
        "",
    )


@pytest.mark.parametrize("axis", ["batch", "pixels"])
def test_scale_takes_a_method_and_what_else_is_known(document, samples, axis):
    largest = next(
        item.path for item in samples.values() if (item.batch_size if axis == "batch" else item.pixels) == 256
    )
    ends = ("scale", "--instance", "p2.xlarge", "--axis", axis, "--min-ms", 10, "--max-ms", 100, "--at", 128)
    documented = document(*ends, "--method", "profet", "--largest", largest, "--other-size", 64)
    assert documented == document(*ends, "--method", "profet")
    for known in ((), ("--other-size", 64), ("--largest", largest), ("--fixed-classes",)):
        assert 10 < document(*ends, *known)["latency_ms"] < 100


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"--instance": "g9"}, "No scaler for 'g9': choose one of"),
        ({"--axis": "depth"}, "argument --axis: invalid choice: 'depth'"),
        ({"--method": "best"}, "argument --method: invalid choice: 'best'"),
        ({"--other-size": "0"}, "The size on the other axis must be a whole number of at least 1, not 0."),
        ({"--largest": "nowhere.json"}, "nowhere.json can't be read"),
        ({"--min-ms": "100"}, "The latency at batch 256 (100 ms) must be above the latency at batch 16 (100 ms)."),
        ({"--min-ms": "200"}, "must be above the latency at batch 16 (200 ms)."),
        ({"--min-ms": "0"}, "The latency at batch 16 must be a number above 0, not 0.0."),
        ({"--min-ms": "-5"}, "The latency at batch 16 must be a number above 0, not -5.0."),
        ({"--max-ms": "inf"}, "The latency at batch 256 must be a number above 0, not inf."),
        ({"--max-ms": "nan"}, "The latency at batch 256 must be a number above 0, not nan."),
        ({"--at": "15"}, "The batch size must be between 16 and 256, not 15."),
        ({"--at": "257"}, "The batch size must be between 16 and 256, not 257."),
        ({"--at": "64.5"}, "argument --at: invalid int value: '64.5'"),
        ({"--at": "9" * 5000}, "argument --at: invalid int value"),
        ({"--axis": "pixels", "--at": "16"}, "The pixels size must be between 32 and 256, not 16."),
    ],
)
def test_scale_refuses_in_one_line(refused, arguments, says):
    given = {"--instance": "p2.xlarge", "--axis": "batch", "--min-ms": "10", "--max-ms": "100", "--at": "64"}
    assert says in refused("scale", *(text for pair in {**given, **arguments}.items() for text in pair))


def test_a_gpu_that_nobody_profiled_follows_the_shared_curve(document):
    size = ("--axis", "batch", "--min-ms", 10, "--max-ms", 100, "--at", 128)
    gpu, offer = (document("scale", "--instance", name, *size) for name in ("GeForce RTX 2080 Ti", "g5.xlarge"))
    assert gpu == {**offer, "instance": "GeForce RTX 2080 Ti"}
