"""ONNX sessions: one runtime serves every member."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnxruntime


@dataclass(frozen=True)
class MemberStack:
    """One member of the default method for every target of an anchor, in one session.

    Attributes
    ----------
    targets : instances, in the order of the first axis of all arrays.
    constants, typical_log_ratio : as `stacks.member_latency` takes them.
    """

    targets: tuple[str, ...]
    session: onnxruntime.InferenceSession
    constants: np.ndarray
    typical_log_ratio: np.ndarray

    def run(self, seen: np.ndarray) -> np.ndarray:
        """Raw answers, (profiles, inputs) -> (targets, profiles, outputs)."""
        return np.asarray(self.session.run(None, {"inputs": seen.astype(np.float32)})[0], float)


def open_session(data: bytes) -> onnxruntime.InferenceSession:
    """The session of a network in ONNX, on one thread of the CPU."""
    options = onnxruntime.SessionOptions()
    # One thread: members are tiny, and a pool per session costs more memory and start-up than it saves.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
