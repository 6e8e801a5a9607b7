"""The errors' family: one base that a page or the command catches."""

from __future__ import annotations

import pytest

from profet_core import errors


@pytest.mark.parametrize("name", ["ProfileError", "InputError", "LatencyDoubtError", "ArtifactError", "CatalogError"])
def test_every_error_is_a_profet_error(name):
    assert issubclass(getattr(errors, name), errors.ProfetError)


def test_a_latency_doubt_is_an_input_error_that_carries_its_numbers():
    doubt = errors.LatencyDoubtError("no", latency_ms=122_400, expected_ms=120, suggested_ms=122.4, suggested_unit="us")
    assert isinstance(doubt, errors.InputError)
    assert (doubt.latency_ms, doubt.expected_ms) == (122_400, 120)
    assert (doubt.suggested_ms, doubt.suggested_unit) == (122.4, "us")
    assert str(doubt) == "no"
