"""Addresses that pages had before: each leads to the page that took its place, with the settings of its link.

The server answers with a redirect: links, bookmarks and Back work, and no page is drawn first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

#: Not for good: browsers would remember where an address led for as long as they like.
_FOUND = 307


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a page has gone.

    Attributes
    ----------
    page : the URL path of the page that took its place; empty for the first page.
    settings : what the old page showed and the new one shows only when asked; the link's own go before them. No
        defaults: the page would take them off the address again, and Back would lead here for ever.
    said_anew : a setting of a link -> how it is written today.
    """

    page: str
    settings: Mapping[str, str] = field(default_factory=dict)
    said_anew: Mapping[str, str] = field(default_factory=dict)


#: Old URL path -> where it has gone.
MOVED = {
    "predict": Moved(""),
    "cost": Moved(""),
    "advise": Moved("", said_anew={"retired=in": "retired=True"}),
    "scale": Moved("sizes"),
    "compare": Moved("profiles"),
    "inspect": Moved("profiles", {"view": "inside"}),
    "accuracy": Moved("about", {"open": "accuracy"}),
    "guide": Moved("about", {"open": "method"}),
}


def old_routes() -> list[Route]:
    """A redirect for each old address, with a slash at its end and without."""
    return [Route(f"/{path}{end}", _redirect) for path in MOVED for end in ("", "/")]


def new_address(path: str, query: str) -> str:
    """Where an old address leads, relative to it: whatever a proxy puts before the path stays.

    Parameters
    ----------
    path : of the request, such as "/compare". query : of the request, without "?".
    """
    moved = MOVED[path.strip("/")]
    up = "../" if path.endswith("/") else "./"
    query = "&".join(moved.said_anew.get(part, part) for part in query.split("&"))
    given = parse_qs(query, keep_blank_values=True)
    added = urlencode({key: value for key, value in moved.settings.items() if key not in given})
    whole = "&".join(part for part in (query, added) if part)
    return f"{up}{moved.page}" + (f"?{whole}" if whole else "")


async def _redirect(request: Request) -> Response:
    return RedirectResponse(new_address(request.url.path, request.url.query), _FOUND)
