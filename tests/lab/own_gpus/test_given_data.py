"""Names of instances become folders of models: none leads out of them."""

from __future__ import annotations

import pandas as pd
import pytest

from profet_lab.datasets.dataset import Source, dataset_of
from profet_lab.datasets.files import write_dataset
from profet_lab.measurements.tables import DataError
from profet_lab.own_gpus.groups import read_data


def written(folder, name):
    size = {"model": "A", "pixels": 32, "batch_size": 16, "repeat": 1}
    run = {"cell": 0, "instance": name, "framework": "tensorflow", **size, "batch_latency_ms": 5.0, "steps_profiled": 1}
    cells = pd.DataFrame([run])
    operations = pd.DataFrame({"cell": [0], "operation": ["Device_Conv2D"], "time_us": [4_000.0]})
    write_dataset(dataset_of(cells, operations, Source("made", "collection", {})), folder)
    return folder


@pytest.mark.parametrize("name", ["../outside", "/etc/models", "a//b", ".", "a\\b"])
def test_a_name_that_leads_elsewhere_is_one_line(tmp_path, name):
    with pytest.raises(DataError, match="can't be an instance's name") as error:
        read_data([written(tmp_path / "data", name)])
    assert "\n" not in str(error.value)


def test_other_names_stand(tmp_path):
    for place, name in enumerate(("gcp/a2-highgpu-1g", "my rig")):
        assert list(read_data([written(tmp_path / str(place), name)]).instances) == [name]
