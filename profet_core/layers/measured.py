"""Step times that users measured: how they write them, and what they say of a network's other steps."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from profet_core.errors import InputError
from profet_core.latency import SMOOTH_MAX_POWER, FloatArray, combined_sd, free_ms, smooth_max
from profet_core.training.cost import Workload
from profet_core.training.memory import MAX_BATCH
from profet_profiles.units import MS_PER_S, SMALLEST_NUMBER, typed_positive, typed_whole

_NUMBER = r"(?P<{}>[\d.][\d.,]*(?:e[+-]?\d+)?)\s*"
_TIME = r"(?P<{}>milliseconds?|msecs?|ms|[uµμ]s|seconds?|secs?|s|minutes?|mins?|m|hours?|h)"
_ITEM = r"(?P<{}>it|iters?|iterations?|steps?|batch|batches|im|imgs?|images?|samples?|examples?|epochs?)"
_PER = r"(?:\s*(?:/|per)\s*|\s+(?:for )?(?:an?|each|every|one)\s+)"
# Patterns are texts, compiled when one is first searched for: most commands read no time.
#: "146ms/step", "1.2 s/it", "90 s per epoch"; "7.31it/s", "1,390 images/s".
_SPEED = (
    rf"(?i)(?<![\d:.,])(?:{_NUMBER.format('time')}{_TIME.format('unit')}{_PER}{_ITEM.format('of')}"
    rf"|{_NUMBER.format('items')}{_ITEM.format('item')}{_PER}{_TIME.format('each')})(?![\w/])"
)
#: "1h 20min/epoch", "14:05 per epoch", "14 minutes for an epoch".
_EPOCH = rf"(?i)(?P<time>.*?\S){_PER}epoch"
_PARTS = rf"(?i){_NUMBER.format('number')}{_TIME.format('unit')}\s*"
#: "my epoch takes 14 min", "time per step: 0.23 s"; "100 steps in 23 s".
_NAMED = (
    r"(?i)(?:(?:an?|one|each|every|per|time|average|avg|the|my|our)\s+)*"
    rf"{_ITEM.format('of')}(?:\s*time)?[\s:=]*(?:took|takes|in|is)?\s*(?P<time>\S.*)"
)
_SEVERAL = rf"(?i)(?P<count>[1-9][\d,]*)\s*{_ITEM.format('of')}\s*(?:in|took|take)\s*(?P<time>\S.*)"
#: A comma that is no thousands' separator: 0,231; 8,32.
_DECIMAL_COMMA = r"(?a)(?![1-9]\d{0,2},\d{3}$)\d+,\d+"
_CLOCK = r"(?a)(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)"
#: How progress bars begin or what they have: "391/391", "98%|", "[00:52<".
_PROGRESS = r"(?i)^\s*(epoch\b.*?)?\d+/\d+\s|\d%\||\[.*\]|it/s|s/it"
_MS = {"u": 1e-3, "µ": 1e-3, "μ": 1e-3, "s": 1e3, "m": 60e3, "h": 3_600e3}
LONGEST_TIME = 400
#: Logs that `logs` reads, for a person.
LOGS = (
    "Keras' or Lightning's output or CSV, results.csv of Ultralytics, log lines of timm, MMEngine, Detectron2 or "
    "torchvision, scalars.json, metrics.json, trainer_state.json, or lines such as 'epoch 3 took 14 min'"
)


class TrainingLog(Struct, frozen=True):
    """What a log says of a run's steps.

    Attributes
    ----------
    source_format : name of its format.
    count : steps or epochs that were timed.
    step_ms, epoch_s, images_per_s : their median; all but one are None.
    batch_size, pixels, gpu : where it says them.
    """

    source_format: str
    count: int
    step_ms: float | None = None
    epoch_s: float | None = None
    batch_size: int | None = None
    pixels: int | None = None
    gpu: str | None = None
    images_per_s: float | None = None

    @property
    def time(self) -> str:
        """Its time as `measured.step_ms` reads it: '46.2 ms', '840 s/epoch' or '1200 images/s'."""
        if self.images_per_s is not None:
            return f"{self.images_per_s:.6g} images/s"
        return f"{self.step_ms:.6g} ms" if self.epoch_s is None else f"{self.epoch_s:.6g} s/epoch"


class MeasuredTime(Struct, frozen=True):
    """A step time that a user measured.

    Attributes
    ----------
    place : GPU or instance, as typed.
    latency_ms : milliseconds per step.
    """

    place: str
    batch_size: int
    latency_ms: float


def measured_times(
    given: Sequence[str] | Mapping[str, str | float],
    batch_size: int,
    images: int | None = None,
    validation_images: int = 0,
) -> tuple[MeasuredTime, ...]:
    """Read texts such as "RTX 4090=46ms", "RTX 4090@32=5.2it/s" or "T4=14min/epoch"; a mapping is of "T4" to "46ms".

    Parameters
    ----------
    batch_size, images, validation_images : of the question; a time per epoch needs the images.

    Raises
    ------
    InputError : one line on what to write.
    """
    times = []
    pairs = given.items() if isinstance(given, Mapping) else [text.partition("=")[::2] for text in given]
    for place, text in pairs:
        name, at, batch = str(place).partition("@")
        if not name.strip() or not str(text).strip():
            wanted = "GPU=TIME, such as RTX 4090=46ms or RTX 4090@32=5.2it/s (at batch 32)"
            raise InputError(f"{{measured}} takes {wanted}, not {_shown(str(place))!r}.", "measured")
        size = typed_whole(batch, 1, MAX_BATCH) if at else batch_size
        times.append(MeasuredTime(name.strip(), size, step_ms(str(text), size, images, validation_images)))
    return tuple(times)


def step_ms(text: str, batch_size: int | None, images: int | None = None, validation_images: int = 0) -> float:
    """Milliseconds per step, of a time or speed as people write it or a progress line prints it.

    >>> [step_ms(text, 64) for text in ("46 ms", "0.046s", "20 it/s", "1.5s/it", "1,280 img/s", "2ms/image")]
    [46.0, 46.0, 50.0, 1500.0, 50.0, 128.0]
    >>> step_ms("391/391 [====] - 57s 146ms/step", 64), step_ms("1:30/epoch", 64, images=6_400)
    (146.0, 900.0)
    """
    typed = text.strip()
    if len(typed) > LONGEST_TIME:
        raise _refusal(typed)
    if epoch := re.fullmatch(_EPOCH, typed):
        return _as_typed(_of_epoch(duration_ms(epoch["time"], typed), batch_size, images, validation_images))
    speed = re.fullmatch(_SPEED, typed)
    if speed is None and re.search(_PROGRESS, typed):
        # Of a line with several, that of steps or images; of several lines, the last.
        speeds = [
            match
            for match in re.finditer(_SPEED, typed)
            if not (match["of"] or match["item"]).lower().startswith("epoch")
        ]
        speed = speeds[-1] if speeds else None
    if speed is None:
        # Minutes without "/epoch" are hardly of a step.
        alone = re.fullmatch(_PARTS, f"{typed}ms" if typed[-1:].isdigit() else typed)
        if alone is None and (several := re.fullmatch(_SEVERAL, typed) or re.fullmatch(_NAMED, typed)):
            ms = duration_ms(several["time"], typed) / _number(several.groupdict().get("count") or "1", typed)
            return step_ms(f"{ms!r}ms/{several['of']}", batch_size, images, validation_images)
        if alone is None or _ms(alone["unit"]) > MS_PER_S:
            raise _refusal(typed)
        return _as_typed(_number(alone["number"], typed) * _ms(alone["unit"]))
    if speed["time"]:
        ms, item = _number(speed["time"], typed) * _ms(speed["unit"]), speed["of"]
    else:
        ms, item = _ms(speed["each"]) / _number(speed["items"], typed), speed["item"]
    if item.lower().startswith("epoch"):
        ms = _of_epoch(ms, batch_size, images, validation_images)
    elif item.lower().startswith(("im", "sample", "example")):
        ms *= _known(batch_size)
    return _as_typed(ms)


def line_ms(line: str) -> float | None:
    """Milliseconds per step of a line of a log, if it is of a progress bar and says it."""
    speed = speed_of(line) if re.search(_PROGRESS, line) else None
    return MS_PER_S * speed[1] if speed is not None and speed[0] == "steps" else None


def speed_of(line: str) -> tuple[str, float] | None:
    """Return the last speed in a line of a log: "steps" and their seconds, or "images" and how many a second.

    >>> speed_of("step 9: 2.5 it/s"), speed_of("loss 0.1, 1,200 images/sec"), speed_of("0.2 s/epoch")
    (('steps', 0.4), ('images', 1200.0), None)
    """
    kinds = {"it": "steps", "st": "steps", "ba": "steps", "im": "images", "sa": "images", "ex": "images"}
    speeds = [(kinds.get((match["of"] or match["item"])[:2].lower(), ""), match) for match in re.finditer(_SPEED, line)]
    # A bar has images' speeds beside its own.
    stated = [speed for speed in speeds if speed[0] == "steps"] or [speed for speed in speeds if speed[0]]
    if not stated:
        return None
    what, speed = stated[-1]
    try:
        if speed["time"]:
            seconds = _number(speed["time"], line) * _ms(speed["unit"]) / MS_PER_S
        else:
            seconds = _ms(speed["each"]) / MS_PER_S / _number(speed["items"], line)
    except InputError:
        return None
    return what, seconds if what == "steps" else 1 / seconds


def _of_epoch(epoch_ms: float, batch_size: int | None, images: int | None, validation_images: int) -> float:
    if images is None:
        raise InputError("{measured} per epoch needs {images}.", "measured", "images")
    return epoch_ms / float(Workload(images, _known(batch_size), 1, validation_images).duration_s(MS_PER_S))


def _known(batch_size: int | None) -> int:
    if batch_size is None:
        raise InputError("{measured} in images or per epoch needs the batch size first.", "measured")
    return batch_size


def _number(text: str, typed: str) -> float:
    try:
        return typed_positive(text.replace(",", ".") if re.fullmatch(_DECIMAL_COMMA, text) else text)
    except InputError:
        raise _refusal(typed) from None


def _ms(unit: str) -> float:
    unit = unit.lower()
    return 1.0 if unit.startswith(("ms", "milli")) else _MS[unit[0]]


def duration_ms(text: str, typed: str) -> float:
    """Return the milliseconds of "14:05", minutes before seconds, or of "1h 20min"."""
    if clock := re.fullmatch(_CLOCK, text):
        hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return MS_PER_S * _number(str(3_600 * hours + 60 * minutes + seconds), typed)
    parts = list(re.finditer(_PARTS, text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise _refusal(typed)
    return sum(_number(part["number"], typed) * _ms(part["unit"]) for part in parts)


def _as_typed(ms: float) -> float:
    # 0.046 x 1000 is 46.
    return float(f"{ms:.12g}")


def _shown(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return printable if len(printable) <= 40 else f"{printable[:37]}..."


def _refusal(typed: str) -> InputError:
    ways = "46ms, 5.2it/s, 1390img/s or 14min/epoch, or paste the progress line of Keras or tqdm"
    return InputError(f"{_shown(typed)!r} is not a measured time: write it like {ways}.", "measured")


class Shares(NamedTuple):
    """What one step says of another, as `profet validate --estimate` chooses it on pairs of published steps.

    Launches are shared on one GPU alone: other GPUs are in other hosts. The uncertainty of a GPU is that of its
    generation, whose GPUs are known from the same specs and benchmarks.

    Attributes
    ----------
    everywhere, in_generation, at_size : parts of the variance of a network's error that steps share: on every GPU; in
        one generation; and on one GPU near in batch size. The rest is a step's own.
    fade : how fast the first two fade with each fourfold batch size.
    """

    everywhere: float = 0.66
    in_generation: float = 0.18
    at_size: float = 0.11
    fade: float = 0.32

    @property
    def own(self) -> float:
        """The part that no other step shares."""
        return 1 - self.everywhere - self.in_generation - self.at_size


SHARES = Shares()
#: What steps of one program share, over the spread of sources: tuned code is further off than their usual spread.
OF_PROGRAM = 2.0
#: Error of a measured time; and the least that an answer scaled from it has.
TIME_LOG_SD, _LEAST_LOG_SD = 0.02, 0.03
#: Steps to the mean: a part of the way, half of it after one that went back, and a little more of it after others.
_ITERATIONS, _BACK, _ON, _CONVERGED = 150, 0.5, 1.2, 1e-8


class StepParts(Struct, frozen=True):
    """Milliseconds of steps: the smooth maximum of their work and their launches, plus their start, (steps,)."""

    work_ms: FloatArray
    launch_ms: FloatArray
    start_ms: FloatArray

    @property
    def latency_ms(self) -> FloatArray:
        """Of each step."""
        latency_ms: FloatArray = smooth_max(self.work_ms, self.launch_ms) + self.start_ms
        return latency_ms

    def scaled(self, by_work: FloatArray | float, by_host: FloatArray | float) -> Self:
        """Scale work, and launches with the start, by a factor each."""
        return replace(
            self,
            work_ms=self.work_ms * by_work,
            launch_ms=self.launch_ms * by_host,
            start_ms=self.start_ms * by_host,
        )


class Steps(StepParts, frozen=True):
    """Steps of one network by one program; arrays of shape (steps,).

    Attributes
    ----------
    gpus, generations, modes, batch_sizes : of each: its GPU's name and compute capability, 0 if unknown, and so on.
    network_log_sd, gpu_log_sd, launch_log_sd : uncertainty of the network on a GPU, of the GPU, and of launches.
    shared_log_sd, kernels_log_sd : of what all steps of the program share: of work, and of the number of kernels.
    removed : variance that measured steps remove.
    """

    gpus: np.ndarray
    generations: FloatArray
    modes: FloatArray
    batch_sizes: FloatArray
    network_log_sd: FloatArray
    gpu_log_sd: FloatArray
    launch_log_sd: FloatArray
    shared_log_sd: FloatArray
    kernels_log_sd: FloatArray
    removed: FloatArray

    @property
    def launched(self) -> FloatArray:
        """Relative change of each step with its launches."""
        share: FloatArray = 1 / (1 + (self.work_ms / self.launch_ms) ** SMOOTH_MAX_POWER)
        return share

    @property
    def by_host(self) -> FloatArray:
        """Relative change of each step with all its host does: its launches, and its start."""
        starts = self.start_ms / self.latency_ms
        share: FloatArray = self.launched * (1 - starts) + starts
        return share

    @property
    def log_sd(self) -> FloatArray:
        """Of each step's latency."""
        launched = np.where(self.removed > 0, self.by_host, self.launched)
        launched = launched * np.hypot(self.launch_log_sd, self.kernels_log_sd)
        all_log_sd = combined_sd(self.network_log_sd, self.gpu_log_sd, launched, self.shared_log_sd)
        left = np.sqrt(np.maximum(all_log_sd**2 - self.removed, _LEAST_LOG_SD**2))
        log_sd: FloatArray = np.where(self.removed > 0, left, all_log_sd)
        return log_sd

    def take(self, rows: Sequence[int]) -> Self:
        """Return some of the steps."""
        return type(self)(*(values[rows] for values in astuple(self)))

    def without_launches(self) -> Self:
        """Return the work of the steps alone."""
        no_ms = np.full(len(self.work_ms), SMALLEST_NUMBER)
        return replace(self, launch_ms=no_ms, start_ms=no_ms)

    def at_launches_of(self, others: Sequence[Steps]) -> Self:
        """Return the same latencies, with the mean launches and starts of other sizes of the steps, if any."""
        if not others:
            return self
        launch_ms = np.mean([other.launch_ms for other in others], axis=0)
        start_ms = np.mean([other.start_ms for other in others], axis=0)
        rest_ms = np.maximum(self.latency_ms - start_ms, SMALLEST_NUMBER)
        return replace(
            self,
            work_ms=free_ms(rest_ms, launch_ms),
            launch_ms=np.minimum(launch_ms, rest_ms),
            start_ms=start_ms,
        )

    @classmethod
    def joined(cls, some: Sequence[Steps]) -> Steps:
        """Return steps one after another."""
        return cls(*map(np.concatenate, zip(*map(astuple, some), strict=True)))


def _covariances(steps: Steps, given: Steps, shares: Shares) -> tuple[FloatArray, FloatArray]:
    """Of the logarithms of work, and of launches, (steps, given)."""
    on_gpu = (steps.gpus[:, None] == given.gpus).astype(float)
    in_generation = (steps.generations[:, None] == given.generations).astype(float)
    here = on_gpu * (steps.modes[:, None] == given.modes)
    apart = np.log(steps.batch_sizes[:, None] / given.batch_sizes) / math.log(4)
    alike = (shares.everywhere + shares.in_generation * in_generation) * np.exp(-shares.fade * np.abs(apart))
    alike += shares.at_size * here * np.exp(-(apart**2) / 2)
    work = (
        np.outer(steps.shared_log_sd, given.shared_log_sd)
        + np.outer(steps.network_log_sd, given.network_log_sd) * alike
        + np.outer(steps.gpu_log_sd, given.gpu_log_sd) * in_generation
    )
    kernels = np.outer(steps.kernels_log_sd, given.kernels_log_sd)
    return work, np.outer(steps.launch_log_sd, given.launch_log_sd) * on_gpu + kernels


class Learned(Struct, frozen=True):
    """What measured steps of a network say: the mean of the model's own distribution.

    A measured step that launches explain changes launches and the start, another one the work: what each takes of the
    step at the mean counts, so the mean is found in some iterations.

    Attributes
    ----------
    given : the measured steps before, and `now` at the mean.
    for_work, for_launch : what each of them says of work, and of launches; others' are linear in it.
    inverse : of the covariance of their latencies.
    """

    given: Steps
    now: Steps
    for_work: FloatArray
    for_launch: FloatArray
    inverse: FloatArray
    shares: Shares

    @classmethod
    def of(
        cls,
        given: Steps,
        given_ms: FloatArray,
        given_log_sd: FloatArray | float = TIME_LOG_SD,
        shares: Shares = SHARES,
    ) -> Learned:
        """Learn from steps and their measured latencies."""
        of_work, of_launch = _covariances(given, given, shares)
        own = given.network_log_sd**2 * shares.own
        for_work, for_launch = np.zeros((2, len(given_ms)))
        part, before = 1.0, None
        for _ in range(_ITERATIONS):
            log_work, log_launch = of_work @ for_work, of_launch @ for_launch
            now = given.scaled(np.exp(log_work), np.exp(log_launch))
            by_launch = now.by_host
            by_work = 1 - by_launch
            error = np.log(given_ms / now.latency_ms) + by_work * log_work + by_launch * log_launch
            covariance = by_work[:, None] * of_work * by_work + by_launch[:, None] * of_launch * by_launch
            covariance += np.diag(by_work**2 * own + given_log_sd**2)
            weights = np.linalg.solve(covariance, error)
            moves = np.concatenate([by_work * weights - for_work, by_launch * weights - for_launch])
            if before is not None:
                part = part * _BACK if moves @ before < 0 else min(part * _ON, 1.0)
            before = moves
            for_work, for_launch = np.stack([for_work, for_launch]) + part * moves.reshape(2, -1)
            if part * np.abs(moves).max() <= _CONVERGED * max(np.abs(for_work).max(), np.abs(for_launch).max()):
                break
        inverse = np.asarray(np.linalg.inv(covariance), float)
        return cls(given, now, for_work, for_launch, inverse, shares)

    def on(self, steps: Steps, at: Sequence[Steps] = ()) -> Steps:
        """Return steps of the network by what was learned.

        Parameters
        ----------
        at : the same steps at the sizes of the measured ones, if other sizes are asked for. What was learned holds as
            it does there, and launches are theirs: so no step gets faster as it grows.
        """
        to_work, to_launch = _covariances(steps, self.given, self.shares)
        others = [] if len(at) == 1 and at[0] is steps else at
        log_work, log_launch = to_work @ self.for_work, to_launch @ self.for_launch
        if others:
            there = [_covariances(other, self.given, self.shares) for other in others]
            log_work = np.mean([work @ self.for_work for work, _ in there], axis=0)
            log_launch = np.mean([launch @ self.for_launch for _, launch in there], axis=0)
        learned = steps.at_launches_of(others).scaled(np.exp(log_work), np.exp(log_launch))
        launched, by_launch = learned.by_host[:, None], self.now.by_host
        cross = (1 - launched) * to_work * (1 - by_launch) + launched * to_launch * by_launch
        return replace(learned, removed=((cross @ self.inverse) * cross).sum(axis=1))
