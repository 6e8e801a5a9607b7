"""What questions are asked of: models, catalog and specs, with the user's own over them."""

from __future__ import annotations

import argparse

from profet_cli.inputs import open_catalog, open_models, own_gpus
from profet_core.answers.questions import Context, FieldNames
from profet_core.catalog import load_gpus

COMMAND_LINE = FieldNames("TRACE", lambda name: f"--{name.replace('_', '-')}")


def open_context(options: argparse.Namespace) -> Context:
    """The models the arguments name, else the shipped ones, and the catalog with the user's files over it."""
    return Context(open_models(options), open_catalog(options), load_gpus()).with_own_gpus(own_gpus(options))
