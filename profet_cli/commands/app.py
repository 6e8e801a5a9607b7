"""`profet app`: the web app, with the endpoint on the same port."""

from __future__ import annotations

import argparse
import sys

from profet_core.errors import InputError
from profet_core.files import shipped_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to listen."""
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address; 0.0.0.0 for all (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=int, default=8501, metavar="N", help="port (default: 8501)")


def run(options: argparse.Namespace) -> None:
    """Serve until stopped."""
    from streamlit.web import cli

    if not 0 < options.port < 2**16:
        raise InputError(f"The port must be a whole number from 1 to 65535, not {options.port}.")
    # Its modules and settings are beside it, in a checkout and in an installed package.
    script = shipped_folder("sample_traces").with_name("streamlit_app.py")
    where = ["--server.address", options.host, "--server.port", str(options.port)]
    sys.argv = ["streamlit", "run", str(script), *where]
    cli.main()
