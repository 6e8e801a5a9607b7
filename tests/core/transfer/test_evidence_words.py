"""Evidence of a GPU's speed in words."""

from __future__ import annotations

import pytest

from profet_core.transfer.targets import Evidence, Source


@pytest.mark.parametrize(
    ("evidence", "words", "note"),
    [
        (Evidence(Source.PUBLISHED, "A40", "A40", 1), "published speed, 1 table", "training speed of A40"),
        (Evidence(Source.PUBLISHED, "L40S", "RTX 6000 Ada", 2), "published speed of RTX 6000 Ada, 2 tables", "Ada"),
        (Evidence(Source.SAME_CHIP, "H100-NVL-94GB", "H100-SXM5-80GB"), "same chip as H100-SXM5-80GB", "same chip"),
        (Evidence(Source.RELATIVE, "GeForce RTX 4090", "RTX 6000 Ada"), "RTX 6000 Ada and specs", "scaled by specs"),
        (Evidence(Source.DATA_SHEET, "B200"), "specs only", "specs only"),
    ],
)
def test_evidence_in_words(evidence, words, note):
    assert evidence.words == words
    assert note in str(evidence.note)
