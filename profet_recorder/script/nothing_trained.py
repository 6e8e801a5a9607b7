"""Says why a script's training is not recorded, and what to do, for whichever framework it uses."""

from __future__ import annotations

import sys

#: Modules that start the training in other processes.
LAUNCHERS = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})
#: Seconds of a child process' work from which on it may have trained: importing a framework takes as long.
_CHILD_WORK_S = 1.0


def why_nothing_trained(script: str) -> str:
    """One line, at the end of a script in which no training step was seen."""
    return f"{_way_out(script)} Nothing was recorded."


def _way_out(script: str) -> str:
    if _has_worked_in_children():
        return (
            f"{script} itself made no training step, its child processes may have: start each of them with profet, "
            f"torchrun --no-python --nproc-per-node N profet profile {script}, or put profet_recorder.record_step "
            "around the loop of the function that mp.spawn or multiprocessing starts."
        )
    if "torch" in sys.modules:
        return (
            f"{script} imported PyTorch, but no optimizer of torch.optim made a step and no backward() ran: put "
            "profet_recorder.record_steps around its loader."
        )
    # Whoever trains with JAX may load their data with TensorFlow.
    if {"keras", "tf_keras"} & set(sys.modules) or ("tensorflow" in sys.modules and "jax" not in sys.modules):
        return (
            f"{script} called neither Keras' fit nor train_on_batch, and took no gradients with tf.GradientTape: put "
            "profet_recorder.record_step around its training loop."
        )
    if "jax" in sys.modules:
        return (
            f"{script} uses JAX, whose steps can't be recorded: XLA fuses all of their operations. Record the same "
            "network's step with Keras or PyTorch."
        )
    return f"{script} used neither Keras nor PyTorch."


def _has_worked_in_children() -> bool:
    multiprocessing = sys.modules.get("multiprocessing")
    living = multiprocessing.active_children() if multiprocessing is not None else []
    if any(process.name.startswith("SpawnProcess") for process in living):
        return True
    try:
        import resource
    except ImportError:
        # Windows.
        return False
    worked = resource.getrusage(resource.RUSAGE_CHILDREN)
    return worked.ru_utime + worked.ru_stime >= _CHILD_WORK_S
