"""`profet serve`: the endpoint alone, without the app."""

from __future__ import annotations

import argparse

from profet_core.errors import InputError

#: Connections of one worker; further ones are refused at once.
MAX_CONNECTIONS = 1000
#: Requests under way when the server is stopped get this long.
STOP_WITHIN_S = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to listen, and with how many processes."""
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address; 0.0.0.0 for all (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=int, default=8502, metavar="N", help="port (default: 8502)")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="worker processes, at most one per core (default: 1)"
    )


def run(options: argparse.Namespace) -> None:
    """Serve until stopped."""
    import uvicorn

    import profet_http.app  # noqa: F401, missed here and not in each worker

    if not 0 < options.port < 2**16:
        raise InputError(f"The port must be a whole number from 1 to 65535, not {options.port}.")
    if not 0 < options.workers <= 64:
        raise InputError(f"The number of workers must be from 1 to 64, not {options.workers}.")
    uvicorn.run(
        "profet_http.app:create",
        factory=True,
        host=options.host,
        port=options.port,
        workers=options.workers,
        access_log=False,
        server_header=False,
        http="h11",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
