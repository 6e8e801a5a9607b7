"""Files that a browser may upload make no process large, and none keeps one busy.

`FUZZ_ALL=1` reads all of `slow_files` and `wide_files`.
"""

from __future__ import annotations

import json
import os

import pytest

from profet_core import ProfileError, predict, read_profile
from profet_core.profiles.limits import MAX_NAMES_BYTES, NamesKept
from tests.fuzz.fuzz_profiles import BROWSER_BYTES, MAX_READING_MIB, read_alone
from tests.fuzz.slow_files import slow_files
from tests.fuzz.wide_files import unknown_profile, wide_files

#: What took more before names were counted by their bytes, and how each ends now.
LARGEST = {
    "xplane, 480,000 operation types": "names",
    "xplane, 200,000 wide kernel names": "names",
    "xplane, 200 GPUs of 2,000 kernels": "names",
    "TensorFlow trace, 49,000 wide marks": "names",
    "TensorFlow trace, 20,000 wide processes": "no operation",
    "PyTorch trace, entries of lists that are kept": "read",
}


MAKERS = {**slow_files(), **wide_files()}


@pytest.mark.parametrize("name", MAKERS if "FUZZ_ALL" in os.environ else LARGEST)
def test_a_wide_file_takes_little_memory(tmp_path, name):
    path = tmp_path / "file"
    path.write_bytes(MAKERS[name]())
    mib, what = read_alone(path)
    assert mib < MAX_READING_MIB or path.stat().st_size > BROWSER_BYTES
    assert LARGEST.get(name, "") in what


def test_names_count_by_their_bytes():
    kept = NamesKept()
    for number in range(MAX_NAMES_BYTES // 2**20 - 2):
        kept.add(str(number) + "x" * 2**20)
    wide = NamesKept()
    with pytest.raises(ProfileError, match="names that are too long"):
        for number in range(MAX_NAMES_BYTES // 2**20 - 2):
            wide.add(str(number) + "\U0001f600" * 2**20)


def test_a_profile_of_a_thousand_types_is_read_and_predicted_from_and_no_more(models, catalog):
    profile = read_profile(unknown_profile(999))
    assert len(profile.operations) == 1_000
    default = predict(models, catalog, profile, "g4dn.xlarge", method="default")
    assert len(default.unknown_operations.left_out) == 998
    assert json.loads(unknown_profile(999)) != json.loads(unknown_profile(999, 1))
    with pytest.raises(ProfileError, match=r"^profile: More than 1,000 operation types are too many for one step: "):
        read_profile(unknown_profile(1_000))
