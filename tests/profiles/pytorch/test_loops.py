"""Steps of the loops that people write, profiled by PyTorch on the CPU, and of traces of a GPU that are odd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from profet_core import read_profile
from profet_profiles.pytorch_steps import usual_steps
from profet_profiles.record import ACCUMULATED, PADDLE_WARNING, REPEATED_UPDATES, TRANSLATED_WARNING
from tests.recorder.runs import PYTHONPATH, needs

#: Made-up traces of nine convolutions on a T4: where they are sound, steps of 90.3 ms with 64 images of 224 pixels.
ODD = Path(__file__).parent / "odd"
SCRIPT = Path(__file__).parents[2] / "made" / "torch_loops.py"


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """The folder of all traces, which a process of its own records."""
    folder = tmp_path_factory.mktemp("loops")
    command = [sys.executable, str(SCRIPT), str(folder)]
    subprocess.run(command, env={"PYTHONPATH": PYTHONPATH, "CUDA_VISIBLE_DEVICES": ""}, capture_output=True, check=True)
    return folder


#: Loop -> steps with and without marks, batch size, pixels, and what is warned of.
LOOPS = {
    "amp": (6, 6, 8, 32, None),
    "three branches, amp": (6, 6, 8, 32, None),
    "last batch": (6, 6, 8, 32, None),
    "growing images": (6, 6, 8, 48, None),
    "other sizes": (6, 6, 8, 54, None),
    "validation": (6, 6, 8, 32, None),
    "accumulation": (6, 6, 16, 32, ACCUMULATED),
    "accumulation, amp": (6, 6, 16, 32, ACCUMULATED),
    "checkpoints": (6, 6, 8, 32, None),
    "reentrant checkpoints": (6, 6, 8, 32, None),
    "epochs": (30, 30, 8, 32, None),
    "epochs with validation": (30, 30, 8, 32, None),
    "gan": (6, 6, 8, 32, None),
    "gan, amp": (6, 6, 8, 32, None),
    "gan, two rounds": (12, 12, 8, 32, None),
    "wgan": (6, 6, 8, 32, REPEATED_UPDATES),
    "cycle gan": (6, 6, 8, 32, None),
    "teacher": (6, 6, 8, 32, None),
    "crops": (6, 6, 8, 32, None),
    "siamese": (6, 6, 8, 32, None),
    "sam": (6, 6, 8, 32, None),
    "closure": (6, 6, 8, 32, None),
    "lbfgs": (6, 6, 8, 32, None),
    "two losses": (6, 6, 8, 32, None),
    "two optimizers": (6, 6, 8, 32, None),
}
#: A mark is around a part of what counts as a step without marks: the same, for each of both.
PARTS = {
    "marks within accumulation": ((6, 4, None), (2, 12, ACCUMULATED)),
    "wgan, marks within": ((6, 8, None), (2, 8, REPEATED_UPDATES)),
}
#: Steps that are left out, as some are of another batch, size or work.
LEFT_OUT = {
    "last batch": ("1 of 6 steps with a batch other than 8",) * 2,
    "growing images": ("2 of 6 steps with images other than 48 x 48 pixels",) * 2,
    # Without a mark it is ahead of the next step, which begins with its batch.
    "validation": ("1 of 6 steps with more or less work than the others", "1 of 6 steps with a batch other than 8"),
    "epochs": ("6 of 30 steps with a batch other than 8",) * 2,
}


@needs("torch")
@pytest.mark.parametrize("name", [*LOOPS, *PARTS])
def test_steps_batch_and_warnings_of_a_loop_are_right_with_and_without_marks(traces, name):
    marked_steps, plain_steps, batch, pixels, note = LOOPS.get(name, (0, 0, 0, 32, None))
    marked, plain = PARTS.get(name, ((marked_steps, batch, note), (plain_steps, batch, note)))
    for index, (kind, (steps, batch_size, warned)) in enumerate((("marked", marked), ("plain", plain))):
        profile = read_profile(traces / f"{name}.{kind}")
        assert (profile.steps, profile.meta.batch_size, profile.meta.pixels) == (steps, batch_size, pixels), kind
        assert profile.warnings == tuple(filter(None, (TRANSLATED_WARNING, warned))), kind
        left_out = [note for note in profile.ignored if " steps with " in note]
        assert left_out == [LEFT_OUT[name][index]] if name in LEFT_OUT else "validation" in name or not left_out


@needs("torch")
def test_every_loop_is_expected(traces):
    assert {path.stem for path in traces.iterdir()} == {*LOOPS, *PARTS}


@pytest.mark.parametrize(
    ("name", "steps", "step_ms", "warning", "left_out"),
    [
        ("14_smaller_last_batch.pt", 3, 90.3, "", "1 of 3 steps with a batch other than 64"),
        ("14d_smaller_last_batch_no_shapes.pt", 3, 90.3, "", "1 of 3 steps with more or less work than the others"),
        (
            *("13_one_mark_around_5_steps.pt", 5, 90.3, ""),
            "1 ProfilerStep mark, around several steps each: steps are counted by updates",
        ),
        ("10_activation_checkpointing.pt", 3, 120.7, "", ""),
        ("03_dataparallel_two_gpus", 3, 45.4, "This step ran on several GPUs", ""),
        ("01_merged_ranks_same_device", 3, 90.4, "", ""),
        ("06_paddle.paddle", 3, 90.3, "", ""),
    ],
)
def test_odd_traces_of_a_gpu_give_a_usual_step_without_a_false_warning(name, steps, step_ms, warning, left_out):
    (path,) = ODD.glob(f"{name}*")
    profile = read_profile(path)
    assert (profile.steps, profile.refusal) == (steps, "")
    assert profile.device_total_us / 1000 == pytest.approx(step_ms, rel=0.002)
    first, framework = (PADDLE_WARNING, "PaddlePaddle") if "paddle" in name else (TRANSLATED_WARNING, "PyTorch")
    assert (profile.warnings[0], profile.meta.framework) == (first, framework)
    assert [line[: len(warning)] for line in profile.warnings[1:]] == [warning] * bool(warning)
    notes = [note for note in profile.ignored if " steps" in note]
    assert notes == [left_out] * bool(left_out)


def image(batch: int, pixels: int = 224) -> tuple[int, int, int, int]:
    return batch, 3, pixels, pixels


STEPS = {
    "alike": ([None] * 3, [1, 1, 1], [90, 91, 89], [1, 1, 1], [0, 1, 2], {}),
    "two batches": ([image(64), image(8)], [1, 1], [90, 11], [1, 1], [0], {"batch": 1}),
    "a batch without images": ([image(64), None, image(64)], [1, 1, 1], [9, 9, 9], [1, 1, 1], [0, 2], {"batch": 1}),
    "two sizes, half each": (
        [image(8, side) for side in (128, 128, 224, 224)], [1] * 4, [3, 3, 9, 9], [1] * 4, [2, 3], {"size": 2},
    ),
    "each another size": ([image(2, side) for side in (600, 700, 800)], [1] * 3, [6, 7, 9], [1] * 3, [0, 1, 2], {}),
    "sizes and a smaller batch": (
        [image(2, 600), image(2, 700), image(2, 800), image(1, 750)], [1] * 4, [6, 7, 9, 4], [1] * 4,
        [0, 1, 2], {"batch": 1},
    ),
    "smaller, no shapes": ([None] * 3, [1, 1, 1], [90, 90, 11], [5, 5, 5], [0, 1], {"work": 1}),
    "two, the last one smaller": ([None] * 2, [1, 1], [90, 11], [500, 502], [0], {"work": 1}),
    "two, the first one tries kernels": ([None] * 2, [1, 1], [180, 90], [900, 500], [1], {"work": 1}),
    "start-up, and a smaller batch": ([None] * 4, [1] * 4, [180, 90, 90, 11], [9, 5, 5, 5], [1, 2], {"work": 2}),
    "a mark for each accumulated batch": ([image(4)] * 4, [0, 0, 0, 1], [10, 10, 10, 10], [5] * 4, [0, 1, 2, 3], {}),
    "a generator every third time": (
        [None] * 6, [1, 1, 2] * 2, [9, 9, 20] * 2, [5] * 6, [0, 1, 2, 3, 4, 5], {},
    ),
    "nothing alike": ([None] * 5, [1] * 5, [10, 20, 40, 80, 160], [5] * 5, [0, 1, 2, 3, 4], {}),
}  # fmt: skip


@pytest.mark.parametrize("case", STEPS)
def test_steps_unlike_the_others_are_left_out(case):
    images, updates, work, kernels, kept, differ = STEPS[case]
    usual, differences = usual_steps(images, np.array(updates), np.array(work, float), np.array(kernels, float))
    assert (np.flatnonzero(usual).tolist(), differences) == (kept, differ)
