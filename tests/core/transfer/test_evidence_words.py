"""Evidence of a GPU's speed in words."""

from __future__ import annotations

import pytest

from profet_core.errors import Code
from profet_core.transfer.targets import Evidence, Source


@pytest.mark.parametrize(
    ("evidence", "words", "code"),
    [
        (Evidence(Source.PUBLISHED, "A40", tables=1), "published speed, 1 table", Code.PUBLISHED),
        (Evidence(Source.PUBLISHED, "A40", tables=2), "published speed, 2 tables", Code.PUBLISHED),
        (Evidence(Source.GENERATION, "L40S"), "specs, and published speeds of its generation", Code.GENERATION),
        (Evidence(Source.SPECS, "AMD Instinct MI300X"), "specs only", Code.SPECS_ONLY),
    ],
)
def test_evidence_in_words(evidence, words, code):
    assert evidence.words == words
    assert evidence.note.code is code
