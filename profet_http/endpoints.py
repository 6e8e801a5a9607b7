"""The endpoints, which answer with the command line's documents; their OpenAPI description, and that as a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from profet_core.answers.advise import answer_advise, answer_cost
from profet_core.answers.context import Context, answer_instances
from profet_core.answers.documents import ADVICE, COSTS, OFFERS, PREDICTION
from profet_core.answers.estimate import ESTIMATE, ESTIMATED, answer_estimate, named_question, with_profiled
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import (
    ADVISE,
    COST,
    FILES,
    INSTANCES,
    MAX_TEXT_CHARACTERS,
    NUMBERS,
    PREDICT,
    TIMES,
    AdviseQuestion,
    Field,
    Fields,
    InstancesQuestion,
    Kind,
    PredictQuestion,
    TrainingQuestion,
)
from profet_core.answers.scaleout import SCALED_OUT, SCALEOUT, answer_scaleout, scaleout_question
from profet_core.answers.schema import TEXT, WHOLE, Document, Schema, Type, record
from profet_core.catalog.custom_gpus import GPU_COLUMNS, MAX_CUSTOM_GPUS, checked_custom_gpus, custom_gpu_from
from profet_core.errors import InputError, ProfetError
from profet_http.requests import FILE, FORM, JSON
from profet_profiles.profet_json import parse_json

Values = Mapping[str, Any]


def _parsed(text: str) -> object:
    try:
        return parse_json(text.encode())
    except ProfetError:
        raise ValueError from None


#: Custom GPUs of one request, in JSON also in a query or a form; the commands have a file of them.
CUSTOM_GPUS = Kind(
    f"a list of at most {MAX_CUSTOM_GPUS} objects with {', '.join(GPU_COLUMNS[:2])} and other known columns",
    {
        "type": "array",
        "maxItems": MAX_CUSTOM_GPUS,
        "items": {
            "type": "object",
            "required": list(GPU_COLUMNS[:2]),
            "additionalProperties": False,
            "properties": {name: {"type": ["string", "number", "null"]} for name in GPU_COLUMNS},
        },
    },
    _parsed,
    longest=MAX_CUSTOM_GPUS * MAX_TEXT_CHARACTERS * len(GPU_COLUMNS),
)
_CUSTOM_GPUS = Field(
    CUSTOM_GPUS, "custom GPUs for this request, with the columns of `profet gpus`; each is also an instance"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is asked at one path: checked values, their profiles read, have an answer, which has a document."""

    summary: str
    fields: Fields
    answer: Callable[[Context, Values], object]
    document: Type


def _endpoint(
    summary: str,
    fields: Fields,
    answer: Callable[[Context, Any], object],
    question: Callable[..., object],
    document: Type,
) -> Endpoint:
    """An endpoint that also takes custom GPUs, which are part of what the question is asked of."""

    def answered(context: Context, values: Values) -> object:
        gpus = []
        for cells in values.get("own_gpus", ()):
            row = custom_gpu_from({name: str(cell) for name, cell in cells.items() if cell is not None}, context.gpus)
            gpus.append(row)
            if row.instance in context.catalog:
                raise InputError(f"Instance {row.instance} exists: give {row.name} another name.")
        others = {name: value for name, value in values.items() if name != "own_gpus"}
        return answer(context.with_custom_gpus(checked_custom_gpus(gpus)), question(**others))

    return Endpoint(summary, {**fields, "own_gpus": _CUSTOM_GPUS}, answered, document)


_PREDICT = "Predict the step latency of a profiled network on every instance."
_COST = "Predict time and cost of a training on every instance."
#: Path -> the question that is posted there.
QUESTIONS: Mapping[str, Endpoint] = {
    "/predict": _endpoint(_PREDICT, PREDICT, answer_predict, PredictQuestion.from_fields, PREDICTION),
    "/cost": _endpoint(_COST, COST, answer_cost, TrainingQuestion.from_fields, COSTS),
    "/advise": _endpoint(
        "Recommend an instance for a training.", ADVISE, answer_advise, AdviseQuestion.from_fields, ADVICE
    ),
    "/estimate": _endpoint(
        "Estimate the step latency of a named network without a profile.",
        ESTIMATE,
        answer_estimate,
        lambda **values: named_question(**with_profiled(values)),
        ESTIMATED,
    ),
    "/scaleout": _endpoint(
        "Predict time and cost of a training on 1 to 64 GPUs.",
        SCALEOUT,
        answer_scaleout,
        lambda **values: scaleout_question(values),
        SCALED_OUT,
    ),
}
LISTING = Endpoint(
    "List the catalog: GPUs, prices, dates and the basis of predictions.",
    INSTANCES,
    lambda context, values: answer_instances(context.models, context.catalog, InstancesQuestion(**values)),
    OFFERS,
)


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


@cache
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
        status: {"description": when, "content": {kind: {"schema": schema}}}
        for status, (when, kind, schema) in found.items()
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
    if field.kind in FILES:
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
        if field.kind not in FILES:
            more = {NUMBERS: " (INSTANCE=NUMBER, repeated)", TIMES: " (GPU=TIME, repeated)"}.get(field.kind, "")
            described = {"description": _described(field) + more, "schema": _as_text(field)}
            found.append({"name": name, "in": "query", "required": field.required, **described})
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


def _fields(fields: Fields) -> str:
    rows = ""
    for name, field in fields.items():
        wanted = f"one of {', '.join(field.choices)}" if field.choices else field.kind.wanted
        required = "; <strong>required</strong>" if field.required else ""
        rows += f"<tr><td><code>{escape(name)}</code></td><td>{escape(wanted)}</td>"
        rows += f"<td>{escape(field.help)}{required}</td></tr>"
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
