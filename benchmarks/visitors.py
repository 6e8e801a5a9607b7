"""Many visitors at once, without browsers: each acts every few seconds over Streamlit's own websocket protocol.

An action's time is from sending it until all of the changed page has arrived. Visitors and server share the machine.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from http.cookiejar import CookieJar
from itertools import cycle
from typing import Any
from urllib.request import HTTPCookieProcessor, Request, build_opener

import psutil
from msgspec import Struct, field
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from benchmarks import REPOSITORY
from profet_core.prediction.scaler import axis_range

#: A run that takes longer counts as lost.
RUN_TIMEOUT_S = 120


class RunFailedError(Exception):
    """A run of the page failed, or showed an error."""


class Visitor(Struct):
    """One browser tab.

    Attributes
    ----------
    widgets : of the page shown, by their key, as the server described them.
    pages : last part of the address -> Streamlit's name of the page; empty before the first one is open.
    """

    url: str
    socket: ClientConnection
    widgets: dict[str, Any] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _fragments: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    _page: str = ""
    _query: str = ""

    async def open_page(self, name: str = "") -> float:
        """Go to a page by the last part of its address; seconds until it is complete."""
        self._page = self.pages.get(name, "")
        self._states.clear()
        return await self._run()

    async def change(self, key: str, **value: Any) -> float:
        """Set a widget to a value of `WidgetState`; seconds until the page is complete."""
        self._states[key] = WidgetState(id=self.widgets[key].id, **value)
        return await self._run(self._fragments[key])

    async def upload(self, key: str, name: str, data: bytes) -> float:
        """Send a file to an uploader; seconds until the page is complete, without the sending."""
        request = BackMsg()
        request.file_urls_request.file_names.append(name)
        await self.socket.send(request.SerializeToString())
        while (message := ForwardMsg.FromString(await self.socket.recv(decode=False))).WhichOneof("type") != (
            "file_urls_response"
        ):
            pass
        (urls,) = message.file_urls_response.file_urls
        await asyncio.to_thread(_put, self.url, urls.upload_url, name, data)
        sent = UploadedFileInfo(file_id=urls.file_id, name=name, size=len(data), file_urls=urls)
        return await self.change(key, file_uploader_state_value=FileUploaderState(uploaded_file_info=[sent]))

    async def _run(self, fragment: str = "") -> float:
        """Run the page, or only one fragment of it."""
        request = BackMsg()
        request.rerun_script.fragment_id = fragment
        request.rerun_script.query_string = self._query
        request.rerun_script.page_script_hash = self._page
        request.rerun_script.widget_states.widgets.extend(self._states.values())
        started = time.perf_counter()
        await self.socket.send(request.SerializeToString())
        if not fragment:
            self.widgets = {}
        async with asyncio.timeout(RUN_TIMEOUT_S):
            while not self._is_complete(ForwardMsg.FromString(await self.socket.recv(decode=False))):
                pass
        return time.perf_counter() - started

    def _is_complete(self, message: ForwardMsg) -> bool:
        """Take in what a message shows; True after the last one."""
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take_element(message)
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "script_finished":
            # After `st.rerun` another run follows.
            status = message.script_finished
            if status == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return False
            if status not in (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY):
                raise RunFailedError(ForwardMsg.ScriptFinishedStatus.Name(status))
            return True
        return False

    def _take_element(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        shown = getattr(element, kind)
        if kind == "exception" or (kind == "alert" and shown.format == shown.ERROR):
            raise RunFailedError(str(shown)[:300])
        if identity := getattr(shown, "id", ""):
            # An id is "$$ID-hash-key".
            key = identity.split("-", 2)[-1]
            self.widgets[key], self._fragments[key] = shown, message.delta.fragment_id


def _put(url: str, path: str, name: str, data: bytes) -> None:
    """Send a file as a browser does, with the cookie's token."""
    jar = CookieJar()
    opener = build_opener(HTTPCookieProcessor(jar))
    opener.open(f"{url}/_stcore/health").close()
    (token,) = (cookie.value or "" for cookie in jar)
    body = f'--end\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    headers = {"Content-Type": "multipart/form-data; boundary=end", "X-Xsrftoken": token}
    opener.open(Request(f"{url}{path}", body + data + b"\r\n--end--\r\n", headers, method="PUT")).close()


#: What a visitor does; each gives the seconds it took.
Action = Callable[[Visitor, random.Random], Awaitable[float]]


def slide(visitor: Visitor, chance: random.Random) -> Awaitable[float]:
    """Move the batch slider."""
    stop = str(chance.randint(*axis_range("batch")))
    return visitor.change("slider:batch", string_array_value={"data": [stop]})


def _page(name: str) -> Action:
    return lambda visitor, _: visitor.open_page(name)


def _source(name: str) -> Action:
    return lambda visitor, _: visitor.change("source", string_array_value={"data": [name]})


def _choose(key: str, *names: str) -> Action:
    """Choose one of a list, or of these names in it."""
    return lambda visitor, chance: visitor.change(
        key, string_value=chance.choice(names or list(visitor.widgets[key].options))
    )


def _upload(visitor: Visitor, _: random.Random) -> Awaitable[float]:
    key = next(key for key in visitor.widgets if key.startswith(":file:"))
    return visitor.upload(key, _FILE.name, _FILE.read_bytes())


_FILE = REPOSITORY / "sample_traces" / "resnet50-128px-b16-g4dn.json"
#: A visitor does one after the other, again and again, beginning with one of the pages.
ACTIONS: Mapping[str, Action] = {
    "predict": _page("predict"),
    "samples": _source("Sample"),
    "another sample": _choose("sample"),
    "another anchor": _choose("anchor", "M60 (g3s.xlarge)", "T4 (g4dn.xlarge)", "V100 SXM (p3.2xlarge)"),
    "a slider": slide,
    "another slider": slide,
    "epochs": lambda visitor, chance: visitor.change("epochs", double_value=chance.randint(1, 200)),
    "own profiles": _source("Upload"),
    "an upload": _upload,
    "sizes": _page("sizes"),
    "a slider there": slide,
    "predict again": _page("predict"),
    "networks by name": _source("Name"),
    "another network": _choose("net", "resnet18", "mobilenet_v2", "efficientnet_b0", "alexnet"),
    "latency": lambda visitor, chance: visitor.change("latency", string_value=f"{chance.randint(100, 200)} ms"),
    "compare": _page("compare"),
    "scale_out": _page("scale_out"),
    "about": _page("about"),
}
STARTS = ("predict", "sizes", "predict again", "compare", "scale_out", "about")


class Pace(Struct, frozen=True):
    """How visitors come, act and leave, in seconds.

    Attributes
    ----------
    arrival_s : between two visitors at the start.
    interval_s : between two actions of one of them.
    stay_s : until one leaves and another comes, from half of it to once and a half; None: nobody leaves.
    timed_s : how long actions are timed when all are there.
    """

    arrival_s: float
    interval_s: float = 5.0
    stay_s: float | None = None
    timed_s: float = 15.0


class Level(Struct):
    """What visitors saw under one load, the server's processor time meanwhile, its memory before and after it."""

    first_page_s: list[float] = field(default_factory=list)
    action_s: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    server_s: float = 0.0
    server_mib: tuple[float, float] = (0.0, 0.0)


async def visit(
    url: str,
    actions: list[Action],
    interval_s: float,
    window: tuple[float, float],
    seen: Level,
    stay_s: float | None = None,
) -> None:
    """One visitor, who leaves at the end of `window`, on the clock of `time.perf_counter`; `interval_s` 0: once."""
    chance, address = random.Random(len(seen.first_page_s)), f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    end = min(window[1], time.perf_counter() + chance.uniform(0.5, 1.5) * stay_s) if stay_s else window[1]
    try:
        async with connect(address, subprotocols=["streamlit"], max_size=None, compression=None) as socket:
            visitor = Visitor(url, socket)
            seen.first_page_s.append(await visitor.open_page())
            due = time.perf_counter() + chance.uniform(0, interval_s)
            for action in cycle(actions) if interval_s else actions:
                if due > end:
                    return
                await asyncio.sleep(max(due - time.perf_counter(), 0))
                seconds = await action(visitor, chance)
                if due >= window[0]:
                    seen.action_s.append(seconds)
                due = max(due + interval_s, time.perf_counter())
    except (RunFailedError, OSError, TimeoutError, KeyError, ValueError) as error:
        seen.failures.append(f"{type(error).__name__}: {error}")


async def run_level(
    urls: list[str], servers: list[psutil.Process], actions: list[Action], visitors: int, pace: Pace
) -> Level:
    """Send that many visitors, each to one of the `servers`.

    They come one by one, so that the load is that of actions and not of first pages.
    """
    seen = Level()
    starts = [place for place, name in enumerate(ACTIONS) if name in STARTS] if len(actions) > 1 else [0]
    begin = time.perf_counter() + visitors * pace.arrival_s + pace.interval_s
    window = (begin, begin + pace.timed_s)

    async def arrive(number: int) -> None:
        await asyncio.sleep(number * pace.arrival_s)
        while time.perf_counter() < window[1]:
            first = starts[number % len(starts)]
            mine = [*actions[first:], *actions[:first]]
            await visit(urls[number % len(urls)], mine, pace.interval_s, window, seen, pace.stay_s)
            if not pace.stay_s:
                return

    every = [asyncio.create_task(arrive(number)) for number in range(visitors)]
    await asyncio.sleep(begin - time.perf_counter())
    before_s, before_mib = _processor_s(servers), _memory_mib(servers)
    await asyncio.sleep(window[1] - time.perf_counter())
    seen.server_s = _processor_s(servers) - before_s
    await asyncio.gather(*every)
    seen.server_mib = before_mib, _memory_mib(servers)
    return seen


def _memory_mib(servers: list[psutil.Process]) -> float:
    return sum(server.memory_info().rss for server in servers) / 2**20


def _processor_s(servers: list[psutil.Process]) -> float:
    return sum(sum(server.cpu_times()[:2]) for server in servers)
