"""A profile in a link reads back as it was; a link that was cut or made up gets one line."""

from __future__ import annotations

import base64
import zlib

import pytest

from profet_core import Profile, ProfileError, read_profile
from profet_core.profiles import write_profile
from profet_core.profiles.profet_json import MAX_LETTERS, profile_of_link_text, profile_to_link_text
from tests.core.profiles.profet_json.test_writer import FULL


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
