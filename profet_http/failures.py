"""What a request can fail with: a status, a code, and one line that says what to do."""

from __future__ import annotations

import logging

from starlette.exceptions import HTTPException

from profet_core.errors import ArtifactError, BusyError, CatalogError, ProfetError
from profet_http.limits import RETRY_AFTER_S

_LOG = logging.getLogger(__name__)

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

UNEXPECTED = "Something went wrong on our side: try again later."
NOT_READY = "The server's models or catalog can't be used: try again later. Its log says why."
NO_PLACE = "The server is busy: try again in a moment."
TOO_LONG = "The request took too long: send a smaller file (`profet convert TRACE -o profile.json` makes one)."


class RequestError(Exception):
    """A request that gets no answer; `str(error)` is one line for whoever sent it, and `code` its stable name."""

    def __init__(self, status: int, line: str, *, code: str | None = None, allow: str | None = None) -> None:
        super().__init__(line)
        self.status = status
        self.code = code or _CODES.get(status, "failed")
        self.headers = {} if allow is None else {"Allow": allow}
        if status == BUSY:
            self.headers["Retry-After"] = str(RETRY_AFTER_S)


def failure_of(error: Exception) -> RequestError:
    """The response to any error; details of our own faults go to the log only."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, HTTPException):
        if error.status_code == NOT_FOUND:
            return RequestError(NOT_FOUND, "Not found: /v1/docs lists the endpoints.")
        if error.status_code == NOT_ALLOWED:
            allow = (error.headers or {}).get("Allow", "")
            return RequestError(NOT_ALLOWED, f"Use {allow} here.", allow=allow)
        return RequestError(error.status_code, str(error.detail))
    if isinstance(error, ArtifactError | CatalogError):
        _LOG.error("No answer: %s", error)
        return RequestError(BUSY, NOT_READY)
    if isinstance(error, BusyError):
        return RequestError(BUSY, str(error))
    if isinstance(error, ProfetError):
        return RequestError(UNUSABLE, " ".join(str(error).split()), code=error.code)
    _LOG.error("A request failed", exc_info=error)
    return RequestError(OUR_FAULT, UNEXPECTED)
