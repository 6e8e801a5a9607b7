"""Runs training scripts in processes of their own, as a user would: frameworks and their hooks don't mix in one."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest

from tests.recorder.runs import PYTHONPATH, Run


@pytest.fixture
def run(tmp_path):
    """`run(code)` -> Run of the code; `run(code, "--force", arguments=["a"])` -> of `profet profile` with the code."""

    def run_code(code: str, *options: object, arguments: list[str] | None = None, name: str = "train.py") -> Run:
        script = tmp_path / name
        script.write_text(dedent(code), encoding="utf-8")
        command = [sys.executable, str(script)]
        if options or arguments is not None:
            command = [sys.executable, "-m", "profet_cli", "profile", str(script), *map(str, options)]
            command += ["--", *arguments] if arguments else []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        environment |= {"PYTHONPATH": PYTHONPATH, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        return Run(done.returncode, done.stdout, done.stderr, tmp_path)

    return run_code
