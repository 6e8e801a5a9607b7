"""Writes `profet_core/features/operation_kinds.csv`: the kind of every operation that training can show.

    python -m profet_lab.kinds.operation_kinds

The names come from the installed frameworks, their kinds from the rules in `kinds.tensorflow` and `kinds.pytorch`. A
framework that is not installed keeps the rows it has.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path

from profet_core.features.operations import load_operation_kinds
from profet_lab.kinds.pytorch import NAMESPACES, pytorch_kind
from profet_lab.kinds.tensorflow import tensorflow_kind

#: What the shipped table was made with; another version may know more operations or fewer.
TENSORFLOW_VERSION, PYTORCH_VERSION = "2.21", "2.13"

#: Not in a CPU build's registry: types of GPU builds, of grappler's and other people's rewriting, and what XProf calls
#: time without an operation. `Unknown` has no kind.
TENSORFLOW_MORE = (
    *("IDLE", "Dataset", "Memset"),
    *(f"Memcpy{way}" for way in ("HToD", "H2D", "DToH", "D2H", "DToD", "D2D", "HToH", "H2H")),
    *("MemcpyPToP", "MemcpyP2P", "_NcclReduceSend", "_NcclReduceRecv", "_NcclBroadcastSend", "_NcclBroadcastRecv"),
    *(f"Horovod{what}" for what in ("Allreduce", "Allgather", "Broadcast", "Alltoall", "Reducescatter")),
    *("_FusedBatchNormGradEx", "_FusedPadConv2D", "_FusedBatchMatMulV2"),
)
#: Operations of PyTorch before 2.0.
PYTORCH_MORE = tuple(
    f"aten::{name}"
    for name in (
        *("cudnn_convolution_backward", "cudnn_convolution_backward_input", "cudnn_convolution_backward_weight"),
        *("cudnn_convolution_transpose_backward", "miopen_convolution_backward", "miopen_convolution_backward_input"),
        *("miopen_convolution_backward_weight", "mkldnn_convolution_backward", "mkldnn_convolution_backward_input"),
        *("mkldnn_convolution_backward_weights", "thnn_conv2d_forward", "thnn_conv2d_backward", "slow_conv3d_backward"),
        *("thnn_conv_depthwise2d", "thnn_conv_depthwise2d_forward", "thnn_conv_depthwise2d_backward"),
        *("_conv_depthwise2d_backward", "conv_depthwise3d_backward", "_cat", "_bmm"),
    )
)


def tensorflow_rows() -> dict[str, str]:
    """Operation -> kind by the installed TensorFlow: public operations and those that only have a kernel."""
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    public = {name for name in dir(tf.raw_ops) if not name.startswith("__")}
    return _kinds(tensorflow_kind, {*public, *(one.op for one in kernels.get_all_registered_kernels().kernel)})


def pytorch_rows() -> dict[str, str]:
    """Operation -> kind by the installed PyTorch: operations that take or give a tensor."""
    import torch

    # Registers an operation of its own, which would be there or not by what else this process has loaded.
    import torch.distributed._functional_collectives

    names = set()
    for schema in torch._C._jit_get_all_schemas():
        values = (*schema.arguments, *schema.returns)
        if schema.name.partition("::")[0] in NAMESPACES and any("Tensor" in str(value.type) for value in values):
            names.add(schema.name)
    return _kinds(pytorch_kind, names)


def more_rows() -> dict[str, str]:
    """Operation -> kind of those that no installed framework lists."""
    return _kinds(tensorflow_kind, TENSORFLOW_MORE) | _kinds(pytorch_kind, PYTORCH_MORE)


def table() -> dict[str, str]:
    """Operation -> kind, sorted by name, TensorFlow's first."""
    shipped = load_operation_kinds().operations
    found = more_rows()
    for package, rows, mine in (("tensorflow", tensorflow_rows, False), ("torch", pytorch_rows, True)):
        here = importlib.util.find_spec(package) is not None
        found |= rows() if here else {name: kind for name, kind in shipped.items() if ("::" in name) is mine}
    return dict(sorted(found.items(), key=lambda row: ("::" in row[0], row[0])))


def as_csv(rows: dict[str, str]) -> str:
    """The table's text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("operation", "kind"))
    writer.writerows(rows.items())
    return text.getvalue()


def _kinds(kind: Callable[[str], str | None], names: Iterable[str]) -> dict[str, str]:
    return {name: found for name in names if (found := kind(name)) is not None}


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = Path(str(resources.files("profet_core.features"))) / "operation_kinds.csv"
    parser.add_argument("--out", type=Path, default=default, help="the file to write")
    path = parser.parse_args().out
    rows = table()
    path.write_text(as_csv(rows), encoding="utf-8")
    print(f"{path}: {len(rows)} operations of {len(set(rows.values()))} kinds")


if __name__ == "__main__":
    main()
