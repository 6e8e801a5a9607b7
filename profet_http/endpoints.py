"""The endpoints, which answer with the command line's documents; their OpenAPI description, and that as a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from profet_core.answers import ENTRIES, Entry
from profet_core.answers.context import Context, InstanceDocument, answer_instances
from profet_core.answers.document import Document, json_of, schema_hook
from profet_core.catalog.custom_gpus import GPU_COLUMNS, MAX_CUSTOM_GPUS, checked_custom_gpus, custom_gpu_from
from profet_core.errors import InputError
from profet_core.questions import (
    MAX_LOG_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    InstancesQuestion,
    QuestionField,
    about,
    fields_of,
)
from profet_http.bodies import FILE, FORM, JSON

_Cell: TypeAlias = Annotated[str, Meta(max_length=1000)] | int | float | None
#: A custom GPU in a request; the commands have a file of them.
CustomGpuCells = msgspec.defstruct(
    "CustomGpuCells",
    [("gpu", _Cell), *((name, _Cell, None) for name in GPU_COLUMNS if name != "gpu")],
    forbid_unknown_fields=True,
)
_CUSTOM_GPUS = Annotated[
    list[CustomGpuCells],  # type: ignore[valid-type]
    Meta(max_length=MAX_CUSTOM_GPUS),
    about("custom GPUs for this request, with the columns of `profet gpus`; each is also an instance"),
]


class Endpoint(Struct, frozen=True, eq=False):
    """What is asked at one path, what answers it with a document, and that document's type."""

    summary: str
    question: type[Struct]
    answered: Callable[[Context, Any], object]
    document: Any

    @property
    def profiles(self) -> list[str]:
        """Fields that are profiles."""
        return [name for name, field in fields_of(self.question).items() if field.is_file]

    def answer(self, context: Context, question: Any) -> object:
        """Answer with a document; custom GPUs of the request are part of what the question is asked of."""
        gpus = []
        for given in getattr(question, "custom_gpus", ()):
            cells = {name: str(cell) for name, cell in msgspec.structs.asdict(given).items() if cell is not None}
            row = custom_gpu_from(cells, context.gpus)
            gpus.append(row)
            if row.instance in context.catalog:
                raise InputError(f"Instance {row.instance} exists: give {row.name} another name.")
        return self.answered(context.with_custom_gpus(checked_custom_gpus(gpus)), question)


def _endpoint(entry: Entry) -> Endpoint:
    """Make an endpoint that also takes custom GPUs."""
    request = msgspec.defstruct(
        entry.question.__name__.replace("Question", "Request"),
        [("custom_gpus", _CUSTOM_GPUS, msgspec.field(default_factory=list))],
        bases=(entry.question,),
        kw_only=True,
        frozen=True,
    )
    answer, document = entry.answer, entry.document

    def answered(context: Context, question: Any) -> Document:
        return document.of(answer(context, question))

    return Endpoint(f"{entry.summary[0].upper()}{entry.summary[1:]}.", request, answered, document)


#: Of the JSON of answers, here and of the commands.
SCHEMA_VERSION = "3"
#: Path -> the question that is posted there.
QUESTIONS = {f"/{name}": _endpoint(ENTRIES[name]) for name in ("predict", "cost", "advise", "estimate", "scaleout")}


def _listed(context: Context, question: InstancesQuestion) -> list[InstanceDocument]:
    return answer_instances(context.models, context.catalog, question)


LISTING = Endpoint(
    "List the catalog: GPUs, prices, dates and the basis of predictions.",
    InstancesQuestion,
    _listed,
    list[InstanceDocument],
)


class HealthJson(Struct, frozen=True, forbid_unknown_fields=True):
    """The models load, are complete and predict a sample correctly."""

    status: Literal["ok"]
    sample: str
    predicted: int


class ErrorJson(Struct, frozen=True, forbid_unknown_fields=True):
    """Why there is no answer: one line, and its stable code."""

    error: str
    code: str


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
def openapi_document() -> dict[str, Any]:
    """OpenAPI 3.1: every path, field, answer and failure."""
    endpoints = (*QUESTIONS.values(), LISTING)
    answers: list[Any] = [endpoint.document for endpoint in endpoints]
    kinds = [*(endpoint.question for endpoint in endpoints), HealthJson, ErrorJson]
    refs, components = msgspec.json.schema_components(
        [*answers, *kinds], schema_hook=schema_hook, ref_template="#/components/schemas/{name}"
    )
    schemas = dict(zip((*endpoints, *kinds), refs, strict=True))
    healthy = "Whether the models load, are complete and predict a sample correctly."
    here, page = "This description.", "This description as a page."
    listing = _operation("instances", LISTING.summary, "The offers.", schemas[LISTING], "422", "500", "503")
    # Both have several forms; their readers say what is wrong with one.
    components |= {
        "Profile": {
            "type": ["object", "array", "string"],
            "maxLength": MAX_TEXT_CHARACTERS,
            "description": "a profile of any of the documented JSON formats, or the name of a network without one",
        },
        "TrainingLog": {"type": "string", "minLength": 1, "maxLength": MAX_LOG_CHARACTERS},
    }
    del components["ProfileMeta"]
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "PROFET",
            "version": SCHEMA_VERSION,
            "description": "The command line's JSON over HTTP. Latencies are milliseconds per training step. Every "
            'error is {"error": "one line", "code": "its stable name"}.',
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {
            **{f"/v1{path}": {"post": _question(path, endpoint, schemas)} for path, endpoint in QUESTIONS.items()},
            "/v1/instances": {"get": {**listing, "parameters": _parameters(LISTING)}},
            "/v1/health": {"get": _operation("health", healthy, "Healthy.", schemas[HealthJson], "503")},
            "/v1/openapi.json": {"get": _operation("openapi", here, here, {"type": "object"})},
            "/v1/docs": {"get": _operation("docs", page, page, {"type": "string"}, kind="text/html")},
        },
        "components": {"schemas": components},
    }
    # As it is sent: defaults are tuples here.
    sent: dict[str, Any] = msgspec.json.decode(json_of(document))
    return sent


def _operation(
    name: str, summary: str, answered: str, answer: object, *failures: str, kind: str = JSON
) -> dict[str, Any]:
    """Describe a path's method with its answer and failures; those of every path are added, all are one line."""
    answers = {"200": (answered, kind, answer)}
    for status in sorted({*failures, "403", "404", "405", "429"}):
        answers[status] = _FAILURES[status], JSON, {"$ref": "#/components/schemas/ErrorJson"}
    responses = {
        status: {"description": when, "content": {kind: {"schema": schema}}}
        for status, (when, kind, schema) in answers.items()
    }
    return {"operationId": name, "summary": summary, "responses": responses}


def _question(path: str, endpoint: Endpoint, schemas: Mapping[Any, object]) -> dict[str, Any]:
    fields = fields_of(endpoint.question).values()
    form = {
        "type": "object",
        "properties": {field.name: _as_text(field) for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }
    return {
        **_operation(path.strip("/"), endpoint.summary, "The response.", schemas[endpoint], *_FAILURES),
        "description": f"Put fields in the body; for {FILE}, a file as the body, put them in the query.",
        # Beside the other bodies there is no query, so that none of it is always required.
        "parameters": [{**parameter, "required": False} for parameter in _parameters(endpoint)],
        "requestBody": {
            "required": True,
            "content": {
                # In JSON null is as good as no value; in a form profiles are files, and several texts are repeated.
                JSON: {"schema": schemas[endpoint.question]},
                FORM: {"schema": form},
                FILE: {"schema": {"type": "string", "format": "binary"}},
            },
        },
    }


def _as_text(field: QuestionField) -> dict[str, Any]:
    """Return the schema of a field in a query or a form."""
    if field.is_file:
        return {"type": "string", "format": "binary", "description": field.help}
    if field.is_many:
        return {"type": "array", "items": {"type": "string"}, "description": f"{field.help}; {field.wanted}"}
    return msgspec.json.schema(field.type)


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": field.name, "in": "query", "required": field.required, "schema": _as_text(field)}
        for field in fields_of(endpoint.question).values()
        if not field.is_file
    ]


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


def _fields(endpoint: Endpoint) -> str:
    rows = ""
    for field in fields_of(endpoint.question).values():
        wanted = f"one of {', '.join(field.choices)}" if field.choices else field.wanted
        required = "; <strong>required</strong>" if field.required else ""
        rows += f"<tr><td><code>{escape(field.name)}</code></td><td>{escape(wanted)}</td>"
        rows += f"<td>{escape(field.help)}{required}</td></tr>"
    return f"<table><tr><th>field</th><th>value</th><th>description</th></tr>{rows}</table>"


def _page() -> str:
    endpoints = "".join(
        f"<h2>POST /v1{escape(path)}</h2><p>{escape(endpoint.summary)}</p>{_fields(endpoint)}"
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
<h2>GET /v1/instances</h2><p>{escape(LISTING.summary)}</p>{_fields(LISTING)}
<h2>GET /v1/health</h2><p>200 if the models load, are complete and predict a sample correctly; 503 otherwise.</p>
</body></html>
"""


PAGE = _page()
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
#: Nothing but the style above.
PAGE_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'"
