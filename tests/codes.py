"""Codes of an answer's warnings: tests compare these, not sentences."""

from __future__ import annotations

from profet_core.errors import Code


def codes(answer) -> list[Code]:
    return [note.code for note in answer.warnings]
