"""Read the step time of a finished run from the log that its framework wrote, also in a limited process."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, BinaryIO, NamedTuple

from msgspec.structs import asdict, replace

from profet_core.errors import InputError, ProfileError
from profet_core.layers.measured import LOGS, LONGEST_TIME, TrainingLog, duration_ms, line_ms, speed_of
from profet_core.training.memory import MAX_BATCH
from profet_profiles.errors import shown_file_name
from profet_profiles.sandbox import SMALL_BYTES, Progress, Task, is_line, read_file
from profet_profiles.units import MS_PER_S
from profet_profiles.unpacking import Content

MAX_LOG_BYTES = 30 * 2**20
#: A network's name and a GPU's in a log; a step or epoch longer than a month is none.
_MAX_LETTERS, _LONGEST_S = 80, 30 * 86_400.0
_MOST_IMAGES_PER_S = 1e9


def read_log(source: bytes | BinaryIO, name: str = "log") -> TrainingLog:
    r"""Read a log, plain or gzip; InputError: one line that says what is wrong with it and what to do.

    >>> read_log(b"epoch,time,train/loss\n1,61.5,2\n2,121.5,1\n3,181.5,1\n").time
    '60 s/epoch'
    """
    shown = shown_file_name(name)
    try:
        if source == b"":
            raise InputError(f"it is empty: give {LOGS}.")
        text = Content(source).read(MAX_LOG_BYTES, "it is too large for a log.").decode("utf-8-sig", "replace")
        return _read(text)
    except (InputError, ProfileError) as error:
        raise InputError(f"{shown}: {error}") from None


def read_log_guarded(source: bytes | BinaryIO, name: str = "log") -> TrainingLog:
    """Read a third-party log as `read_log` does, within limits; as `read_file` has it."""

    def begin(start: bytes) -> Task[TrainingLog] | TrainingLog:
        return read_log(start, name) if len(start) <= SMALL_BYTES and not start.startswith(b"\x1f\x8b") else TASK

    return read_file(source, name, begin)


def work(file: BinaryIO, name: str, _: Sequence[str], __: Progress) -> dict[str, Any]:
    """In the process: read a log."""
    return asdict(read_log(file, name))


def _log_in(document: object) -> TrainingLog:
    import msgspec  # late, as few commands read a log

    log = msgspec.convert(document, TrainingLog, strict=True)
    if not all(value is None or is_line(value) for value in (log.source_format, log.gpu)):
        raise ValueError("a text is no line")
    return _checked(log)


TASK = Task(__name__, _log_in, InputError, "give the last lines of the log", 2**14)


def _checked(log: TrainingLog) -> TrainingLog:
    """Return the log without sizes that no training has; ValueError: its time is none."""
    limits = {"step_ms": MS_PER_S * _LONGEST_S, "epoch_s": _LONGEST_S, "images_per_s": _MOST_IMAGES_PER_S}
    times = {name: value for name in limits if (value := getattr(log, name)) is not None}
    if len(times) != 1 or not all(0 < value <= limits[name] for name, value in times.items()):
        raise ValueError("no time")
    batch_size, pixels = (size if size and 1 <= size <= MAX_BATCH else None for size in (log.batch_size, log.pixels))
    return replace(log, batch_size=batch_size, pixels=pixels)


_STYLE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x08")


class _Format(NamedTuple):
    """A format of logs: whether a text is of it, and what it says; None: no time was found."""

    name: str
    is_it: Callable[[str], bool]
    read: Callable[[str], dict[str, Any] | None]


def _read(text: str) -> TrainingLog:
    if "\x00" in text[:4096] or not text.strip():
        raise InputError(f"it is {'empty' if not text.strip() else 'no text'}: give {LOGS}.")
    # Progress bars are colored, and return to the start of their line.
    text = _STYLE.sub("", text).replace("\r", "\n")
    for log_format in _FORMATS:
        if log_format.is_it(text) and (fields := log_format.read(text)) is not None:
            try:
                return _checked(TrainingLog(log_format.name, **{**fields, **_stated(text)}))
            except ValueError:
                continue
    raise InputError(f"no time of a step or an epoch was found in it. What is read: {LOGS}.")


def _typical(times: Sequence[float]) -> tuple[float, int]:
    """Median, without the first, in which kernels are chosen and caches are filled; and the number of times."""
    kept = [time for time in (times[1:] if len(times) > 1 else times) if math.isfinite(time) and time > 0]
    return (median(kept) if kept else 0.0), len(kept)


def _steps(times_s: Sequence[float], batch_size: int | None = None) -> dict[str, Any] | None:
    typical_s, count = _typical(times_s)
    sizes = {} if batch_size is None else {"batch_size": batch_size}
    return {"step_ms": float(f"{MS_PER_S * typical_s:.12g}"), "count": count, **sizes} if count else None


# --- JSON -------------------------------------------------------------------------------------------------------------


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _number(row: Mapping[str, Any], *names: str) -> float:
    """Return the first of these that is a number, else 0."""
    values = (row.get(name) for name in names)
    return next((float(value) for value in values if isinstance(value, int | float) and abs(value) < 1e300), 0.0)


def _hugging_face(text: str) -> dict[str, Any] | None:
    """Return the trainer's state, or its results: a run's steps per second, with its evaluations."""
    state = _object(text)
    history = state.get("log_history")
    rows = [row for row in history if isinstance(row, dict)] if isinstance(history, list) else [state]
    for row in reversed(rows):
        per_s, images_per_s = _number(row, "train_steps_per_second"), _number(row, "train_samples_per_second")
        if per_s > 0:
            batch_size = round(images_per_s / per_s) or round(_number(state, "train_batch_size")) or None
            steps = round(_number(row, "step") or _number(state, "global_step")) or 1
            return {**(_steps([1 / per_s], batch_size=batch_size) or {}), "count": steps}
    return None


def _lines(text: str) -> Iterator[dict[str, Any]]:
    """Return the records of JSON lines."""
    for line in text.splitlines():
        if line.startswith("{"):
            yield _object(line)


def _is_training(row: Mapping[str, Any]) -> bool:
    return row.get("mode", "train") == "train" and any(name in row for name in ("lr", "loss", "total_loss"))


def _json_lines(text: str) -> dict[str, Any] | None:
    """Seconds of an iteration, of MMEngine, MMCV and Detectron2; of tests without a loss."""
    return _steps([_number(row, "time") for row in _lines(text) if _is_training(row) and "time" in row])


# --- CSV --------------------------------------------------------------------------------------------------------------

_EPOCH_TIMES = ("time", "epoch_time", "time_s", "epoch_s", "seconds", "duration", "elapsed")


def _table(text: str) -> dict[str, list[float]]:
    """Column -> its numbers, in order."""
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        head = [name.strip().lower() for name in next(rows, [])]
        columns: dict[str, list[float]] = {name: [] for name in head}
        for row in rows:
            for name, cell in zip(head, row, strict=False):
                try:
                    columns[name].append(float(cell))
                except ValueError:
                    continue
    except csv.Error:
        return {}
    return columns


def _is_table(text: str) -> bool:
    head = text.lstrip().partition("\n")[0].lower()
    return (
        "," in head
        and not head.startswith("{")
        and bool({"epoch", "step"} & {title.strip() for title in head.split(",")})
    )


def _epochs(text: str) -> dict[str, Any] | None:
    """Seconds of each epoch, or since the start: Ultralytics' results.csv, Keras' CSVLogger with a column of times."""
    table = _table(text)
    return _of_epochs(next((table[name] for name in _EPOCH_TIMES if table.get(name)), []))


def _of_epochs(times: Sequence[float]) -> dict[str, Any] | None:
    # Times of single epochs hardly grow by half.
    since_start = len(times) > 1 and all(time < after for time, after in pairwise(times)) and times[-1] > 1.5 * times[0]
    spans = [after - time for time, after in pairwise([0.0, *times])] if since_start else times
    epoch_s, count = _typical(spans)
    return {"epoch_s": epoch_s, "count": count} if count else None


def _throughput(text: str) -> dict[str, Any] | None:
    """Batches per second of Lightning's ThroughputMonitor, in metrics.csv."""
    table = _table(text)

    def rates(ending: str) -> list[float]:
        return next((values for name, values in table.items() if name.endswith(ending) and "val" not in name), [])

    batches, images = rates("batches_per_sec"), rates("samples_per_sec")
    size = median(images) / median(batches) if images and batches and median(batches) > 0 else 0.0
    return _steps([1 / rate for rate in batches if rate > 0], batch_size=round(size) or None)


# --- Lines ------------------------------------------------------------------------------------------------------------

_TIMM = re.compile(r"\bTime: *([\d.]+)s, *([\d.]+)/s", re.ASCII)
_NAMED_TIME = re.compile(r"(?<![\w_])time: *(\d[\d.]*)", re.ASCII)
_RATE = re.compile(r"\bimg/s: *(\d[\d.]*)", re.ASCII)
_AVERAGED = re.compile(r"\bEpoch: *\[\d+\] *\[ *\d+/\d+\].*?\bTime +([\d.]+) *\( *([\d.]+)\)", re.ASCII)
#: Where a progress bar begins: of tqdm, Keras 2 and Keras 3.
_BAR = re.compile(r"%\||\[[=.]|\u2501")
#: Of lines about another pass than the training's.
_OTHER_PASS = re.compile(r"\bval|test|\beval|sanity|predict|inference|Class +Images", re.IGNORECASE)


def _timm(text: str) -> dict[str, Any] | None:
    """Lines of timm's training script: 'Time: 0.345s, 741.53/s'."""
    matches = [match for line in text.splitlines() if (match := _TIMM.search(line)) and not _OTHER_PASS.search(line)]
    seconds, rates = ([_float(match[group]) for match in matches] for group in (1, 2))
    batch_size = round(median(step_s * rate for step_s, rate in zip(seconds, rates, strict=True))) if matches else None
    return _steps(seconds, batch_size=batch_size or None)


def _named_times(text: str) -> dict[str, Any] | None:
    """Lines of MMEngine, MMCV, Detectron2 and torchvision's references: 'time: 0.3347  data_time: 0.0047'."""
    lines = [line[:2_000] for line in text.splitlines() if "loss" in line]
    matches = [(line, match) for line in lines if (match := _NAMED_TIME.search(line))]
    matches = [(line, match) for line, match in matches if not _OTHER_PASS.search(line[: match.start()])]
    seconds = [_float(match[1]) for _, match in matches]
    sizes = [_float(rate[1]) * _float(match[1]) for line, match in matches if (rate := _RATE.search(line))]
    return _steps(seconds, batch_size=round(median(sizes)) or None if sizes else None)


def _averaged(text: str) -> dict[str, Any] | None:
    """Lines of PyTorch's ImageNet example: 'Epoch: [0][ 10/5005] Time  0.312 ( 0.434)'."""
    return _steps([_float(match[1]) for match in _AVERAGED.finditer(text)])


def _progress(text: str) -> dict[str, Any] | None:
    """Progress lines of Keras, tqdm, Lightning and Ultralytics; the bar of an epoch counts once it is full.

    Keras repeats it after the validation, whose time is in it then.
    """
    times_ms, full_ms, validated_ms = list[float](), list[float](), list[float]()
    for line in text.splitlines():
        before = _BAR.split(line)[0]
        if not line.strip() or len(line) > 4 * LONGEST_TIME or _OTHER_PASS.search(before):
            continue
        if (ms := line_ms(line)) is not None:
            times_ms.append(ms)
            steps = re.search(r"(?<!\d)(\d+)/(\d+)(?!\d)(?! *\[?(?:\d+:)?\d+/)", line, re.ASCII)
            if "100%" in line or (steps and steps[1] == steps[2]):
                (validated_ms if "step" in line and "val_" in line else full_ms).append(ms)
    return _steps([ms / MS_PER_S for ms in full_ms or validated_ms or times_ms])


_LINE_OF_EPOCH = re.compile(r"\bepoch\b\W{0,3}(\d*)", re.IGNORECASE | re.ASCII)
_LINE_OF_STEP = re.compile(r"\b(?:step|iter|iteration|batch)\b|\d/\d|\beta\b", re.IGNORECASE | re.ASCII)
_DURATION = re.compile(
    r"\b(?:[Tt]ook|[Tt]ime|[Dd]uration|[Ee]lapsed|in)\W{1,3}(?P<clock>(?:\d+:)?\d+:\d\d(?:\.\d+)?)(?![\d:])"
    r"|(?<![\w.,:/-])(?P<units>(?:\d[\d.]*\s*(?:ms|secs?|seconds?|s|mins?|minutes?|m|hours?|h)\b\s*)+)(?![\w/])",
    re.ASCII,
)
_TABLE_OF_FASTAI = re.compile(r"^epoch +train_loss .*\btime *$", re.MULTILINE)
_PER_SECOND = re.compile(
    r"(?<![a-z_])(?:train_)?(steps|iterations|iters|batches|samples|images|examples)_per_sec(?:ond)?['\"]?\s*[=:]\s*"
    r"(\d[\d.]*(?:e[+-]?\d+)?)",
    re.ASCII,
)


def _own_lines(text: str) -> dict[str, Any] | None:
    """Lines of people's own scripts: 'epoch 3 took 14 min', '1210 images/s', "{'train_steps_per_second': 2.5}"."""
    steps_s, images_per_s, epochs_s = list[float](), list[float](), list[float]()
    numbers, batch_sizes = list[str](), list[int]()
    is_fastai = _TABLE_OF_FASTAI.search(text) is not None
    for line in text.splitlines():
        if len(line) > LONGEST_TIME:
            continue
        per_s = {what[:2]: _float(rate) for what, rate in _PER_SECOND.findall(line)}
        rates = [per_s[what] for what in ("st", "it", "ba") if per_s.get(what)]
        images = [per_s[what] for what in ("sa", "im", "ex") if per_s.get(what)]
        durations = [match["clock"] or match["units"].strip() for match in _DURATION.finditer(line)]
        epoch, is_of_step = _LINE_OF_EPOCH.search(line), _LINE_OF_STEP.search(line) is not None
        if rates:
            steps_s.append(1 / rates[0])
            batch_sizes += [round(images[0] / rates[0])] if images else []
        elif images:
            images_per_s.append(images[0])
        elif (speed := speed_of(line)) is not None and not _OTHER_PASS.search(line):
            what, value = speed
            (images_per_s if what == "images" else steps_s).append(value)
        elif is_of_step and epoch is None and len(durations) == 1 and durations[0].endswith("ms"):
            steps_s.append(duration_ms(durations[0], line) / MS_PER_S)
        elif epoch is not None and not is_of_step and len(durations) == 1:
            epochs_s.append(duration_ms(durations[0], line) / MS_PER_S)
            numbers.append(epoch[1] or str(len(numbers)))
        elif is_fastai and (row := re.fullmatch(r"\s*\d+\s.*\s((?:\d+:)?\d+:\d\d)\s*", line, re.ASCII)):
            epochs_s.append(duration_ms(row[1], line) / MS_PER_S)
    if steps_s:
        return _steps(steps_s, batch_size=round(median(batch_sizes)) or None if batch_sizes else None)
    if images_per_s:
        rate, count = _typical(images_per_s)
        return {"images_per_s": rate, "count": count} if count else None
    # Several times of one epoch are of its steps.
    return _of_epochs(epochs_s) if len(set(numbers)) == len(numbers) else None


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


#: In their order: the first that finds a time says it.
_FORMATS = (
    _Format(
        "Hugging Face", lambda text: '"train_steps_per_second"' in text and text.lstrip()[:1] == "{", _hugging_face
    ),
    _Format("JSON lines", lambda text: '"time"' in text and text.lstrip()[:1] == "{", _json_lines),
    _Format("Lightning", lambda text: _is_table(text) and "batches_per_sec" in text, _throughput),
    _Format("CSV of epochs", _is_table, _epochs),
    _Format("timm", lambda text: "/s" in text and "Time:" in text, _timm),
    _Format("log lines", lambda text: "time: " in text, _named_times),
    _Format("PyTorch example", lambda text: "Epoch: [" in text, _averaged),
    _Format("progress bar", lambda text: True, _progress),
    _Format("lines", lambda text: True, _own_lines),
)
_STATED: Mapping[str, tuple[str, ...]] = {
    "batch_size": (
        r"\bIMS_PER_BATCH: *(\d{1,6})\b",
        r"\bsamples_per_gpu *= *(\d{1,6})\b",
        r"\bper_device_train_batch_size['\"]?[=:] *(\d{1,6})\b",
        r"\bbatch[-_ ]?size['\"]? *[=:] *(\d{1,6})\b",
        r"\bbatch=(\d{1,6})\b",
    ),
    "pixels": (
        r"\b(?:imgsz|img[-_]?size|image[-_]?size|input[-_]?size)['\"]? *[=:] *\[?\(?(?:3, *)?(\d{2,5})\b",
        r"\bImage sizes (\d{2,5}) train",
    ),
    "gpu": (
        r"\bCUDA:\d+ \((?:NVIDIA )?([\w -]{2,60}), *\d+MiB\)",
        r"\bGPU 0(?:,\d+)*:? +(?:NVIDIA )?([A-Z][\w -]{2,60}?)(?: \(|$)",
    ),
}


def _stated(text: str) -> dict[str, Any]:
    """Batch size, pixels and GPU, where a log's first part states its settings."""
    start, stated = text[: 2**18], dict[str, Any]()
    for name, patterns in _STATED.items():
        for pattern in patterns:
            if match := re.search(pattern, start, re.ASCII | re.MULTILINE):
                stated[name] = match[1].strip()[:_MAX_LETTERS] if name == "gpu" else int(match[1])
                break
    return stated
