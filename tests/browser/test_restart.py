"""A page outlives its server: the first file given after a restart is taken, whatever was given before."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocket, expect

from benchmarks.served_app import free_port, served

pytestmark = pytest.mark.browser
UPLOADER = "[data-testid=stFileUploaderDropzoneInput]"


def give(page: Page, name: str, convolution_us: float) -> None:
    data = f'{{"Device_Conv2D": {convolution_us}, "Device_MatMul": 1203.4, "Host_IDLE": 6134.8}}'.encode()
    page.locator(UPLOADER).first.set_input_files({"name": name, "mimeType": "application/json", "buffer": data})


def until(page: Page, true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


@pytest.mark.parametrize("before", [0, 2])
def test_the_first_upload_after_a_restart_is_kept(repository: Path, page: Page, before: int):
    port, script = free_port(), repository / "streamlit_app.py"
    connections: list[WebSocket] = []
    page.on("websocket", lambda connection: connections.append(connection))
    with served(script, started_in=repository, port=port) as url:
        page.goto(f"{url}/?source=upload")
        for number in range(before):
            give(page, f"before-{number}.json", 40_000.0 + number)
            expect(page.get_by_text(f"Shown: your upload before-{number}.json")).to_be_visible(timeout=60_000)
        expect(page.locator(UPLOADER).first).to_be_attached(timeout=60_000)
    with served(script, started_in=repository, port=port):
        until(page, lambda: len(connections) > 1)
        give(page, "after.json", 51_425.8)
        expect(page.get_by_text("Shown: your upload after.json")).to_be_visible(timeout=60_000)
