"""Run independent fits and folds, here or on a Dask cluster, with equal results; measure held-out errors.

Each task brings its seed, trains what it would train alone, and runs on one thread of every library (sums over threads
end in other digits). A cluster's workers get tasks, and give results, as pickles, as Dask does.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import platform
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from profet_core.errors import InputError
from profet_profiles import VERSION

if TYPE_CHECKING:
    from distributed import Client

#: Called with the number of steps done since the last call.
Progress = Callable[[int], object]


Result = TypeVar("Result")

_CONNECT_S = 10
#: What another version of may change a digit.
_VERSIONED = ("numpy", "scipy", "scikit-learn", "lightgbm", "xgboost-cpu", "tensorflow-cpu", "tensorflow", "keras")

_cluster: ContextVar[Client | None] = ContextVar("cluster", default=None)


def run_tasks(
    work: Callable[..., Result],
    arguments: Iterable[Sequence[Any]],
    *,
    progress: Progress | None = None,
    units: int = 0,
    threads: bool = False,
) -> list[Result]:
    """`work(*each)` of all arguments, in their order: one after another here, or all at once `on_cluster`.

    Parameters
    ----------
    units : count of one task that reports its own progress, as its keyword `progress`; 0: it reports none, and a
        finished one counts 1. A cluster's tasks count when all are done.
    threads : here on all cores, for work that leaves Python's lock.
    """
    client = _cluster.get()
    reported = {"progress": progress if client is None else None} if units else {}
    tasks = [partial(work, *argument, **reported) for argument in arguments]
    if client is not None:
        results = client.gather([client.submit(_done_by_worker, task, pure=False) for task in tasks])
        if progress:
            progress((units or 1) * len(tasks))
        return list(results)
    results = []
    _one_tensorflow_thread()
    with threadpool_limits(limits=1):
        here = Parallel(n_jobs=-1 if threads else 1, prefer="threads", return_as="generator")
        for result in here(delayed(task)() for task in tasks):
            results.append(result)
            if progress and not units:
                progress(1)
    return results


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Within it `run_tasks` is done by the workers of the Dask cluster at `address`; None: in this process."""
    if address is None:
        yield
        return
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    with _client(address) as client:
        _check_workers(address, client)
        token = _cluster.set(client)
        # One line below replaces the loggers' fifty lines on a lost cluster.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            with warnings.catch_warnings():
                # Tasks of megabytes that take seconds to minutes.
                warnings.filterwarnings("ignore", "Sending large graph")
                yield
        except (KilledWorker, CommClosedError, CancelledError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"The Dask cluster at {address} was lost; nothing is written: {reason}") from None
        finally:
            _cluster.reset(token)


def _done_by_worker(task: Callable[[], Result]) -> Result:
    # For good: a worker's other tasks are ours too, and libraries may have come since the last one.
    threadpool_limits(limits=1)
    _one_tensorflow_thread()
    return task()


def _one_tensorflow_thread() -> None:
    """TensorFlow has its own threads, fixed once it runs."""
    if (tensorflow := sys.modules.get("tensorflow")) is not None:
        with suppress(RuntimeError):
            tensorflow.config.threading.set_intra_op_parallelism_threads(1)
            tensorflow.config.threading.set_inter_op_parallelism_threads(1)


@contextmanager
def _client(address: str) -> Iterator[Client]:
    from distributed import Client

    try:
        # A client that fails to connect lingers for 20 s; this doesn't.
        asyncio.run(_connect(address))
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"No Dask scheduler answers at {address!a}, as tcp://host:8786 would: {reason}") from None
    with client:
        yield client


async def _connect(address: str) -> None:
    from distributed.comm import connect

    comm = await connect(address, timeout=_CONNECT_S)
    await comm.close()


def _check_workers(address: str, client: Client) -> None:
    from distributed import TimeoutError as DaskTimeoutError

    try:
        client.wait_for_workers(1, timeout=_CONNECT_S)
        by_worker: Mapping[str, Mapping[str, str]] = client.run(versions)
    except (TimeoutError, DaskTimeoutError):
        raise InputError(
            f"The Dask cluster at {address} has no worker: start one with `dask worker {address}`."
        ) from None
    except ModuleNotFoundError as error:
        raise InputError(
            f"Workers at {address} lack {error.name}: install this project and its requirements there."
        ) from None
    own = versions()
    for worker, theirs in by_worker.items():
        for name in own:
            if theirs.get(name) != own[name]:
                raise InputError(
                    f"Worker {worker} has {name} {theirs.get(name, 'not at all')}, here is {own[name]}: "
                    "install the same requirements.txt there."
                )


def versions() -> dict[str, str]:
    """Return versions that must be the same on every worker, as in this process."""
    installed = {"profet": VERSION, "python": ".".join(platform.python_version_tuple()[:2])}
    for name in _VERSIONED:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[name] = importlib.metadata.version(name)
    return installed


#: Masks of the rows that are learned from and that are judged.
Fold = tuple[np.ndarray, np.ndarray]


def held_out(
    rows: pd.DataFrame, groups: np.ndarray, predict: Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]
) -> np.ndarray:
    """Out-of-fold predictions, (rows,).

    Parameters
    ----------
    groups : of each row, (rows,).
    predict : rows of all other groups, rows of one -> its predictions.
    """
    results = np.empty(len(rows))
    for name in np.unique(groups):
        out = groups == name
        results[out] = predict(rows[~out], rows[out])
    return results


def grouped_folds(names: pd.Series, among: np.ndarray, folds: int | None = None) -> list[Fold]:
    """Folds that hold out whole names; of few folds the most frequent names are in different ones.

    Parameters
    ----------
    among : mask of the rows that are judged; other rows of a name are held out with them.
    folds : None: one a name.
    """
    order = names[among].value_counts().sort_index().sort_values(ascending=False, kind="stable").index
    folds = min(folds or len(order), len(order))
    held = [names.isin(order[fold::folds]).to_numpy() for fold in range(folds)]
    return [(~rows, rows & among) for rows in held]


def error_figures(log_errors: pd.Series, log_half_widths: pd.Series) -> dict[str, float]:
    """Errors of predictions and coverage of their 90% intervals, percent; zeros of no row.

    Parameters
    ----------
    log_errors : logarithms of predicted over measured.
    log_half_widths : of the intervals, in the logarithm.
    """
    names = ("mape", "median", "bias", "coverage_90", "median_interval_pct")
    if log_errors.empty:
        return {"n": 0} | dict.fromkeys(names, 0.0)
    off = np.expm1(log_errors).abs()
    covered = log_errors.abs() <= log_half_widths
    values = off.mean(), off.median(), np.expm1(log_errors.mean()), covered.mean(), np.expm1(log_half_widths.median())
    return {"n": len(log_errors)} | {name: float(100 * value) for name, value in zip(names, values, strict=True)}


def weighted_quantile(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return the value below which `level` of the weight lies."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulative, level * cumulative[-1])])
