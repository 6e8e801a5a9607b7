"""Receives a request's body, in JSON, as a form or as one file, and never more of it than is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

import msgspec
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from profet_core.errors import ProfileError
from profet_core.fields.field import PROFILE, Fields, Kind
from profet_core.profiles import Profile, read_profile
from profet_core.profiles.guarded import read_guarded
from profet_core.profiles.profet_json import parse_json
from profet_http.failures import MALFORMED, TOO_LARGE, TOO_SLOW, UNSUPPORTED, UNUSABLE, RequestError
from profet_http.limits import MAX_FILE_BYTES, MAX_JSON_BYTES, PAUSE_LIMIT_S, RECEIVE_LIMIT_S, SMALL_JSON_BYTES

JSON, FORM, FILE = "application/json", "multipart/form-data", "application/octet-stream"
_SPOOL_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as it was sent; `name` is for messages only."""

    file: BinaryIO
    name: str


@dataclass(frozen=True, slots=True)
class Received:
    """A request's values by field, checked; files are not read yet.

    Attributes
    ----------
    quick : nothing in it is large.
    """

    values: Mapping[str, object]
    quick: bool = False

    def read(self, fields: Fields) -> dict[str, object]:
        """The values, each profile among them read. For a thread.

        Raises
        ------
        ProfileError : one line that says what is wrong with which.
        """
        return {
            name: self._profile(name, value) if fields[name].kind is PROFILE else value
            for name, value in self.values.items()
        }

    def _profile(self, name: str, value: object) -> Profile:
        """A process of its own reads what may be large."""
        if isinstance(value, SentFile):
            return read_guarded(value.file, value.name)
        data = msgspec.json.encode(value)
        return read_profile(data, name) if self.quick else read_guarded(BytesIO(data), name)


@asynccontextmanager
async def received(request: Request, fields: Fields) -> AsyncIterator[Received]:
    """The fields of a body, or of a query where there is none; files are closed at the end.

    Raises
    ------
    RequestError : one line: too large, too slow, malformed, a field that is unknown, missing or of another kind.
    """
    async with AsyncExitStack() as stack:
        if request.method == "GET":
            found = Received(_texts(fields, request.query_params.multi_items()), quick=True)
        else:
            kind = _content_type(request)
            try:
                async with asyncio.timeout(RECEIVE_LIMIT_S):
                    found = await _RECEIVE[kind](_limited(request, _most(kind), kind), fields, stack)
            except TimeoutError:
                raise RequestError(TOO_SLOW, "The body did not arrive in time: send it again.") from None
            except ClientDisconnect:
                raise RequestError(MALFORMED, "The body is truncated.") from None
        for name, field in fields.items():
            if field.required and name not in found.values:
                raise RequestError(UNUSABLE, f"{name} is missing: {field.help}.")
        yield found


def _content_type(request: Request) -> str:
    """What the body says it is: `JSON`, `FORM` or `FILE`.

    Raises
    ------
    RequestError : it is something else, or compressed on the way, or said to be longer than allowed.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, FORM, FILE):
        raise RequestError(UNSUPPORTED, f"Send {JSON}, {FORM} or, for a file as the body, {FILE}.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestError(UNSUPPORTED, "Send the body without Content-Encoding; the file itself may be gzip.")
    length = request.headers.get("content-length", "")
    if length and "transfer-encoding" in request.headers:
        raise RequestError(MALFORMED, "Send Content-Length or Transfer-Encoding, not both.")
    if length.isdecimal() and int(length) > _most(kind):
        raise _too_large(kind)
    return kind


def _values(fields: Fields, given: Mapping[str, Any], read: Callable[[Kind, Any], object]) -> dict[str, object]:
    """The values of a body or a query, checked.

    Raises
    ------
    RequestError : an unknown field, or a value of another kind.
    """
    values = {}
    for name, value in given.items():
        if name not in fields:
            shown = ascii(name) if len(name) <= 60 else f"{name[:57]!a}..."
            raise RequestError(UNUSABLE, f"Unknown field {shown}: choose from {', '.join(fields)}.")
        try:
            values[name] = read(fields[name].kind, value)
        except (ValueError, OverflowError):
            raise RequestError(UNUSABLE, f"{name} must be {fields[name].kind.wanted}.") from None
    return values


def _texts(fields: Fields, items: Iterable[tuple[str, str]]) -> dict[str, object]:
    """The values of a query or a form."""
    texts: dict[str, list[str]] = {}
    for name, text in items:
        texts.setdefault(name, []).append(text)
    return _values(fields, texts, lambda kind, several: kind.of_texts(several))


async def _json(request: Request, fields: Fields, _: AsyncExitStack) -> Received:
    _no_query(request)
    body = await request.body()
    try:
        document = parse_json(body)
    except ProfileError as error:
        raise RequestError(MALFORMED, str(error).replace("The file", "The body")) from None
    if not isinstance(document, dict):
        raise RequestError(UNUSABLE, "The body must be a JSON object, with a field profile.")
    # Null is as good as no value.
    given = {name: value for name, value in document.items() if value is not None or name not in fields}
    return Received(
        _values(fields, given, lambda kind, value: kind.checked(value)), quick=len(body) <= SMALL_JSON_BYTES
    )


async def _form(request: Request, fields: Fields, stack: AsyncExitStack) -> Received:
    _no_query(request)
    profiles = {name for name, field in fields.items() if field.kind is PROFILE}
    try:
        form = await stack.enter_async_context(
            request.form(max_files=len(profiles), max_fields=4 * len(fields), max_part_size=2**10)
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
            files[name] = SentFile(part.file, part.filename or name)
        elif name in profiles:
            raise RequestError(UNUSABLE, f"{name} must be sent as a file, with a filename.")
        else:
            texts.append((name, part))
    return Received({**_texts(fields, texts), **files})


async def _file(request: Request, fields: Fields, stack: AsyncExitStack) -> Received:
    values = _texts(fields, request.query_params.multi_items())
    file = stack.enter_context(SpooledTemporaryFile(max_size=_SPOOL_BYTES))  # noqa: SIM115
    async for chunk in request.stream():
        file.write(chunk)
    file.seek(0)
    return Received({**values, "profile": SentFile(cast(BinaryIO, file), "profile")})


_RECEIVE = {JSON: _json, FORM: _form, FILE: _file}


def _no_query(request: Request) -> None:
    if request.query_params:
        raise RequestError(UNUSABLE, "Put fields in the body; use the query only for a file sent as the body.")


def _limited(request: Request, most: int, kind: str) -> Request:
    """The same request, whose body ends in an error once it is longer than `most` bytes."""
    receive, taken = request.receive, 0

    async def counted() -> dict:
        nonlocal taken
        async with asyncio.timeout(PAUSE_LIMIT_S):
            message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise _too_large(kind)
        return dict(message)

    return Request(request.scope, counted)


def _most(kind: str) -> int:
    return MAX_JSON_BYTES if kind == JSON else MAX_FILE_BYTES


def _too_large(kind: str) -> RequestError:
    megabytes = _most(kind) // 2**20
    if kind == JSON:
        return RequestError(
            TOO_LARGE, f"A JSON body can have at most {megabytes} MB: send a trace as a file, or reduce it."
        )
    return RequestError(
        TOO_LARGE,
        (f"A file can have at most {megabytes} MB: reduce larger ones with `profet convert TRACE -o profile.json`."),
    )
