"""Receives a request's body, in JSON, as a form or as one file, within limits, and says why one gets no answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, TypeAlias, cast

import msgspec
from msgspec import Struct
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from profet_core.answers.by_layers import network_called
from profet_core.errors import ArtifactError, BusyError, CatalogError, InputError, ProfetError
from profet_core.layers.logs import read_log_guarded
from profet_core.questions import MAX_LOG_CHARACTERS, MAX_TEXT_CHARACTERS, Question, QuestionField, ask
from profet_profiles import read_profile
from profet_profiles.sandbox import read_guarded

_LOG = logging.getLogger(__name__)

JSON, FORM, FILE = "application/json", "multipart/form-data", "application/octet-stream"
#: Files in a body, all together; larger ones are for `profet convert`, on the user's machine.
MAX_FILE_BYTES = 30 * 2**20
#: A JSON body: three profiles of a thousand operations each have 200 KB.
MAX_JSON_BYTES = 2**20
#: A JSON body up to this size is answered at once; larger ones take turns with files.
SMALL_JSON_BYTES = 2**16
#: The next part of a body must be there by then; all of it.
PAUSE_LIMIT_S = 5.0
RECEIVE_LIMIT_S = 30.0
_SPOOL_BYTES, MAX_FORM_FIELDS = 2**20, 300

MALFORMED, NOT_FOUND, NOT_ALLOWED, TOO_SLOW, TOO_LARGE, UNSUPPORTED, UNUSABLE = 400, 404, 405, 408, 413, 415, 422
OUR_FAULT, BUSY = 500, 503
#: Status -> code of an error that has none of its own.
_CODES = {
    MALFORMED: "malformed",
    NOT_FOUND: "not_found",
    NOT_ALLOWED: "not_allowed",
    TOO_SLOW: "too_slow",
    TOO_LARGE: "too_large",
    UNSUPPORTED: "unsupported",
    UNUSABLE: "input",
    BUSY: "busy",
}
NOT_READY = "The server's models or catalog can't be used: try again later. Its log says why."


class RequestError(Exception):
    """A request that gets no answer; `str(error)` is one line for whoever sent it, and `code` its stable name."""

    def __init__(self, status: int, line: str, *, code: str | None = None, **headers: str) -> None:
        super().__init__(line)
        self.status = status
        self.code = code or _CODES.get(status, "failed")
        self.headers = {**headers, **({"Retry-After": "2"} if status == BUSY else {})}


def failure_of(error: Exception) -> RequestError:
    """Make the response to any error; details of our own faults go to the log only."""
    match error:
        case RequestError():
            return error
        case HTTPException(status_code=404):
            return RequestError(NOT_FOUND, "Not found: /v1/docs lists the endpoints.")
        case HTTPException(status_code=405):
            allow = (error.headers or {}).get("Allow", "")
            return RequestError(NOT_ALLOWED, f"Use {allow} here.", Allow=allow)
        case HTTPException():
            return RequestError(error.status_code, str(error.detail))
        case ArtifactError() | CatalogError():
            _LOG.error("No answer: %s", error)
            return RequestError(BUSY, NOT_READY)
        case BusyError():
            return RequestError(BUSY, str(error))
        case ProfetError():
            return RequestError(UNUSABLE, " ".join(str(error).split()), code=error.code)
    _LOG.error("A request failed", exc_info=error)
    return RequestError(OUR_FAULT, "Something went wrong on our side: try again later.")


#: A file as it was sent, and its name for messages.
SentFile: TypeAlias = tuple[BinaryIO, str]


class Received(Struct, frozen=True):
    """What was sent: values by field, or all texts of each; `quick`: nothing in it is large."""

    values: Mapping[str, object]
    of_texts: bool
    quick: bool

    def question(self, kind: type[Question]) -> Question:
        """Make the question, each profile read: here where it is quick, else by a process of its own.

        Raises
        ------
        InputError, ProfileError : one line that says what is wrong with which field.
        """
        return ask(kind, self.values, of_texts=self.of_texts, read=self._read)

    def _read(self, field: QuestionField, value: Any, values: Mapping[str, object]) -> object:
        if isinstance(value, tuple):
            return read_log_guarded(*value) if field.is_log else read_guarded(*value)
        if isinstance(value, msgspec.Raw) and not field.is_log:
            data = bytes(value)
            return read_profile(data, field.name) if self.quick else read_guarded(BytesIO(data), field.name)
        text = value if isinstance(value, str) else ""
        if field.is_log and 0 < len(text) <= MAX_LOG_CHARACTERS:
            return read_log_guarded(text.encode(), field.name)
        if field.name == "profile" and 0 < len(text) <= MAX_TEXT_CHARACTERS:
            if (network := network_called(text, values)) is None:
                raise InputError(f"Unknown network {text!a}: send a profile, or the name of a network.", field.name)
            return network
        raise InputError(f"{{{field.name}}} must be {field.wanted}.", field.name)


@asynccontextmanager
async def received(request: Request, profiles: Collection[str]) -> AsyncIterator[Received]:
    """Receive the fields of a body, or of a query where there is none; files are not read yet, and closed at the end.

    Parameters
    ----------
    profiles : fields that are files.

    Raises
    ------
    RequestError : one line: too large, too slow, malformed.
    """
    texts = _texts(request.query_params.multi_items())
    if request.method == "GET":
        yield Received(texts, of_texts=True, quick=True)
        return
    kind = _content_type(request)
    if texts and kind != FILE:
        raise RequestError(UNUSABLE, "Put fields in the body; use the query only for a file sent as the body.")
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(RECEIVE_LIMIT_S):
                limited = _limited(request, kind)
                if kind == JSON:
                    body = _of_json(await limited.body(), profiles)
                elif kind == FORM:
                    body = await _of_form(limited, profiles, stack)
                else:
                    spooled = SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115
                    file = cast(BinaryIO, stack.enter_context(spooled))
                    async for chunk in limited.stream():
                        file.write(chunk)
                    file.seek(0)
                    body = Received({**texts, "profile": (file, "profile")}, of_texts=True, quick=False)
        except TimeoutError:
            raise RequestError(TOO_SLOW, "The body did not arrive in time: send it again.") from None
        except ClientDisconnect:
            raise RequestError(MALFORMED, "The body is truncated.") from None
        yield body


def _content_type(request: Request) -> str:
    """`JSON`, `FORM` or `FILE`; RequestError for another, one compressed on the way or said to be too long."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, FORM, FILE):
        raise RequestError(UNSUPPORTED, f"Send {JSON}, {FORM} or, for a file as the body, {FILE}.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestError(UNSUPPORTED, "Send the body without Content-Encoding; the file itself may be gzip.")
    length = request.headers.get("content-length", "")
    if length and "transfer-encoding" in request.headers:
        raise RequestError(MALFORMED, "Send Content-Length or Transfer-Encoding, not both.")
    if length.isdecimal():
        _check_size(int(length), kind)
    return kind


def _check_size(size: int, kind: str) -> None:
    most = MAX_JSON_BYTES if kind == JSON else MAX_FILE_BYTES
    if size > most:
        what, instead = "file", "reduce larger ones with `profet convert TRACE -o profile.json`"
        if kind == JSON:
            what, instead = "JSON body", "send a trace as a file, or reduce it"
        raise RequestError(TOO_LARGE, f"A {what} can have at most {most // 2**20} MB: {instead}.")


def _limited(request: Request, kind: str) -> Request:
    """Wrap the request: its body ends in an error once it is too long or stops coming."""
    taken = 0

    async def counted() -> dict:
        nonlocal taken
        async with asyncio.timeout(PAUSE_LIMIT_S):
            message = await request.receive()
        taken += len(message.get("body", b""))
        _check_size(taken, kind)
        return dict(message)

    return Request(request.scope, counted)


def _texts(items: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the texts of a query or a form by field."""
    texts: dict[str, list[str]] = {}
    for name, text in items:
        texts.setdefault(name, []).append(text)
    return dict(texts)


def _of_json(body: bytes, profiles: Collection[str]) -> Received:
    try:
        parts = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        # The objects of profiles are read as files are.
        given: dict[str, object] = {
            name: part if name in profiles and memoryview(part)[:1] in (b"{", b"[") else msgspec.json.decode(part)
            for name, part in parts.items()
        }
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError) and not body.lstrip().startswith(b"{"):
            raise RequestError(UNUSABLE, "The body must be a JSON object, with a field profile.") from None
        raise RequestError(MALFORMED, f"The body can't be read: {error}.") from None
    # Null is as good as no value.
    given = {name: value for name, value in given.items() if value is not None}
    return Received(given, of_texts=False, quick=len(body) <= SMALL_JSON_BYTES)


async def _of_form(request: Request, profiles: Collection[str], stack: AsyncExitStack) -> Received:
    try:
        form = await stack.enter_async_context(
            request.form(max_files=len(profiles), max_fields=MAX_FORM_FIELDS, max_part_size=2**10)
        )
    except HTTPException as error:
        raise RequestError(MALFORMED, f"The form can't be read: {error.detail}") from None
    except KeyError:
        raise RequestError(MALFORMED, "The form can't be read: its boundary is missing.") from None
    texts: list[tuple[str, str]] = []
    files: dict[str, SentFile] = {}
    for name, part in form.multi_items():
        if isinstance(part, UploadFile):
            if name not in profiles or name in files:
                raise RequestError(UNUSABLE, f"Send one file in each of {', '.join(sorted(profiles))}.")
            files[name] = (part.file, part.filename or name)
        elif name in profiles:
            raise RequestError(UNUSABLE, f"{name} must be sent as a file, with a filename.")
        else:
            texts.append((name, part))
    return Received({**_texts(texts), **files}, of_texts=True, quick=False)
