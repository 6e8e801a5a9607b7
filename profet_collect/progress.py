"""How far a collection is: a bar on a terminal's stderr, a line a cell elsewhere."""

from __future__ import annotations

import sys
from typing import TextIO

from profet_core.collected.record import CellResult
from profet_core.units import format_duration, format_ms

_BAR = 24


class Progress:
    """Shown on `stream`, stderr by default; a closed stream doesn't stop the collection."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._is_bar = self._stream.isatty()
        self._done = 0

    def begin(self, what: str, left_s: float) -> None:
        """A cell begins; `left_s` is expected of it and all that follow."""
        if self._is_bar:
            full = _BAR * self._done // max(self._total, 1)
            bar = "#" * full + "." * (_BAR - full)
            left = format_duration(left_s)
            self._write(f"\r\033[K[{bar}] {self._done}/{self._total}, {left} left: {what}")

    def end(self, result: CellResult, left_s: float) -> None:
        """A cell ended; one that did not run is named on a terminal too."""
        self._done += 1
        if self._is_bar and result.status == "ok":
            return
        latency_ms = result.batch_latency_ms
        outcome = result.status if latency_ms is None else format_ms(latency_ms)
        why = f" ({result.why})" if result.why else ""
        clear = "\r\033[K" if self._is_bar else ""
        left = format_duration(left_s)
        self._write(f"{clear}{self._done}/{self._total}, {left} left: {result.cell}: {outcome}{why}\n")

    def close(self) -> None:
        """Leave the line of the bar empty."""
        if self._is_bar:
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._is_bar = False
