"""Every sentence of a note or error, in one snapshot: other tests compare codes and values."""

from __future__ import annotations

from docs import messages


def test_messages_are_as_the_snapshot_has_them():
    """`python -m docs.messages` rewrites it; read the difference aloud before committing it."""
    assert messages.document() == messages.DOCUMENT.read_text(encoding="utf-8")
