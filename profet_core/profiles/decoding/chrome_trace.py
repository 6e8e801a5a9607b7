"""Streams the events of a chrome trace, one at a time, whatever the size of the file.

The standard library's decoder takes all whole events of a window of the text at once. What stands between two events
tells where others end; text that is cut anywhere else is no JSON, and is decoded a value at a time. It is faster than a
streaming parser in C (ijson 3.6: 36 MB/s), reads the NaN and the line breaks in names that PyTorch has written, and its
limit on nesting caps the depth.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import TypeAlias

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content

#: One event, or one entry beside the events, is held while it is decoded: lists in lists take 25 times their text.
MAX_ENTRY_CHARACTERS = 2 * 2**20
#: Of what is kept: properties of GPUs, numbers of ranks, a version.
MAX_KEPT_CHARACTERS = 2**16
#: A trace of 300 MB has a million events; many more are so short that they say nothing.
MAX_EVENTS = 2_000_000
#: What stands among events and is none.
MAX_OTHERS = 1_000
#: Times beyond this, microseconds (30,000 years), are damage.
MAX_TIME_US = 1e18
#: Numbers of processes and threads may be texts ("Spans").
_MAX_ID_CHARACTERS = 100

Event: TypeAlias = dict[str, object]
#: A process and a thread.
Thread: TypeAlias = tuple[int | str | None, int | str | None]

_WINDOW_BYTES = 256 * 2**10
#: An error this close to the end of the window may be one of what is missing: "-Infinit", "\\ud83d\\ude0".
_LONGEST_ESCAPE = 16
_SPACE = re.compile(r"[\s\ufeff]*")
_SEPARATOR = re.compile(r"[\s,]*")
_DICT_TRACE = re.compile(rb'^[\s\xef\xbb\xbf]*\{.*?"traceEvents"\s*:\s*\[', re.DOTALL)
_LIST_TRACE = re.compile(rb'^[\s\xef\xbb\xbf]*\[\s*\{[^{}]*"ph"\s*:\s*"')


def is_chrome_trace(head: bytes) -> bool:
    """True if `head` opens as a chrome trace does: an object with `traceEvents`, or a list of events."""
    return bool(_DICT_TRACE.match(head) or _LIST_TRACE.match(head))


class ChromeTrace:
    """The events of a chrome trace, and the entries beside them.

    Attributes
    ----------
    entries : those of `keep` that the file holds beside `traceEvents`; complete when `events` has ended.

    Raises
    ------
    ProfileError : from `events`: damaged, cut short, nested too deeply, or an entry that is too long.
    """

    def __init__(self, content: Content, keep: Collection[str] = ()) -> None:
        self.entries: dict[str, object] = {}
        self._keep = keep
        self._content = content
        self._text = ""
        self._at = 0
        self._characters = 0
        self._ended = False
        self._count = 0
        # The end of one event, what stands between, and the start of the next; where the last value ended in the
        # window, 0 if it was in one before; whether the window's whole events weren't tried yet.
        self._between = ""
        self._ended_at = 0
        self._is_untried = True

    def events(self) -> Iterator[Event]:
        """Every event in the file's order; the text of an event is gone when the next is asked for."""
        decoder = json.JSONDecoder(strict=False)
        self._decode, self._decode_all = decoder.raw_decode, decoder.decode
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        with self._content.open() as self._stream:
            try:
                yield from self._document()
            except RecursionError:
                raise ProfileError("The trace is nested too deeply: record it again.") from None

    def _document(self) -> Iterator[Event]:
        if self._next(_SPACE) == "[":
            yield from self._list()
        else:
            self._take("{")
            while self._next(_SEPARATOR) != "}":
                key = self._value()
                self._take(":")
                if key == "traceEvents":
                    yield from self._list()
                elif not isinstance(key, str):
                    raise self._damaged()
                else:
                    self._next(_SPACE)
                    value = self._value()
                    if key in self._keep and self._characters <= MAX_KEPT_CHARACTERS:
                        self.entries[key] = value
            self._at += 1
        if self._next(_SPACE):
            raise ProfileError("The file continues after the end of the trace: upload a single trace.")

    def _list(self) -> Iterator[Event]:
        self._take("[")
        self._ended_at = others = 0
        while self._next(_SEPARATOR) != "]":
            for event in self._whole_events() or (self._value(),):
                self._count += 1
                if self._count > MAX_EVENTS:
                    raise ProfileError(f"The trace has more than {MAX_EVENTS:,} events: record fewer steps.")
                if isinstance(event, dict):
                    yield event
                    continue
                others += 1
                if others > MAX_OTHERS:
                    raise self._damaged()
        self._at += 1

    def _whole_events(self) -> list[object]:
        """All events of the window but the last; none where they can't be told from the text between two of them."""
        if not self._between and self._ended_at and self._text[self._at] == "{":
            self._between = self._text[self._ended_at - 1 : self._at + 1]
        if not self._between or not self._is_untried:
            return []
        # Once a window: what comes after its last event is more of the next one.
        self._is_untried = False
        end = self._text.rfind(self._between, self._at)
        if end < 0:
            return []
        try:
            events: list[object] = self._decode_all(f"[{self._text[self._at : end + 1]}]")
        except (ValueError, RecursionError):
            return []
        self._at = end + 1
        return events

    def _value(self) -> object:
        """The value at the cursor, once all of it is in the window; `_characters` is how many it has."""
        while True:
            try:
                value, end = self._decode(self._text, self._at)
                # A number may go on in the next window: "5" before "e+" before "16".
                if end + 2 < len(self._text) or self._ended:
                    self._characters, self._at = end - self._at, end
                    self._ended_at = end
                    return value
            except json.JSONDecodeError as error:
                # What is only not complete yet fails at the window's end, or is a text without one.
                open_end = error.pos > len(self._text) - _LONGEST_ESCAPE or error.msg.startswith("Unterminated string")
                if not open_end or len(self._text) - self._at > MAX_ENTRY_CHARACTERS:
                    raise self._damaged() from None
                if self._ended:
                    raise _cut_short() from None
            except ValueError:  # an integer of thousands of digits
                raise self._damaged() from None
            self._refill()

    def _next(self, skipped: re.Pattern[str]) -> str:
        """The next character that isn't skipped, or "" at the end of the file; the cursor stands on it."""
        while True:
            if found := skipped.match(self._text, self._at):
                self._at = found.end()
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._refill()

    def _take(self, character: str) -> None:
        found = self._next(_SPACE)
        if found != character:
            raise self._damaged() if found else _cut_short()
        self._at += 1

    def _refill(self) -> None:
        # Twice what is left: an entry over many windows is tried again only a few times.
        data = self._stream.read(max(_WINDOW_BYTES, len(self._text) - self._at))
        self._ended = not data
        self._text = self._text[self._at :] + self._utf8.decode(data, final=self._ended)
        self._at = self._ended_at = 0
        self._is_untried = True

    def _damaged(self) -> ProfileError:
        return ProfileError(
            f"The trace is not valid JSON, or has an entry that is too long, after event {self._count:,}: record "
            "it again, without with_stack if you used it."
        )


def _cut_short() -> ProfileError:
    return ProfileError("The trace is truncated: copy it again, or record it again.")


def event_time_us(value: object) -> float | None:
    """`value` as a time, or None if it is none (a text, NaN, a number of hundreds of digits)."""
    if type(value) is float:
        return value if -MAX_TIME_US <= value <= MAX_TIME_US else None
    if type(value) is int:
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if abs(number) <= MAX_TIME_US else None
    return None


def event_thread(event: Event) -> Thread:
    """Process and thread of an event, as the file numbers or names them."""
    process, thread = event.get("pid"), event.get("tid")
    if type(process) is int and type(thread) is int:
        return process, thread
    return _identity(process), _identity(thread)


def _identity(value: object) -> int | str | None:
    if isinstance(value, str):
        return value[:_MAX_ID_CHARACTERS]
    return value if type(value) is int else None
