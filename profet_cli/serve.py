"""`profet app` and `serve`: the web app with the endpoint on the same port, and the endpoint alone."""

from __future__ import annotations

import argparse
import sys

from profet_core.errors import InputError
from profet_core.files import shipped_folder


def add_app(parser: argparse.ArgumentParser, port: int = 8501) -> None:
    """Where to listen."""
    address = "address; 0.0.0.0 for all (default: 127.0.0.1)"
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=address)
    parser.add_argument("--port", type=int, default=port, metavar="N", help=f"port (default: {port})")


def run_app(options: argparse.Namespace) -> None:
    """Serve until stopped."""
    from streamlit.web import cli
    from uvicorn import config

    from profet_http.connections import CONNECTION, check_address

    check_address(options.host, options.port)
    # Its modules and settings are beside it, in a checkout and in an installed package.
    script = shipped_folder("sample_traces").with_name("streamlit_app.py")
    # Streamlit lets uvicorn choose the class of a connection.
    config.HTTP_PROTOCOLS["auto"] = CONNECTION
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
    from profet_http.connections import serve

    if not 0 < options.workers <= 64:
        raise InputError(f"The number of workers must be from 1 to 64, not {options.workers}.")
    serve(options.host, options.port, options.workers)
