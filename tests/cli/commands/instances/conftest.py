"""Runs `profet instances` with a file of your own that is empty at first."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "mine" / "instances.csv"
    monkeypatch.setenv("PROFET_INSTANCES", str(path))
    return path


@pytest.fixture
def run(run, own):
    return lambda *arguments: run("instances", *arguments)


@pytest.fixture
def refused(refused, own):
    """The one line of a command that exits with 2 and leaves the file as it was."""

    def read(*arguments: object) -> str:
        before = own.read_bytes() if own.exists() else None
        line = refused(*arguments)
        assert (own.read_bytes() if own.exists() else None) == before
        return line

    return read


class Files(SimpleHTTPRequestHandler):
    """A folder, without a line for each request."""

    def log_message(self, *about: object) -> None:
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """`served(path, text)`: a file of a web server here, where both sources' lists are read; returns its address."""
    root = tmp_path / "served"
    root.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("PROFET_SKYPILOT_CATALOGS", f"{address}/catalogs")

    def write(path: str, data: str | bytes) -> str:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data.encode() if isinstance(data, str) else data)
        return address

    yield write
    server.shutdown()
    server.server_close()


SHADEFORM = """InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice
crusoe_A100-80GB,A100-80GB,1.0,12.0,120,2.1,culpeper-usa-1,,
crusoe_A100-80GB,A100-80GB,1.0,12.0,120,1.9,houston-usa-1,,
scaleway_L4,L4,1.0,8.0,48,1.0,paris-france-5,,
denvr_A100-sxm4,A100,1.0,14.0,117,1.5,calgary-canada-1,,
massedcompute_L40S,L40S,1.0,12.0,72,0.9,desmoines-usa-1,,
paperspace_A4000,A4000,1.0,8.0,45,0.7,newyork-usa-1,,
hyperstack_A6000,A6000,1.0,28.0,58,1.1,montreal-canada-2,,
crusoe_A100-new,A100-80GB,1.0,12.0,120,3.0,culpeper-usa-1,,
"""
VERDA = """InstanceType,UpstreamCloudId,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,Price,SpotPrice
1B200.30V,1B200.30V,30.0,184.0,B200,1.0,,FIN-03,3.99,1.5
CPU.4V.16G,CPU.4V.16G,4.0,16.0,,,,FIN-03,0.0279,0.0098
"""
RUNPOD = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Region,SpotPrice,Price,AvailabilityZone,GpuInfo
1x_A40_SECURE,A40,1.0,9.0,50.0,US,0.5,0.5,US-CA-1,
1x_A40_SECURE,A40,1.0,9.0,50.0,SE,0.5,0.4,EU-SE-1,
"""
OTHERS = """InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Region,SpotPrice,Price
1x_L4_28V_124G,L4,1,28.0,124,,IN2,,0.5
1x14v119g_NVIDIA_GeForce_RTX_5090_32G_SECURE,RTX5090,1.0,14.0,119.0,,us-east-2,,0.7
ECS1GPU6,L4,1,4,32.0,,it-fr2,,0.4
"""


@pytest.fixture
def skypilot(served) -> str:
    """SkyPilot's lists, of the newest form and of the one before; the address of the server."""
    served("catalogs/v9/verda/vms.csv", VERDA)
    served("catalogs/v8/runpod/vms.csv", RUNPOD)
    served("catalogs/v9/jarvislabs/vms.csv", OTHERS)
    served("catalogs/v9/yotta/vms.csv", OTHERS)
    served("catalogs/v9/seeweb/vms.csv", OTHERS)
    return served("catalogs/v8/shadeform/vms.csv", SHADEFORM)
