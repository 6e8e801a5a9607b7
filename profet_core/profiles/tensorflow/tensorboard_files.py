"""Names the files of a TensorBoard folder that hold no operation's times, and says which of them to upload instead."""

from __future__ import annotations

import re

_INSTEAD = "upload the xplane.pb, trace.json.gz or tensorflow_stats.pb beside it."

#: Types of messages that only one of these files holds, by the texts that TensorFlow writes for them.
_MESSAGES = (
    (b"tensorflow.profiler.GenericRecommendation", "overview_page.pb, advice without the times of operations"),
    (b"tensorflow.profiler.GenericStepTimeBreakdown", "input_pipeline.pb, times of whole steps"),
    (b"tensorflow.profiler.PerGenericStepDetails", "input_pipeline.pb, times of whole steps"),
    (b"tensorflow.profiler.BottleneckAnalysis", "input_pipeline.pb, times of whole steps"),
)
_MEMORY = re.compile(rb'\s*\{\s*"(?:memoryProfilePerAllocator|numHosts|memoryIds)"')
_POD = re.compile(rb'\s*\{\s*"(?:podStatsSequence|podStatsMap|deviceType)"')
#: A list of messages, each of which opens with a kernel's name and goes on with its numbers.
_KERNEL = re.compile(rb"\x0a[\x80-\xff]?[\x01-\x7f]\x0a([\x80-\xff]?[\x01-\x7f])")


def refused_sibling(head: bytes) -> str:
    """One line that says what a file is that TensorFlow's profiler writes beside a trace; empty if it is none.

    Parameters
    ----------
    head : the first bytes of the file, unpacked.
    """
    if head[:1] in (b"\x0a", b"\x12", b"\x1a", b"\x22", b"\x2a", b"\x32"):
        for text, what in _MESSAGES:
            if text in head:
                return f"This is TensorFlow's {what}: {_INSTEAD}"
        if _opens_with_kernel(head):
            return f"This is TensorFlow's kernel_stats.pb, kernels of single operations without the step: {_INSTEAD}"
    if _MEMORY.match(head):
        return f"This is TensorFlow's memory profile, which holds no times: {_INSTEAD}"
    if _POD.match(head):
        return f"This is TensorFlow's pod_viewer.json, times of whole steps: {_INSTEAD}"
    return ""


def _opens_with_kernel(head: bytes) -> bool:
    found = _KERNEL.match(head)
    if found is None:
        return False
    length = found[1]
    end = found.end() + (length[0] & 0x7F) + (length[1] << 7 if len(length) > 1 else 0)
    # The registers of a thread, or the memory of a block, follow.
    return head[found.end() : end].isascii() and head[end : end + 1] in (b"\x10", b"\x18")
