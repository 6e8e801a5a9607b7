"""The OpenAPI description, made of the tables that requests are read by, and as a page to read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from html import escape

from profet_core.answers.fields import NUMBERS, PROFILE, Field, Fields
from profet_core.answers.schema import TEXT, WHOLE, Document, Schema, Type, record
from profet_http.endpoints import CUSTOM_GPUS, LISTING, QUESTIONS, Endpoint
from profet_http.requests import FILE, FORM, JSON

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


def openapi_document() -> Document:
    """OpenAPI 3.1: every path, field, answer and failure."""
    healthy = "Whether the models load, are complete and predict a sample correctly."
    here, page = "This description.", "This description as a page."
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
            "/v1/openapi.json": {"get": _operation("openapi", here, here, {"type": "object"})},
            "/v1/docs": {"get": _operation("docs", page, page, {"type": "string"}, kind="text/html")},
        },
    }


def _operation(name: str, summary: str, answered: str, answer: Schema, *failures: str, kind: str = JSON) -> Document:
    """A path's method with its answer and failures; those of every path are added, all are one line in JSON."""
    found = {"200": (answered, kind, answer)}
    for status in sorted({*failures, "403", "404", "405", "429"}):
        found[status] = _FAILURES[status], JSON, _ERROR.schema
    responses = {
        status: {"description": said, "content": {kind: {"schema": schema}}}
        for status, (said, kind, schema) in found.items()
    }
    return {"operationId": name, "summary": summary, "responses": responses}


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
    types = field.kind.schema["type"]
    null = {} if field.required else {"type": [*(types if isinstance(types, list) else [types]), "null"]}
    return {**field.kind.schema, **null}


def _as_text(field: Field) -> Document:
    if field.kind is PROFILE:
        return {"type": "string", "format": "binary"}
    if field.kind is CUSTOM_GPUS:
        return {"type": "string", "contentMediaType": "application/json"}
    return {"type": "array", "items": {"type": "string"}} if field.kind.join else {**field.kind.schema}


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
    found: list[Document] = []
    for name, field in fields.items():
        if field.kind is not PROFILE:
            more = " (INSTANCE=NUMBER, repeated)" if field.kind is NUMBERS else ""
            said = {"description": _described(field) + more, "schema": _as_text(field)}
            found.append({"name": name, "in": "query", "required": field.required, **said})
    return found


_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 52rem; padding: 0 1rem; }
pre, code { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: #8882; overflow-x: auto; padding: 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #8885; padding: 0.3rem 0.6rem 0.3rem 0; text-align: left; vertical-align: top; }
""".strip()

_CLIENT = """
import json, urllib.request

body = {"profile": json.load(open("profile.json")), "anchor": "g3s.xlarge", "latency_ms": 323.0}
request = urllib.request.Request("http://localhost:8501/v1/predict", json.dumps(body).encode())
request.add_header("Content-Type", "application/json")
print(json.load(urllib.request.urlopen(request))["predictions"])
""".strip()

_FILE = """
curl --data-binary @step.xplane.pb -H 'Content-Type: application/octet-stream' \\
  'http://localhost:8501/v1/cost?anchor=g4dn.xlarge&images=50000&profiled_batch=64&price=g5.xlarge=0.8'
curl -F profile=@step.trace.json.gz -F anchor=g4dn.xlarge http://localhost:8501/v1/predict
""".strip()


def _wanted(field: Field) -> str:
    return f"one of {', '.join(field.choices)}" if field.choices else field.kind.wanted


def _fields(fields: Fields) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_wanted(field))}</td>"
        f"<td>{escape(field.help)}{'; <strong>required</strong>' if field.required else ''}</td></tr>"
        for name, field in fields.items()
    )
    return f"<table><tr><th>field</th><th>value</th><th>description</th></tr>{rows}</table>"


def _page() -> str:
    endpoints = "".join(
        f"<h2>POST /v1{escape(path)}</h2><p>{escape(endpoint.summary)}</p>{_fields(endpoint.fields)}"
        for path, endpoint in QUESTIONS.items()
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>PROFET: the endpoint</title><style>{_STYLE}</style></head><body>
<h1>The command line's JSON over HTTP</h1>
<p>Field names are the long options of <code>profet predict</code>, <code>cost</code>, <code>advise</code>,
<code>estimate</code> and <code>scaleout</code>, with <code>_</code> for <code>-</code>; responses are what
<code>--format json</code> prints. Latencies are milliseconds per training step. Every error is
<code>{{"error": "one line", "code": "its stable name"}}</code>. For programs:
<a href="openapi.json">openapi.json</a>, with each answer's schema.</p>
<pre>{escape(_CLIENT)}</pre>
<p>Send a file as the body with its fields in the query, or send a form:</p>
<pre>{escape(_FILE)}</pre>
{endpoints}
<h2>GET /v1/instances</h2><p>{escape(LISTING.summary)}</p>{_fields(LISTING.fields)}
<h2>GET /v1/health</h2><p>200 if the models load, are complete and predict a sample correctly; 503 otherwise.</p>
</body></html>
"""


PAGE = _page()
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
#: Nothing but the style above.
PAGE_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'"
