"""What the endpoint answers from: models that load once, threads that answer, and a check of health."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Lock
from typing import TypeVar

from profet_core.answers.context import Context, load_served
from profet_core.answers.schema import Document
from profet_core.errors import ProfetError
from profet_core.prediction.models import load_models, load_samples
from profet_core.prediction.predict import predict
from profet_http.requests import BUSY, RequestError

_LOG = logging.getLogger(__name__)

#: A check answers for so long; then the next request makes a new one.
CHECKED_FOR_S = 10.0
#: A sample that the models learned from comes out within this share of what was measured.
TOLERANCE = 0.25
#: A failed loading is not tried again sooner.
RETRY_S = 5.0
#: An answer takes at most so long, waiting included.
ANSWER_LIMIT_S = 30.0

Answer = TypeVar("Answer")


class SharedContext:
    """One `Context` for all requests of a process."""

    def __init__(self, load: Callable[[], Context] = lambda: load_served().context) -> None:
        self._load = load
        self._lock = Lock()
        self._context: Context | None = None
        self._failure: ProfetError | None = None
        self._failed_at_s = 0.0

    @property
    def is_ready(self) -> bool:
        """Whether it is loaded."""
        return self._context is not None

    def get(self) -> Context:
        """The context, loaded if it isn't yet; raises ProfetError if it can't be."""
        with self._lock:
            if self._context is None:
                if self._failure is not None and time.monotonic() < self._failed_at_s + RETRY_S:
                    raise self._failure
                try:
                    self._context = self._load()
                except ProfetError as error:
                    self._failure, self._failed_at_s = error, time.monotonic()
                    raise
            return self._context


class Workers:
    """Threads with a number of places; a request without one is answered with "busy".

    Parameters
    ----------
    threads : at work at once.
    places : requests that wait or are at work.
    """

    def __init__(self, name: str, threads: int, places: int, *, limit_s: float = ANSWER_LIMIT_S) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = BoundedSemaphore(places)
        self._limit_s = limit_s

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do `work` in a thread; what still runs at the limit keeps its place until it is done.

        Raises
        ------
        RequestError : no place is free, or it takes too long. Whatever `work` raises.
        """
        if not self._free.acquire(blocking=False):
            raise RequestError(BUSY, "The server is busy: try again in a moment.")
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._free.release())
        waiting = asyncio.wrap_future(future)
        if not (await asyncio.wait([waiting], timeout=self._limit_s))[0]:
            # A thread can't be ended; what is still in the queue is.
            future.cancel()
            smaller = "send a smaller file (`profet convert TRACE -o profile.json` makes one)"
            raise RequestError(BUSY, f"The request took too long: {smaller}.")
        return waiting.result()

    def close(self) -> None:
        """Let nothing more begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class UnhealthyError(ProfetError):
    """A prediction that should come out does not."""


def check(context: Context) -> Document:
    """Check the models on the disk, file by file, and those in memory by a prediction whose truth is known.

    Raises
    ------
    ProfetError : they can't be used, or predict something else.
    """
    load_models(context.models.folder).verify()
    sample = load_samples()[0]
    prediction = predict(context.models, context.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    for instance, measured_ms in sample.measured_ms.items():
        predicted_ms = prediction.latencies_ms.get(instance)
        if predicted_ms is None or abs(predicted_ms / measured_ms - 1) > TOLERANCE:
            raise UnhealthyError(f"{sample.name} takes {measured_ms:g} ms on {instance}; predicted: {predicted_ms}.")
    return {"status": "ok", "sample": sample.name, "predicted": len(prediction.latencies_ms)}


class Health:
    """The last check's result, checked again when it is old: however often it is asked, the work stays the same."""

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context
        self._lock = asyncio.Lock()
        self._checked_at_s = -CHECKED_FOR_S
        self._found: Document | None = None

    async def document(self) -> Document | None:
        """What the check found; None if the server is not healthy, its log says why."""
        async with self._lock:
            if time.monotonic() >= self._checked_at_s + CHECKED_FOR_S:
                self._found = await asyncio.to_thread(self._check)
                self._checked_at_s = time.monotonic()
            return self._found

    def _check(self) -> Document | None:
        try:
            return check(self._context())
        except Exception as error:
            _LOG.error("Not healthy: %s", error, exc_info=not isinstance(error, ProfetError))
            return None
