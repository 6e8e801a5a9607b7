"""Files of measurements that aren't what they are named."""

import pytest

from profet_lab.datasets.files import file_bytes
from profet_lab.measurements.tables import DataError


def test_each_reason_is_told_as_itself(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "long").write_bytes(bytes(3 * 2**20))
    said = {}
    for name in ("absent", "folder", "long"):
        with pytest.raises(DataError) as stated:
            file_bytes(tmp_path / name, most_bytes=2**20, remedy="get it again")
        said[name] = str(stated.value)
    assert said == {
        "absent": f"No absent in {tmp_path}: get it again.",
        "folder": f"{tmp_path / 'folder'} can't be read: Is a directory.",
        "long": f"{tmp_path / 'long'} has more than 1 MB: keep to fewer measurements.",
    }
