"""The OpenAPI description, made of the tables that requests are read by."""

from __future__ import annotations

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
    questions = {f"/v1{path}": {"post": _question(path, endpoint)} for path, endpoint in QUESTIONS.items()}
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
            **questions,
            "/v1/instances": {"get": _listing()},
            "/v1/health": {"get": _health()},
            "/v1/openapi.json": {"get": _page("openapi", "This description.", JSON, {"type": "object"})},
            "/v1/docs": {"get": _page("docs", "This description as a page.", "text/html", {"type": "string"})},
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
        "responses": {"200": _answer("The response.", endpoint.document), **_failures(*_FAILURES)},
    }


def _listing() -> Document:
    return {
        "operationId": "instances",
        "summary": LISTING.summary,
        "parameters": _parameters(LISTING.fields),
        "responses": {
            "200": _answer("The offers.", LISTING.document),
            **_failures("422", "500", "503"),
        },
    }


def _health() -> Document:
    return {
        "operationId": "health",
        "summary": "Whether the models load, are complete and predict a sample correctly.",
        "responses": {
            "200": _answer("Healthy.", _HEALTH),
            **_failures("503"),
        },
    }


def _page(name: str, summary: str, content_type: str, schema: Schema) -> Document:
    content = {content_type: {"schema": schema}}
    responses = {"200": {"description": summary, "content": content}, **_failures()}
    return {"operationId": name, "summary": summary, "responses": responses}


def _body(fields: Fields) -> Schema:
    """As JSON; null is as good as no value."""
    return _object(fields, {name: _as_json(field) for name, field in fields.items()})


def _as_json(field: Field) -> Document:
    schema = field.kind.schema
    if field.required:
        return {**schema}
    types = schema["type"]
    return {**schema, "type": [*(types if isinstance(types, list) else [types]), "null"]}


def _form(fields: Fields) -> Schema:
    """The same as a form has it: profiles are files, several numbers or names are repeated."""
    return _object(fields, {name: _as_text(field) for name, field in fields.items()})


def _as_text(field: Field) -> Document:
    if field.kind is PROFILE:
        return {"type": "string", "format": "binary"}
    if field.kind is OWN_GPUS:
        return {"type": "string", "contentMediaType": "application/json"}
    if field.kind.join is not None:
        return {"type": "array", "items": {"type": "string"}}
    return {**field.kind.schema}


def _object(fields: Fields, schemas: dict[str, Document]) -> Schema:
    described = {name: {**schema, "description": _described(fields[name])} for name, schema in schemas.items()}
    return {
        "type": "object",
        "properties": described,
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


def _answer(description: str, kind: Type) -> Document:
    return {"description": description, "content": {JSON: {"schema": kind.schema}}}


def _failures(*own: str) -> Document:
    """Those of every path, and its own; all are one line in JSON."""
    statuses = sorted({*own, *_OF_EVERY_PATH})
    return {status: _answer(_FAILURES[status], _ERROR) for status in statuses}
