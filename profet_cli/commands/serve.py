"""`profet app` and `serve`: the web app with the endpoint on the same port, and the endpoint alone."""

from __future__ import annotations

import argparse
import sys

from profet_core.errors import InputError
from profet_core.files import shipped_folder

#: Connections of one worker; further ones are refused at once.
MAX_CONNECTIONS = 1000
#: Requests under way when the server is stopped get this long.
STOP_WITHIN_S = 10


def add_app(parser: argparse.ArgumentParser, port: int = 8501) -> None:
    """Where to listen."""
    address = "address; 0.0.0.0 for all (default: 127.0.0.1)"
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=address)
    parser.add_argument("--port", type=int, default=port, metavar="N", help=f"port (default: {port})")


def run_app(options: argparse.Namespace) -> None:
    """Serve until stopped."""
    from streamlit.web import cli

    _check_port(options.port)
    # Its modules and settings are beside it, in a checkout and in an installed package.
    script = shipped_folder("sample_traces").with_name("streamlit_app.py")
    where = ["--server.address", options.host, "--server.port", str(options.port)]
    sys.argv = ["streamlit", "run", str(script), *where]
    cli.main()


def add_serve(parser: argparse.ArgumentParser) -> None:
    """Where to listen, and with how many processes."""
    add_app(parser, 8502)
    workers = "worker processes, at most one per core (default: 1)"
    parser.add_argument("--workers", type=int, default=1, metavar="N", help=workers)


def run_serve(options: argparse.Namespace) -> None:
    """Serve until stopped."""
    import uvicorn

    import profet_http.app  # noqa: F401, missed here and not in each worker

    _check_port(options.port)
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


def _check_port(port: int) -> None:
    if not 0 < port < 2**16:
        raise InputError(f"The port must be a whole number from 1 to 65535, not {port}.")
