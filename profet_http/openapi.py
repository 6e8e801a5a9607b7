"""The OpenAPI description, made of the tables that requests are read by."""

from __future__ import annotations

from profet_core.documents.records import TEXT, WHOLE, Document, Schema, Type, record
from profet_http.endpoints import LISTING, QUESTIONS, Endpoint
from profet_http.fields import Fields
from profet_http.kinds import COUNTS, NAMES, NUMBERS, OWN_GPUS, PROFILE
from profet_http.receiving import FILE, FORM, JSON

_HEALTH = record(status=Type({"const": "ok", "type": "string"}), sample=TEXT, predicted=WHOLE)
_ERROR = record(error=TEXT)
#: Status -> when.
_FAILURES = {
    "400": "The body is malformed or truncated.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body has an unsupported type or Content-Encoding.",
    "422": "A field or a profile can't be used; the error says which one and what to do.",
    "429": "Too many requests from one address (only behind a proxy with rate limits).",
    "500": "Something went wrong on the server.",
    "503": "The server is busy or not ready: retry after Retry-After seconds.",
}
_AT_THE_LISTING = ("422", "429", "500", "503")


def openapi_document() -> Document:
    """OpenAPI 3.1: every path, field, answer and failure."""
    questions = {f"/v1{path}": {"post": _question(path, endpoint)} for path, endpoint in QUESTIONS.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "PROFET",
            "version": "1",
            "description": "The command line's JSON over HTTP. Latencies are milliseconds per training step. Every "
            'error is {"error": "one line"}.',
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {
            **questions,
            "/v1/instances": {"get": _listing()},
            "/v1/health": {"get": _health()},
        },
    }


def _question(path: str, endpoint: Endpoint) -> Document:
    return {
        "operationId": path.strip("/"),
        "summary": endpoint.summary,
        "description": f"Put fields in the body; for {FILE}, a file as the body, put them in the query.",
        # Beside the other bodies there is no query, so that none of it is always required.
        "parameters": [{**parameter, "required": False} for parameter in _parameters(endpoint.fields)],
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": _body(endpoint.fields)},
                FORM: {"schema": _form(endpoint.fields)},
                FILE: {"schema": {"type": "string", "format": "binary"}},
            },
        },
        "responses": {"200": _answer("The response.", endpoint.document), **_failures(_FAILURES)},
    }


def _listing() -> Document:
    return {
        "operationId": "instances",
        "summary": LISTING.summary,
        "parameters": _parameters(LISTING.fields),
        "responses": {
            "200": _answer("The offers.", LISTING.document),
            **_failures({status: _FAILURES[status] for status in _AT_THE_LISTING}),
        },
    }


def _health() -> Document:
    return {
        "operationId": "health",
        "summary": "Whether the models load, are complete and predict a sample correctly.",
        "responses": {
            "200": _answer("Healthy.", _HEALTH),
            **_failures({"503": "Not healthy: send no requests here."}),
        },
    }


def _body(fields: Fields) -> Schema:
    return _object(fields, {name: {**field.kind.schema} for name, field in fields.items()})


def _form(fields: Fields) -> Schema:
    """The same as a form has it: profiles are files, several numbers or names are repeated."""
    return _object(fields, {name: _as_text(fields, name) for name in fields})


def _as_text(fields: Fields, name: str) -> Document:
    kind = fields[name].kind
    if kind is PROFILE:
        return {"type": "string", "format": "binary"}
    if kind is OWN_GPUS:
        return {"type": "string", "contentMediaType": "application/json"}
    if kind in (NUMBERS, NAMES, COUNTS):
        return {"type": "array", "items": {"type": "string"}}
    return {**kind.schema}


def _object(fields: Fields, schemas: dict[str, Document]) -> Schema:
    described = {name: {**schema, "description": fields[name].description} for name, schema in schemas.items()}
    return {
        "type": "object",
        "properties": described,
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _parameters(fields: Fields) -> list[Document]:
    return [
        {
            "name": name,
            "in": "query",
            "required": field.required,
            "description": field.description + (" (INSTANCE=NUMBER, repeated)" if field.kind is NUMBERS else ""),
            "schema": _as_text(fields, name),
        }
        for name, field in fields.items()
        if field.kind is not PROFILE
    ]


def _answer(description: str, kind: Type) -> Document:
    return {"description": description, "content": {JSON: {"schema": kind.schema}}}


def _failures(by_status: dict[str, str]) -> Document:
    return {status: _answer(when, _ERROR) for status, when in by_status.items()}
