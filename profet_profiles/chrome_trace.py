"""Streams the events of a chrome trace, a window of the file at a time, whatever its size.

msgspec decodes all whole events of a window at once, and of each only the fields that readers need. What stands between
two events tells where others end; text that is cut anywhere else is no JSON, and is decoded a value at a time. What
msgspec refuses (the NaN and the line breaks in names that PyTorch has written, fields of other types) the standard
library's decoder reads, and everything where msgspec is not installed, as where a step is recorded. Both limit nesting.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar, get_type_hints

from profet_profiles.errors import ProfileError
from profet_profiles.limits import MAX_ENTRY_CHARACTERS, MAX_EVENTS, TraceTooLargeError
from profet_profiles.unpacking import Content

#: Of what is kept: properties of GPUs, numbers of ranks, a version.
MAX_KEPT_CHARACTERS = 2**16
#: What stands among events and is none.
MAX_OTHERS = 1_000
#: So many times that are text may be damage.
_FEW_TEXTS = 10
#: Times beyond this, microseconds (30,000 years), are damage.
MAX_TIME_US = 1e18

#: A process and a thread; their numbers may be texts ("Spans").
Where: TypeAlias = tuple[int | str | None, int | str | None]
#: The duration of an event that has none.
NO_DURATION = -math.inf

Args = TypeVar("Args")


@dataclass(slots=True)
class Event(Generic[Args]):
    """An event: None is what is missing or of another type, NaN what is no time."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float = math.nan
    dur: float = NO_DURATION
    args: Args | None = None


_WINDOW_BYTES = 256 * 2**10
#: An error this close to the end of the window may be one of what is missing: "-Infinit", "\\ud83d\\ude0".
_LONGEST_ESCAPE = 16
_SPACE = re.compile(r"[\s\ufeff]*")
_SEPARATOR = re.compile(r"[\s,]*")
_DICT_TRACE = re.compile(rb'^[\s\xef\xbb\xbf]*\{.*?"traceEvents"\s*:\s*\[', re.DOTALL)
_LIST_TRACE = re.compile(rb'^[\s\xef\xbb\xbf]*\[\s*\{[^{}]*"ph"\s*:\s*"')


def is_chrome_trace(head: bytes) -> bool:
    """Return True if `head` opens as a chrome trace does: an object with `traceEvents`, or a list of events."""
    return bool(_DICT_TRACE.match(head) or _LIST_TRACE.match(head))


_BEGIN_AND_END = re.compile(rb'"ph"\s*:\s*"[BE]"')


def nothing_found(head: bytes, otherwise: str) -> str:
    """Say why a trace holds no operation: its events come in pairs, or `otherwise`."""
    if not _BEGIN_AND_END.search(head):
        return otherwise
    return (
        'The trace has pairs of begin and end events ("ph": "B" and "E"), and complete ones ("X") are needed: upload '
        "the trace as the framework's profiler wrote it."
    )


class ChromeTrace(Generic[Args]):
    """The events of a chrome trace, and the entries beside them."""

    def __init__(self, content: Content, args: type[Args], keep: Collection[str] = ()) -> None:
        self._decode_events = _events_decoder(args)
        self.entries: dict[str, object] = {}
        self._keep = keep
        self._content = content
        self._text = ""
        self._at = 0
        self._characters = 0
        self._ended = False
        self._count = self._others = self._text_times = 0
        # The end of one event, what stands between, and the start of the next; where the last value ended in the
        # window, 0 if it was in one before; whether the window's whole events weren't tried yet.
        self._between = ""
        self._ended_at = 0
        self._is_untried = True

    def events(self) -> Iterator[list[Event[Args]]]:
        """Every event in the file's order, those of a window together."""
        decoder = json.JSONDecoder(strict=False)
        self._decode, self._decode_all = decoder.raw_decode, decoder.decode
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        with self._content.open() as self._stream:
            try:
                yield from self._document()
            except RecursionError:
                raise ProfileError("The trace is nested too deeply: record it again.") from None

    def _document(self) -> Iterator[list[Event[Args]]]:
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
        if self._text_times > max(_FEW_TEXTS, self._count / 2):
            raise ProfileError(
                'The trace has its times as text ("ts": "12.5"), as traces of Ascend NPUs do, which the models do not '
                "support: of a GPU, write numbers."
            )
        if self._next(_SPACE):
            raise ProfileError("The file continues after the end of the trace: upload a single trace.")

    def _list(self) -> Iterator[list[Event[Args]]]:
        self._take("[")
        self._ended_at = 0
        while self._next(_SEPARATOR) != "]":
            events = self._whole_events() or self._events_of([self._value()])
            self._count += len(events)
            if self._count + self._others > MAX_EVENTS:
                raise TraceTooLargeError(f"The trace has more than {MAX_EVENTS:,} events")
            if events:
                yield events
        self._at += 1

    def _whole_events(self) -> list[Event[Args]]:
        """All events of the window but the last; none if they can't be separated from the text between them."""
        if not self._between and self._ended_at and self._text.startswith("{", self._at):
            self._between = self._text[self._ended_at - 1 : self._at + 1]
        if not self._between or not self._is_untried:
            return []
        # Once a window: what comes after its last event is more of the next one.
        self._is_untried = False
        end = self._text.rfind(self._between, self._at)
        if end < 0:
            return []
        text = f"[{self._text[self._at : end + 1]}]"
        try:
            events = self._decode_events(text)
        except (ValueError, RecursionError):
            try:
                values = self._decode_all(text)
            except (ValueError, RecursionError):
                return []
            events = self._events_of(values)
        self._at = end + 1
        return events

    def _events_of(self, values: list[object]) -> list[Event[Args]]:
        """Return the events among decoded values; a few others may stand there."""
        records = [value for value in values if isinstance(value, dict)]
        events = [_event(record) for record in records]
        self._text_times += sum(isinstance(record.get("ts", record.get("dur")), str) for record in records)
        self._others += len(values) - len(events)
        if self._others > MAX_OTHERS:
            raise self._damaged()
        return events

    def _value(self) -> object:
        """Return the value at the cursor, once all of it is in the window; `_characters` is how many it has."""
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
        """Return the next character that isn't skipped, or "" at the end of the file; the cursor stands on it."""
        while True:
            if blanks := skipped.match(self._text, self._at):
                self._at = blanks.end()
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._refill()

    def _take(self, character: str) -> None:
        next_character = self._next(_SPACE)
        if next_character != character:
            raise self._damaged() if next_character else _cut_short()
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


def _events_decoder(args: type[Args]) -> Callable[[str], list[Event[Args]]]:
    """Decode a list of events; ValueError for what is none."""
    try:
        # Late, as few commands read a trace.
        from msgspec import defstruct
        from msgspec.json import Decoder
    except ImportError:

        def refuse(text: str) -> NoReturn:
            raise ValueError(text[:10])

        return refuse
    # The same as `Event`, but made faster, and nothing that the garbage collector looks at.
    kinds = {**get_type_hints(Event), "args": args | None}
    made = defstruct("Event", [(part.name, kinds[part.name], part.default) for part in fields(Event)], gc=False)
    return Decoder(list[made]).decode  # type: ignore[valid-type]


def _event(record: dict[str, Any]) -> Event[Any]:
    """Return an event of decoded JSON, whatever its fields hold."""
    kind, category, name = (value if isinstance(value := record.get(key), str) else None for key in _TEXTS)
    arguments = record.get("args")
    return Event(
        kind,
        category,
        name,
        _identity(record.get("pid")),
        _identity(record.get("tid")),
        _time_us(record.get("ts")),
        _time_us(record["dur"]) if "dur" in record else NO_DURATION,
        arguments if isinstance(arguments, dict) else None,
    )


_TEXTS = ("ph", "cat", "name")


def _time_us(value: object) -> float:
    try:
        return float(value) if type(value) in (int, float) else math.nan  # type: ignore[arg-type]
    except OverflowError:
        return math.nan


def _identity(value: object) -> int | str | None:
    return value if type(value) is int or isinstance(value, str) else None
