"""The OpenAPI description, made of the tables that requests are read by."""

from __future__ import annotations

from collections.abc import Callable

from profet_core.documents.records import TEXT, WHOLE, Document, Schema, Type, record
from profet_core.fields.field import NUMBERS, PROFILE, Field, Fields
from profet_http.endpoints import LISTING, OWN_GPUS, QUESTIONS, Endpoint
from profet_http.receiving import FILE, FORM, JSON

_HEALTH = record(status=Type({"const": "ok", "type": "string"}), sample=TEXT, predicted=WHOLE)
_ERROR = record(error=TEXT, code=TEXT)
#: Status -> when.
_FAILURES = {
    "400": "The body is malformed or truncated.",
    "403": "A page of another site asks (only beside the app).",
    "404": "There is no such path.",
    "405": "The path takes another method: see Allow.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body has an unsupported type or Content-Encoding.",
    "422": "A field or a profile can't be used; the error says which one and what to do.",
    "429": "Too many requests from one address (only behind a proxy with rate limits).",
    "500": "Something went wrong on the server.",
    "503": "The server is busy or not ready: retry after Retry-After seconds.",
}
_OF_EVERY_PATH = ("403", "404", "405", "429")


def openapi_document() -> Document:
    """OpenAPI 3.1: every path, field, answer and failure."""
    healthy = "Whether the models load, are complete and predict a sample correctly."
    page = "This description as a page."
    listing = _operation("instances", LISTING.summary, "The offers.", LISTING.document.schema, "422", "500", "503")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "PROFET",
            "version": "1",
            "description": "The command line's JSON over HTTP. Latencies are milliseconds per training step. Every "
            'error is {"error": "one line", "code": "its stable name"}.',
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {
            **{f"/v1{path}": {"post": _question(path, endpoint)} for path, endpoint in QUESTIONS.items()},
            "/v1/instances": {"get": {**listing, "parameters": _parameters(LISTING.fields)}},
            "/v1/health": {"get": _operation("health", healthy, "Healthy.", _HEALTH.schema, "503")},
            "/v1/openapi.json": {
                "get": _operation("openapi", "This description.", "This description.", {"type": "object"})
            },
            "/v1/docs": {"get": _operation("docs", page, page, {"type": "string"}, content_type="text/html")},
        },
    }


def _operation(
    name: str, summary: str, description: str, answer: Schema, *failures: str, content_type: str = JSON
) -> Document:
    """A path's method with its answer and failures; failures of every path are added, all are one line in JSON."""
    statuses = sorted({*failures, *_OF_EVERY_PATH})
    return {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": _content(description, answer, content_type),
            **{status: _content(_FAILURES[status], _ERROR.schema) for status in statuses},
        },
    }


def _content(description: str, schema: Schema, content_type: str = JSON) -> Document:
    return {"description": description, "content": {content_type: {"schema": schema}}}


def _question(path: str, endpoint: Endpoint) -> Document:
    fields = endpoint.fields
    return {
        **_operation(path.strip("/"), endpoint.summary, "The response.", endpoint.document.schema, *_FAILURES),
        "description": f"Put fields in the body; for {FILE}, a file as the body, put them in the query.",
        # Beside the other bodies there is no query, so that none of it is always required.
        "parameters": [{**parameter, "required": False} for parameter in _parameters(fields)],
        "requestBody": {
            "required": True,
            "content": {
                # In JSON null is as good as no value; in a form profiles are files, and several texts are repeated.
                JSON: {"schema": _object(fields, _as_json)},
                FORM: {"schema": _object(fields, _as_text)},
                FILE: {"schema": {"type": "string", "format": "binary"}},
            },
        },
    }


def _as_json(field: Field) -> Document:
    schema = field.kind.schema
    if field.required:
        return {**schema}
    types = schema["type"]
    return {**schema, "type": [*(types if isinstance(types, list) else [types]), "null"]}


def _as_text(field: Field) -> Document:
    if field.kind is PROFILE:
        return {"type": "string", "format": "binary"}
    if field.kind is OWN_GPUS:
        return {"type": "string", "contentMediaType": "application/json"}
    if field.kind.join is not None:
        return {"type": "array", "items": {"type": "string"}}
    return {**field.kind.schema}


def _object(fields: Fields, schema_of: Callable[[Field], Document]) -> Schema:
    return {
        "type": "object",
        "properties": {name: {**schema_of(field), "description": _described(field)} for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _described(field: Field) -> str:
    return f"{field.help}; one of {', '.join(field.choices)}" if field.choices else field.help


def _parameters(fields: Fields) -> list[Document]:
    return [
        {
            "name": name,
            "in": "query",
            "required": field.required,
            "description": _described(field) + (" (INSTANCE=NUMBER, repeated)" if field.kind is NUMBERS else ""),
            "schema": _as_text(field),
        }
        for name, field in fields.items()
        if field.kind is not PROFILE
    ]
