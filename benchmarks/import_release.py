"""Times `profet data import` of PROFET's release as pickles: `python -m benchmarks.import_release [DATA]`.

The pickles are made here of the measurements' tables, in the frames, columns and files of PROFET's repository: a frame
of latencies, one of all profiles, both merged, and one of each anchor.
"""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from benchmarks import REPOSITORY
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_lab.measurements.tables import LATENCIES_FILE, PROFILES_FILE, data_folder

_WORKLOAD = ["exp_name", "dataset", "model", "batchsize", "optimizer"]
_US_PER_S = 1_000_000


def main() -> None:
    """Make the release, import it in a process of its own, and print what that took."""
    data = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_release(data, folder / "data")
        size = sum(path.stat().st_size for path in folder.rglob("*.pickle"))
        command = [sys.executable, "-m", "profet_cli", "data", "import", str(folder / "data"), "--out", f"{name}/out"]
        began = time.perf_counter()
        subprocess.run(command, cwd=REPOSITORY, check=True)
        took_s = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{size / 1e6:.0f} MB of pickles: {took_s:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, "
          f"at most {used.ru_maxrss / 1024:.0f} MB in one process")  # fmt: skip


def write_release(data: Path, folder: Path) -> None:
    """PROFET's pickles, made of its tables below `data`."""
    latencies = _timed(_named(pd.read_parquet(data / LATENCIES_FILE)), pd.read_parquet(data / LATENCIES_FILE))
    features = _named(pd.read_parquet(data / PROFILES_FILE))
    both = features.merge(latencies, how="inner", on=[*_WORKLOAD, "instance_name"])
    frames = {"target_preprocessing": latencies, "feature_preprocessing": features, "merge_preprocessing": both}
    for name, frame in frames.items():
        _write(frame, folder / "pre_data" / f"{name}.pickle")
    for anchor, own in both.groupby("instance_name"):
        for target, others in both.groupby("instance_name"):
            if target != anchor:
                times = others[[*_WORKLOAD, "batch_latency"]].rename(columns={"batch_latency": target})
                own = own.merge(times.assign(**{target: times[target] * _US_PER_S}), how="inner", on=_WORKLOAD)
        _write(own, folder / "anchor_data" / f"anchor_{anchor[:2]}.pickle")


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """A table's operations and workloads as PROFET calls them."""
    operations = [name for name in table if name.startswith((DEVICE_PREFIX, HOST_PREFIX))]
    return table[operations].astype(float).assign(
        exp_name=[f"exp{repeat:02d}" for repeat in table["repeat"]],
        instance_name=table["instance"],
        dataset=[f"{pixels}dataset" for pixels in table["pixels"]],
        model=table["model"],
        optimizer="SGD",
        batchsize=table["batch_size"].astype("int64"),
    )  # fmt: skip


def _timed(frame: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(epoch_latency=table["epoch_latency_s"], batch_latency=table["batch_latency_ms"] / 1_000)


def _write(frame: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(frame))


if __name__ == "__main__":
    main()
