"""The measurements' table of architectures: every row of it is what the layers add up to."""

from __future__ import annotations

from profet_core.layers import counts_of
from profet_lab.measurements.tables import data_folder, load_architectures

#: Column of the table -> what counts call it.
COLUMNS = {
    "classes": "classes",
    "parameters": "parameters",
    "trainable": "trainable_parameters",
    "conv_flops": "convolution_flops",
    "dwconv_flops": "depthwise_flops",
    "dense_flops": "dense_flops",
    "other_elems": "other_elements",
    "act_elems": "activation_elements",
    "n_conv": "convolutions",
    "n_dense": "dense_layers",
    "n_bn": "normalizations",
    "n_pool": "pools",
    "n_layers": "layers",
}


def test_every_row_is_reproduced_to_the_last_digit(measurements):
    rows = load_architectures(data_folder()).to_dict("records")
    assert len(rows) == 71 and set(rows[0]) == {"model", "pixels", *COLUMNS}
    for row in rows:
        counts = counts_of(row["model"], row["pixels"])
        found = {column: getattr(counts, field) for column, field in COLUMNS.items()}
        assert found == {column: row[column] for column in COLUMNS}, (row["model"], row["pixels"])
