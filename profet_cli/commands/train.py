"""`profet train`: fit all models from the measurements."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.lab import import_lab
from profet_cli.output import print_json


def run(options: argparse.Namespace) -> None:
    """Train and write the models folder, or `transfer.json` or `memory.json` in it alone."""
    data = import_lab("measurements.tables")
    transfer, memory = import_lab("transfer.transfer_file"), import_lab("memory.memory_file")
    folder = data.data_folder(options.data)
    measurements = data.load_measurements(folder)
    out = Path(options.out)
    if options.memory:
        content = memory.memory_content(measurements, folder)
        path = memory.write_memory(content, out)
        if options.format == "json":
            print_json({"out": str(path), "checksum": content["checksum"]})
        else:
            print(f"{path}: what {content['fitted_on']['cells']} workloads needed of memory")
        return
    # Seconds of work that fail if a file is missing: before the minutes.
    content = transfer.transfer_content(measurements, folder)
    if options.transfer:
        path = out / transfer.TRANSFER_NAME
        model = transfer.write_transfer(content, out)
        if options.format == "json":
            print_json({"out": str(path), "checksum": model.checksum})
        else:
            print(f"{path}: {len(model.derived)} derived GPUs, {len(model.points)} with a published benchmark")
        return
    memory_content = memory.memory_content(measurements, folder)
    manifest = import_lab("train").train(measurements, out, anchors=options.anchor, seed=options.seed)
    transfer.write_transfer(content, out)
    memory.write_memory(memory_content, out)
    size_mb = sum(path.stat().st_size for path in out.rglob("*.onnx")) / 2**20
    if options.format == "json":
        print_json(
            {"out": str(out), "members": len(manifest["members"]), "size_mb": size_mb, "checksum": manifest["checksum"]}
        )
    else:
        print(f"{out}: {len(manifest['members'])} members, {size_mb:.1f} MB")
