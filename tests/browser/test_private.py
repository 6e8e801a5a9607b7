"""Browsers call no other host for any page, a served session asks none, and no visitor learns of the checkout."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.served_app import served, server_of
from tests.browser.test_whole_flow import PAGES, follow, give_file, open_page, settle
from tests.made.asked import Asked

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
#: What the app itself is made of: `streamlit_app.py` and what it reads.
PARTS = ("streamlit_app.py", ".streamlit", "profet_core", "ui", "pages", "models", "sample_traces")
SECRETS = ("stranger", "not-for-visitors", "secret-branch", "unfinished-business")

#: Opens a session of its own and asks, one after the other: what is asked while a page runs would be lost. Gives back
#: what comes.
ASK = """
async questions => {
  const url = location.origin.replace("http", "ws") + "/_stcore/stream";
  const socket = new WebSocket(url, ["streamlit"]);
  socket.binaryType = "arraybuffer";
  const frames = [];
  const text = data => Array.from(new Uint8Array(data), each => String.fromCharCode(each)).join("");
  socket.onmessage = event => frames.push(btoa(text(event.data)));
  await new Promise(done => socket.onopen = done);
  for (const question of questions) {
    socket.send(Uint8Array.from(atob(question), each => each.charCodeAt(0)));
    // What the page's watch has seen counts this socket's runs too.
    do await new Promise(done => setTimeout(done, 50)); while (profetSeen.ended < profetSeen.asked);
  }
  socket.close();
  return frames;
}
"""


def open_all(page: Page) -> None:
    """Open every expander that a page has."""
    shut = page.locator("[data-testid=stExpander] details:not([open]) > summary:visible")
    for _ in range(shut.count()):
        shut.first.click()
        settle(page)


def test_browsers_ask_no_other_origin_for_any_page(page, app_url):
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    for name in PAGES:
        open_page(page, f"{app_url}/{name}")
        open_all(page)
        page.wait_for_load_state("networkidle")
    hosts = {urlsplit(request.url).netloc for request in asked if urlsplit(request.url).scheme not in {"data", "blob"}}
    assert len(asked) > 50
    assert hosts == {urlsplit(app_url).netloc}


def test_a_served_session_asks_no_outside_host(page, tmp_path, samples):
    asked = Asked(tmp_path)
    sample = samples["vgg16-224px-b16-g3s"]
    with server_of(under=asked.under, environment=asked.environment) as server:
        open_page(page, server.url)
        page.get_by_role("radio", name="Upload").click()
        settle(page)
        give_file(page, sample.data, "mine.json")
        expect(page.get_by_text("Shown: your upload mine.json")).to_be_visible()
        for name in ("Sizes", "Compare", "Accuracy", "About", "Predict"):
            follow(page, name)
    assert asked.outside == set()


@pytest.fixture
def checkout(repository: Path, tmp_path: Path) -> Iterator[Path]:
    """The app in a checkout of a stranger's repository, with a change and a file that nobody added."""
    folder = tmp_path / "checkout"
    for name in PARTS:
        copy = shutil.copytree if (repository / name).is_dir() else shutil.copy
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy(repository / name, folder / name)

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=stranger", "-c", "user.email=stranger@example.org")
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "--initial-branch", "secret-branch")
    git("remote", "add", "origin", "https://github.com/stranger/not-for-visitors.git")
    git("add", "streamlit_app.py")
    git("commit", "--message", "first")
    git("update-ref", "refs/remotes/origin/secret-branch", "HEAD")
    git("branch", "--set-upstream-to", "origin/secret-branch")
    (folder / "unfinished-business.txt").write_text("mine")
    yield folder


def test_no_visitor_learns_of_the_checkout(page, checkout):
    run = BackMsg(rerun_script=ClientState())
    # Asked once more for a run, the server has answered what was asked before.
    questions = [run, BackMsg(load_git_info=True), run]
    encoded = [base64.b64encode(question.SerializeToString()).decode() for question in questions]
    with served(checkout / "streamlit_app.py", started_in=checkout) as url:
        open_page(page, url)
        frames = [base64.b64decode(frame) for frame in page.evaluate(ASK, encoded)]
    kinds = {ForwardMsg.FromString(frame).WhichOneof("type") for frame in frames}
    assert "new_session" in kinds and "git_info_changed" not in kinds
    assert [secret for secret in SECRETS if secret.encode() in b"".join(frames)] == []
