"""`profet scale`: exact at both ends, and one line for everything that is wrong."""

from __future__ import annotations

import pytest

ENDS = ("--min-ms", 10, "--max-ms", 100)


def test_scales_json_is_as_the_contract_has_it_and_exact_at_both_ends(document, run):
    answer = document("scale", "--instance", "p3.2xlarge", "--axis", "batch", *ENDS, "--at", 128)
    assert (answer["instance"], answer["axis"], answer["at"]) == ("p3.2xlarge", "batch", 128)
    assert 10 < answer["latency_ms"] < 100
    for axis, at, latency_ms in (("batch", 16, 10), ("batch", 256, 100), ("pixels", 32, 10), ("pixels", 256, 100)):
        found = document("scale", "--instance", "p2.xlarge", "--axis", axis, *ENDS, "--at", at)
        assert found["latency_ms"] == latency_ms
    status, out, err = run("scale", "--instance", "p2.xlarge", "--axis", "batch", *ENDS, "--at", 16)
    assert (status, out.count("\n"), err) == (0, 1, "") and "10.0 ms" in out


@pytest.mark.parametrize("axis", ["batch", "pixels"])
def test_scale_takes_a_method_and_what_else_is_known(document, samples, axis):
    largest = next(
        item.path for item in samples.values() if (item.batch_size if axis == "batch" else item.pixels) == 256
    )
    command = ("scale", "--instance", "p2.xlarge", "--axis", axis, *ENDS, "--at", 128)
    documented = document(*command, "--method", "profet", "--largest", largest, "--other-size", 64)
    assert documented == document(*command, "--method", "profet")
    for known in ((), ("--other-size", 64), ("--largest", largest), ("--fixed-classes",)):
        assert 10 < document(*command, *known)["latency_ms"] < 100


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"--instance": "g9"}, "No scaler for 'g9'"),
        ({"--axis": "depth"}, "invalid choice: 'depth'"),
        ({"--other-size": "0"}, "at least 1, not 0"),
        ({"--largest": "nowhere.json"}, "nowhere.json can't be read"),
        ({"--min-ms": "100"}, "must be above the latency at batch 16"),
        ({"--max-ms": "inf"}, "above 0, not inf"),
        ({"--at": "257"}, "between 16 and 256, not 257"),
        ({"--at": "9" * 5000}, "--at: invalid int value"),
    ],
)
def test_scale_refuses_in_one_line(refused, arguments, says):
    given = {"--instance": "p2.xlarge", "--axis": "batch", "--min-ms": "10", "--max-ms": "100", "--at": "64"}
    assert says in refused("scale", *(text for pair in {**given, **arguments}.items() for text in pair))
