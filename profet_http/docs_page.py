"""The OpenAPI description as one page to read, which loads nothing and runs no script."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from profet_core.fields.field import Field, Fields
from profet_http.endpoints import LISTING, QUESTIONS

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
