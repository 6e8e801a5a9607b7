"""What goes wrong on our side is one line in the log: what and where, and nothing of the visitor's or the machine's."""

from __future__ import annotations

import io
import logging
from pathlib import Path

from profet_core import read_profile
from ui.notices import log_failure

ROOT = Path(__file__).resolve().parents[2]


def test_a_failure_is_logged_as_one_line_without_texts_and_places(caplog):
    class Source(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise KeyError("conv_of_a_stranger")

    try:
        read_profile(Source())
    except Exception as error:
        with caplog.at_level(logging.ERROR):
            log_failure(logging.getLogger("test"), "A page failed", error)
    (record,) = caplog.records
    line = record.getMessage()
    assert line.startswith("A page failed: KeyError at ") and "profet_core/profiles/reading.py:" in line
    assert record.exc_info is None and "\n" not in line
    assert "conv_of_a_stranger" not in line and str(ROOT) not in line
