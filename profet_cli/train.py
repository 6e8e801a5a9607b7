"""`profet train`: fit all models from the measurements."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.lab import import_lab
from profet_cli.output import print_json


def run(options: argparse.Namespace) -> None:
    """Train and write the models folder."""
    data = import_lab("data")
    measurements = data.load_measurements(data.data_folder(options.data))
    out = Path(options.out)
    manifest = import_lab("train").train(measurements, out, anchors=options.anchor, seed=options.seed)
    size_mb = sum(path.stat().st_size for path in out.rglob("*.onnx")) / 2**20
    if options.format == "json":
        print_json(
            {"out": str(out), "members": len(manifest["members"]), "size_mb": size_mb, "checksum": manifest["checksum"]}
        )
    else:
        print(f"{out}: {len(manifest['members'])} members, {size_mb:.1f} MB")
