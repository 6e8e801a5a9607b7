"""Fitted models as `.npz` files without pickles; equal arrays give equal bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from profet_core.fitted.dense import DenseStack
from profet_core.fitted.trees import TreeStack

Fitted: TypeAlias = DenseStack | TreeStack

_WHOLE = "iu"
_REAL = "f"


def written(fitted: Fitted) -> bytes:
    """Serialize `fitted`: weights unchanged, tables of nodes in the smallest lossless types."""
    arrays = _trees_arrays(fitted) if isinstance(fitted, TreeStack) else _dense_arrays(fitted)
    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays)
    return data.getvalue()


def read_fitted(data: bytes) -> Fitted:
    """Deserialize a file.

    Raises
    ------
    ValueError : the content is not a fitted model.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return _trees(arrays) if "roots" in arrays else _dense(arrays)
    except (ValueError, LookupError, EOFError, TypeError, AttributeError, OSError, zipfile.BadZipFile) as error:
        raise ValueError("not a file of fitted arrays") from error


def _dense_arrays(stack: DenseStack) -> dict[str, np.ndarray]:
    arrays = {"activation": np.array(stack.activation)}
    for layer, (kernel, bias) in enumerate(zip(stack.kernels, stack.biases, strict=True)):
        arrays |= {f"kernel_{layer}": _little_endian(kernel), f"bias_{layer}": _little_endian(bias)}
    return arrays


def _dense(arrays: Mapping[str, np.ndarray]) -> DenseStack:
    layers = range((len(arrays) - 1) // 2)
    return DenseStack(
        kernels=[_of_kind(arrays[f"kernel_{layer}"], _REAL) for layer in layers],
        biases=[_of_kind(arrays[f"bias_{layer}"], _REAL) for layer in layers],
        activation=str(arrays["activation"]),
    )


def _trees_arrays(stack: TreeStack) -> dict[str, np.ndarray]:
    return {
        "roots": _smallest(stack.roots),
        "features": _smallest(stack.features),
        "steps": _smallest(stack.steps),
        "numbers": _smallest(stack.numbers),
        "inputs": _smallest(np.array(stack.inputs)),
    }


def _trees(arrays: Mapping[str, np.ndarray]) -> TreeStack:
    return TreeStack(
        roots=_of_kind(arrays["roots"], _WHOLE),
        features=_of_kind(arrays["features"], _WHOLE),
        steps=_of_kind(arrays["steps"], _WHOLE),
        numbers=_of_kind(arrays["numbers"], _REAL).astype(float),
        inputs=int(arrays["inputs"]),
    )


def _of_kind(array: np.ndarray, kinds: str) -> np.ndarray:
    if array.dtype.kind not in kinds:
        raise ValueError(f"an array of {array.dtype}")
    return array


def _smallest(array: np.ndarray) -> np.ndarray:
    """`array` in the smallest type of its kind that holds every value exactly."""
    if array.dtype.kind == _REAL:
        single = array.astype("<f4")
        return single if np.array_equal(single, array) else array.astype("<f8")
    return array.astype(next(kind for kind in ("<u2", "<i4", "<i8") if _holds(kind, array)))


def _little_endian(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder("<"))


def _holds(kind: str, array: np.ndarray) -> bool:
    limits = np.iinfo(kind)
    return bool(array.min() >= limits.min and array.max() <= limits.max)
