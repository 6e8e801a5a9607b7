"""What the server does around Streamlit, what of it is not public, and one line in the log of our failures."""

from __future__ import annotations

import ast
import io
import logging
import platform
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
import streamlit
from packaging.requirements import Requirement
from streamlit import net_util
from streamlit.runtime.app_session import AppSession

from profet_core import read_profile
from profet_core.prediction.models import EnsembleRule
from profet_core.training.plans import Confidence
from tests.test_imports import MAY_IMPORT, modules_of, syntax_tree
from ui.server import Turns
from ui.streamlit_internals import keep_to_itself
from ui.words import log_failure


def test_warming_up_is_quiet_and_what_it_loads_lasts(repository: Path):
    done = subprocess.run([sys.executable, "-c", _WARM_UP], cwd=repository, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 50_000


_WARM_UP = """
import gc, threading
from ui.server import warm_up
loading = threading.Thread(target=warm_up)
loading.start()
loading.join()
print(gc.get_freeze_count())
"""


_SOON_S = 30


def both(*runs) -> None:
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SOON_S)
        assert not thread.is_alive()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's heaps")
def test_threads_share_one_heap(repository: Path, tmp_path: Path):
    """At most the main heap and one that was there before; else one for each thread."""
    heaps = {}
    for call in ("", "share_one_heap()"):
        code = _HEAPS.format(call=call, path=tmp_path / "heaps.xml")
        subprocess.run([sys.executable, "-c", code], cwd=repository, check=True)
        heaps[call] = (tmp_path / "heaps.xml").read_text().count("<heap nr=")
    assert heaps["share_one_heap()"] <= 2 < heaps[""]


_HEAPS = """
import ctypes, threading
from ui.server import share_one_heap
{call}
ready = threading.Barrier(6)
def work():
    ready.wait()
    held = [bytes(5000) for _ in range(1000)]
    ready.wait()
threads = [threading.Thread(target=work) for _ in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(b"{path}", b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


def test_one_at_a_time_unless_it_only_waits():
    turns, order = Turns(longest_s=_SOON_S), []
    first_is_in, second_is_done = threading.Event(), threading.Event()

    def first() -> None:
        with turns.in_turn():
            first_is_in.set()
            order.append("first draws")
            with turns.others_first():
                assert second_is_done.wait(_SOON_S)
            order.append("first draws on")

    def second() -> None:
        assert first_is_in.wait(_SOON_S)
        with turns.in_turn():
            order.append("second draws")
        second_is_done.set()

    both(second, first)
    assert order == ["first draws", "second draws", "first draws on"]


def test_who_takes_too_long_keeps_nobody_waiting():
    turns, second_is_done, order = Turns(longest_s=0.02), threading.Event(), []
    first_is_in = threading.Event()

    def first() -> None:
        with turns.in_turn():
            first_is_in.set()
            assert second_is_done.wait(_SOON_S)
        order.append("first is done")

    def second() -> None:
        assert first_is_in.wait(_SOON_S)
        with turns.in_turn():
            order.append("second draws")
        second_is_done.set()

    both(first, second)
    assert order == ["second draws", "first is done"]
    # The turn that had been taken from the first was not given back twice.
    with turns.in_turn():
        pass


def test_a_page_that_fails_gives_its_turn_back():
    turns = Turns(longest_s=_SOON_S)
    for _ in range(2):
        with pytest.raises(ValueError, match="drawn"), turns.in_turn(), turns.others_first():
            raise ValueError("not drawn")


def test_turns_come_in_the_order_in_which_they_were_asked_for():
    turns, order = Turns(longest_s=_SOON_S), []

    def wait(number: int) -> None:
        with turns.in_turn():
            order.append(number)

    with turns.in_turn():
        threads = []
        for number in range(20):
            threads.append(threading.Thread(target=wait, args=(number,)))
            threads[-1].start()
            while len(turns._queue) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join(_SOON_S)
    assert order == list(range(20))


#: The release that these parts were tried in: another one is allowed once `make newest` is green with it.
TRIED = "1.67"
#: Of Streamlit's documented interface, what the app imports; and how its own command is started.
PUBLIC = {
    "streamlit",
    "streamlit.App",
    "streamlit.delta_generator.DeltaGenerator",
    "streamlit.typing.UploadedFile",
    "streamlit.web.cli",
}


def test_only_the_release_that_was_tried_may_be_installed_and_one_module_uses_what_is_not_public(repository: Path):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (allowed,) = (one.specifier for one in map(Requirement, project["dependencies"]) if one.name == "streamlit")
    major, minor = map(int, TRIED.split("."))
    assert allowed.contains(f"{TRIED}.0") and allowed.contains(f"{TRIED}.9")
    assert not allowed.contains(f"{major}.{minor + 1}.0") and not allowed.contains(f"{major}.{minor - 1}.9")
    assert allowed.contains(streamlit.__version__)
    internal = {path.stem: imported_of_streamlit(path) - PUBLIC for part in MAY_IMPORT for path in modules_of(part)}
    assert [name for name, modules in internal.items() if modules] == ["streamlit_internals"]


def imported_of_streamlit(path: Path) -> set[str]:
    imported: set[str] = set()
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return {name for name in imported if name.partition(".")[0] == "streamlit"}


def test_the_server_asks_nobody_for_its_address_and_tells_nobody_of_its_checkout(monkeypatch):
    # Each is put back afterwards.
    for owner, name in ((net_util, "get_external_ip"), (net_util, "get_internal_ip")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(AppSession, "_handle_git_information_request", AppSession._handle_git_information_request)
    keep_to_itself()
    assert net_util.get_external_ip() is net_util.get_internal_ip() is None
    assert AppSession._handle_git_information_request(None) is None, "it has nothing to answer with"
    monkeypatch.delattr(net_util, "get_external_ip")
    with pytest.raises(RuntimeError, match="get_external_ip"):
        keep_to_itself()


def test_a_method_is_named_by_its_rule_and_confidence_by_mark_and_word():
    assert [step.mark for step in Confidence] == ["●○○", "●●○", "●●●"]
    assert Confidence.FAIR.word == "fair"
    assert EnsembleRule(("line", "forest", "dense"), "median").words == "median of 3 models"
    assert EnsembleRule(("forest", "dense"), "mean").words == "mean of 2 models"
    assert EnsembleRule(("forest",), "mean").words == "one model"


ROOT = Path(__file__).resolve().parents[2]


def test_a_failure_is_logged_as_one_line_without_texts_and_places(caplog):
    class Source(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise KeyError("conv_of_my_network")

    try:
        read_profile(Source())
    except Exception as error:
        with caplog.at_level(logging.ERROR):
            log_failure(logging.getLogger("test"), "A page failed", error)
    (record,) = caplog.records
    line = record.getMessage()
    assert line.startswith("A page failed: KeyError at ") and "profet_profiles/reading.py:" in line
    assert record.exc_info is None and "\n" not in line
    assert "conv_of_my_network" not in line and str(ROOT) not in line
