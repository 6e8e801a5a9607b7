"""A visitor without a browser: speaks Streamlit's websocket protocol and uploads as its page does."""

from __future__ import annotations

import asyncio
import time
import urllib.request
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

#: A run that takes longer counts as lost.
RUN_TIMEOUT_S = 120
_XSRF_COOKIE = "_streamlit_xsrf"


class RunFailedError(Exception):
    """A run of the page ended otherwise than well, or showed an error."""


@dataclass
class Visitor:
    """One browser tab: holds what the page shows that can be acted on, and tells how long each run took.

    Attributes
    ----------
    widgets : of the page shown, by the end of their ids, which is their key; as the server described them.
    """

    url: str
    widgets: dict[str, Any] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _fragments: dict[str, str] = field(default_factory=dict)
    _pages: dict[str, str] = field(default_factory=dict)
    _page: str = ""
    _query: str = ""
    _session: str = ""
    _socket: ClientConnection | None = None

    async def __aenter__(self) -> Self:
        address = f"{self.url.replace('http', 'ws', 1)}/_stcore/stream"
        self._socket = await connect(
            address, subprotocols=["streamlit"], max_size=None, compression=None, open_timeout=RUN_TIMEOUT_S
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def open_page(self, name: str = "") -> float:
        """Go to a page by the last part of its address; seconds until it is complete."""
        self._page = self._pages.get(name, "")
        self._states.clear()
        return await self._run()

    async def choose(self, key: str, value: str) -> float:
        """Choose in a select box."""
        return await self._change(key, string_value=value)

    async def enter(self, key: str, value: float) -> float:
        """Type a number into the field of a setting."""
        return await self._change(key, double_value=value)

    async def slide(self, key: str, value: int) -> float:
        """Move a slider of one handle."""
        return await self._change(key, string_array_value={"data": [str(value)]})

    async def upload(self, key: str, name: str, data: bytes) -> float:
        """Upload one file; seconds from its choice until the page is complete."""
        started = time.perf_counter()
        request = BackMsg()
        request.file_urls_request.request_id = uuid.uuid4().hex
        request.file_urls_request.file_names.append(name)
        request.file_urls_request.session_id = self._session
        await self._send(request)
        while (message := await self._receive()).WhichOneof("type") != "file_urls_response":
            pass
        (urls,) = message.file_urls_response.file_urls
        await asyncio.to_thread(_put, self.url, urls, name, data)
        uploaded = {"file_id": urls.file_id, "name": name, "size": len(data), "file_urls": urls}
        await self._change(key, file_uploader_state_value={"uploaded_file_info": [uploaded]})
        return time.perf_counter() - started

    async def _change(self, key: str, **value: Any) -> float:
        widget = self.widgets[key]
        self._states[key] = WidgetState(id=widget.id, **value)
        return await self._run(self._fragments[key])

    async def _run(self, fragment: str = "") -> float:
        """Run the page, or the part of it that a widget draws anew alone."""
        request = BackMsg()
        request.rerun_script.fragment_id = fragment
        request.rerun_script.query_string = self._query
        request.rerun_script.page_script_hash = self._page
        request.rerun_script.widget_states.widgets.extend(self._states.values())
        started = time.perf_counter()
        await self._send(request)
        if not fragment:
            self.widgets = {}
        async with asyncio.timeout(RUN_TIMEOUT_S):
            while not self._take(await self._receive()):
                pass
        return time.perf_counter() - started

    def _take(self, message: ForwardMsg) -> bool:
        """Note what a message says of the page; True if it is complete."""
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take_element(message)
        elif kind == "new_session":
            self._session = message.new_session.initialize.session_id
        elif kind == "navigation":
            self._pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "script_finished":
            # A run that asks for another one (`st.rerun`) says so, and the other one follows.
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
        identity = getattr(shown, "id", "")
        if identity:
            # An id is "$$ID-hash-key".
            key = identity.split("-", 2)[-1]
            self.widgets[key], self._fragments[key] = shown, message.delta.fragment_id

    async def _send(self, request: BackMsg) -> None:
        assert self._socket is not None, "used outside of its block"
        await self._socket.send(request.SerializeToString())

    async def _receive(self) -> ForwardMsg:
        assert self._socket is not None, "used outside of its block"
        data = await self._socket.recv()
        assert isinstance(data, bytes), "the protocol is binary"
        return ForwardMsg.FromString(data)


def _put(url: str, urls: FileURLs, name: str, data: bytes) -> None:
    """Send a file as the browser's form does, with the token against forged requests."""
    with urllib.request.urlopen(f"{url}/_stcore/health", timeout=RUN_TIMEOUT_S) as answer:
        cookies: Mapping[str, str] = dict(
            part.split(";", 1)[0].split("=", 1) for part in answer.headers.get_all("Set-Cookie", [])
        )
    edge = uuid.uuid4().hex
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    if token := cookies.get(_XSRF_COOKIE):
        headers |= {"X-Xsrftoken": token.strip('"'), "Cookie": f"{_XSRF_COOKIE}={token}"}
    body = head.encode() + data + f"\r\n--{edge}--\r\n".encode()
    request = urllib.request.Request(f"{url}{urls.upload_url}", body, headers, method="PUT")
    urllib.request.urlopen(request, timeout=RUN_TIMEOUT_S).close()
