"""PROFET JSON is written as it is read, in files and in links."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from profet_core import Profile, ProfileError, ProfileMeta, read_profile
from profet_core.profiles import write_profile
from profet_core.profiles.profet_json import MAX_LETTERS, profile_of_link_text, profile_to_link_text

FULL = Profile(
    {"Device_Conv2D": 0.1 + 0.2, "Host_IDLE": 613483.756, "Device__FusedConv2D": 0.0},
    ProfileMeta("T4", "TensorFlow 2.21", "fp32", False, 64, 224, 25_000_000, 122.4, 8000.5),
    source_format="somewhere",
    ignored=("model/secret_layer",),
    steps=3,
    warnings=("The trace was cut.",),
)


def test_everything_but_format_and_ignored_reads_back():
    read = read_profile(write_profile(FULL))
    assert dict(read.operations) == dict(FULL.operations)
    assert (read.meta, read.warnings) == (FULL.meta, FULL.warnings)
    # What is written is of one step, however many the profile was the mean of.
    assert (read.steps, read.steps_basis) == (1, "stated")
    assert json.loads(write_profile(FULL))["meta"]["steps"] == 1
    assert (read.ignored, read.source_format) == ((), "PROFET JSON, version 2")
    refused = Profile({"Device_Conv2D": 1.0}, refusal="The step was cold: record a later one.")
    assert read_profile(write_profile(refused)).refusal == refused.refusal


def test_what_is_unknown_is_left_out():
    unsure = Profile({"Host_IDLE": 1.0}, steps_basis="assumed")
    assert json.loads(write_profile(unsure)) == {"operations": {"Host_IDLE": 1.0}, "meta": {}}
    assert read_profile(write_profile(unsure)).steps_basis == "assumed"
    nulls = b'{"operations": {"Host_IDLE": 1.0}, "meta": {"steps": null}, "warnings": null}'
    assert read_profile(nulls).operations == unsure.operations


def test_the_shipped_samples_read_back(samples):
    for sample in samples.values():
        assert read_profile(write_profile(sample.profile)) == sample.profile


@pytest.mark.parametrize(
    "profile",
    [
        Profile({"Device_Conv2D": float("nan")}),
        Profile({"Conv2D": 1.0}),
        Profile({"Device_Conv2D": 1.0, "my layer": 2.0}),
        Profile({"Device_Conv2D": 1.0}, warnings=("two\nlines",)),
        Profile({}),
    ],
    ids=["not a number", "no side", "a layer's name", "two lines", "empty"],
)
def test_what_could_not_be_read_is_not_written(profile):
    with pytest.raises(ProfileError) as caught:
        write_profile(profile)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"meta": {"steps": 0}}, '"meta": steps must be a whole number of at least 1'),
        ({"meta": {"steps": 1.5}}, '"meta": steps must be a whole number'),
        ({"meta": {"steps": 10_001}}, '"meta": steps says 10,001: record fewer'),
        ({"steps": 3}, 'The number of steps belongs in "meta"'),
        ({"refusal": 5}, '"refusal" must be text'),
        ({"refusal": "x" * 501}, '"refusal" must be text of at most 500 characters'),
        ({"warnings": "cut"}, '"warnings" must be a list of at most 20 texts'),
        ({"warnings": ["\n"]}, '"warnings" must be a list'),
        ({"warnings": ["x"] * 21}, '"warnings" must be a list'),
    ],
)
def test_steps_and_warnings_of_a_file_are_checked(entry, says):
    with pytest.raises(ProfileError, match=says):
        read_profile(json.dumps({"operations": {"Host_IDLE": 1.0}, **entry}).encode())


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")


def test_every_sample_reads_back_in_a_thousand_letters(samples):
    for sample in samples.values():
        text = profile_to_link_text(sample.profile)
        assert 500 < len(text) < 1_200 and text.replace("-", "").replace("_", "").isalnum()
        read = profile_of_link_text(text)
        assert (dict(read.operations), read.meta) == (dict(sample.profile.operations), sample.profile.meta)
        assert (read.steps, read.steps_basis) == (sample.profile.steps, sample.profile.steps_basis)


def test_meta_warnings_and_steps_go_along():
    read = profile_of_link_text(profile_to_link_text(FULL))
    assert (dict(read.operations), read.meta, read.warnings) == (dict(FULL.operations), FULL.meta, FULL.warnings)
    assert (read.steps, read.steps_basis) == (1, "stated")


def test_version_1_stays_version_1():
    profile = read_profile(b'{"Device_Conv2D": 51425.8, "Host_IDLE": 613483.8}')
    read = profile_of_link_text(profile_to_link_text(profile))
    assert read == profile and read.steps == 2


def test_what_is_too_long_for_an_address_is_in_none():
    crowd = Profile({f"Device_Operation{number * 7919 % 10_000}": float(number) for number in range(900)})
    assert profile_to_link_text(crowd) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "äöü",
        "AAAA",
        packed(write_profile(FULL))[:-9],
        packed(write_profile(FULL)) + "AAAA",
        packed(b" " * 2**20),
        "A" * (MAX_LETTERS + 1),
    ],
    ids=["empty", "no letter", "no zlib", "cut", "too much", "unpacks to a megabyte", "too long"],
)
def test_a_link_that_was_cut_or_changed_gets_one_line(text):
    with pytest.raises(ProfileError, match=r"^The profile in this link can't be read.*\.$"):
        profile_of_link_text(text)
    with pytest.raises(ProfileError, match="'Device_Conv2D' is negative"):
        profile_of_link_text(packed(b'{"Device_Conv2D": -1}'))
