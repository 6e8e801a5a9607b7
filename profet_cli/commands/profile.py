"""`profet profile`: records a step of a training script into a profile ready for upload."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from profet_recorder.plan import RecordPlan
from profet_recorder.script.run import record_script


def run(options: argparse.Namespace) -> None:
    """Run the script and write the profile; everything is told on stderr, stdout is the script's."""
    asked = {field.name: getattr(options, field.name) for field in fields(RecordPlan) if hasattr(options, field.name)}
    plan = RecordPlan(**{**asked, "output": Path(options.output)})
    record_script(
        options.script, options.script_arguments, plan, module=options.module, keep_running=options.keep_running
    )
