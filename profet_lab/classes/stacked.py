"""Trains the default method's networks: every pair and fold of one member at once, as stacked matrices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import tensorflow as tf

from profet_core.networks.members import (
    CLASS_RATIO,
    HOMOGENEOUS,
    class_latencies,
    network_inputs,
    network_latency,
    outputs_of,
)
from profet_core.networks.stacks import StepInputs, member_latency
from profet_core.operations.classes import IDLE_CLASS
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.jobs import MemberJob

STEPS = 1_000
ROWS_PER_STEP = 32
PEAK_RATE, WEIGHT_DECAY = 3e-3, 0.01
HIDDEN = (64, 32)


@dataclass(frozen=True)
class Recipe:
    """How one member is trained.

    Attributes
    ----------
    activation : of the hidden layers. dropout : share of hidden values dropped while training.
    composed : share of the training samples that are two workloads run one after the other.
    standardised : inputs are shifted and scaled by their training rows' mean and deviation (plus `softening`).
    output_scale : initial size of the last layer's weights.
    """

    activation: str
    dropout: float
    composed: float
    standardised: bool
    output_scale: float
    softening: float = 1e-2


RECIPES = {
    HOMOGENEOUS: Recipe("relu", 0.0, 0.0, False, 1.0),
    CLASS_RATIO: Recipe("silu", 0.2, 0.3, True, 0.1),
}


@dataclass(frozen=True)
class StackedNetworks:
    """Trained networks of one member, standardisation folded into the first layer.

    Attributes
    ----------
    kernels, biases : per layer (networks, inputs, outputs) and (networks, 1, outputs).
    constants : (networks, 1, ...), as `members.network_latency` takes them.
    typical_log_ratio : (networks,). unseen : (networks, classes).
    """

    member: str
    kernels: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    constants: np.ndarray
    typical_log_ratio: np.ndarray
    unseen: np.ndarray

    def run(self, network: int, seen: np.ndarray) -> np.ndarray:
        """One network's raw answer, (rows, inputs) -> (1, rows, outputs)."""
        value = seen
        for layer, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            value = value @ kernel[network] + bias[network]
            if layer < len(self.kernels) - 1:
                value = (
                    np.maximum(value, 0) if RECIPES[self.member].activation == "relu" else value / (1 + np.exp(-value))
                )
        return value[None]

    def predict(self, network: int, inputs: StepInputs, device_classes: int) -> np.ndarray:
        """One network's latency on its target, milliseconds (rows,)."""
        only = slice(network, network + 1)
        return member_latency(
            self.member,
            lambda seen: self.run(network, seen),
            inputs,
            device_classes,
            self.constants[only],
            self.typical_log_ratio[only],
        )[0]


def fit_networks(
    bank: ClassBank,
    member: str,
    jobs: Sequence[MemberJob],
    *,
    latency_known: bool,
    sizes_known: bool,
    seed: int,
    steps: int = STEPS,
    progress: Callable[[int], object] | None = None,
) -> StackedNetworks:
    """Train one network per job, all together; each sees its own rows alone."""
    recipe, device = RECIPES[member], bank.device_classes
    prepared = [_prepare(bank, member, job, latency_known, sizes_known, recipe) for job in jobs]
    mean, deviation, constants, typical, unseen = (np.stack(part) for part in zip(*prepared, strict=True))
    layers = _initial_layers(len(jobs), (mean.shape[-1], *HIDDEN, outputs_of(member, device)), recipe, seed)
    optimizer = keras.optimizers.AdamW(OneCycle(PEAK_RATE, steps), weight_decay=WEIGHT_DECAY)
    variables = [value for layer in layers for value in layer]
    optimizer.build(variables)
    sample = _sampler(bank, jobs, latency_known, sizes_known, recipe, seed)
    activation = keras.activations.get(recipe.activation)
    shift, scale, fixed = (tf.constant(value, tf.float32) for value in (mean, deviation, constants))

    # Compiled, the class-ratio network's many small sums run slower than TensorFlow's own kernels.
    @tf.function(jit_compile=member == HOMOGENEOUS)
    def step(number):
        classes, latency, size, wanted, wanted_classes, kept = sample(number)
        value = (network_inputs(keras.ops, member, classes, device, latency, size) - shift) / scale
        with tf.GradientTape() as tape:
            for layer, (kernel, bias) in enumerate(layers):
                value = tf.matmul(value, kernel) + bias
                if layer < len(layers) - 1:
                    value = activation(value)
                    value = value * kept[layer] if recipe.dropout else value
            answer = network_latency(keras.ops, member, value, classes, device, latency, fixed)
            loss = tf.abs(answer / wanted - 1) if member == HOMOGENEOUS else _log_error(answer, wanted, 0.05)
            if member == CLASS_RATIO:
                said = class_latencies(keras.ops, value, classes, device, fixed)
                loss += _class_loss(bank, said, classes, wanted_classes)
            # Mean over the rows, sum over the networks: no network's gradient depends on another's.
            total = tf.reduce_sum(tf.reduce_mean(loss, axis=1))
        optimizer.apply_gradients(zip(tape.gradient(total, variables), variables, strict=True))

    for number in range(steps):
        step(tf.constant(number))
        if progress and (number + 1) % 50 == 0:
            progress(50)
    kernels, biases = ([np.asarray(layer[part], np.float64) for layer in layers] for part in (0, 1))
    kernels[0] = kernels[0] / np.swapaxes(deviation, 1, 2)
    biases[0] = biases[0] - mean @ kernels[0]
    return StackedNetworks(member, tuple(kernels), tuple(biases), constants, typical, unseen)


def _prepare(bank: ClassBank, member: str, job: MemberJob, latency_known: bool, sizes_known: bool, recipe: Recipe):
    """Standardisation (1, inputs) twice, the pair's constants (1, ...), typical ratio and unseen classes."""
    unseen = bank.unseen(job.anchor, job.rows)
    inputs = bank.inputs[job.anchor, latency_known]
    classes = np.where(unseen, 0.0, inputs.classes_ms[job.rows])
    latency = inputs.latency_ms[job.rows] if latency_known else None
    seen = network_inputs(
        np, member, classes, bank.device_classes, latency, inputs.sizes[job.rows] if sizes_known else None
    )
    mean, deviation = np.zeros((1, seen.shape[1])), np.ones((1, seen.shape[1]))
    if recipe.standardised:
        mean, deviation = seen.mean(axis=0, keepdims=True), seen.std(axis=0, keepdims=True)
        deviation = np.where(deviation < 1e-5, 1.0, deviation + recipe.softening)
    ratios, typical = bank.log_ratios(job.anchor, job.target, job.rows, latency_known)
    constants = ratios[None] if member == CLASS_RATIO else np.zeros((1, 1))
    return mean, deviation, constants, typical, unseen


def _sampler(
    bank: ClassBank, jobs: Sequence[MemberJob], latency_known: bool, sizes_known: bool, recipe: Recipe, seed: int
):
    """A function of the step's number that draws each network's rows, some of them two workloads in one."""
    names = list(bank.latency_ms)
    count, device = len(bank.architectures), bank.device_classes
    classes = np.concatenate([bank.inputs[name, latency_known].classes_ms for name in names])
    goal_classes = np.concatenate([bank.inputs[name, True].classes_ms[:, :device] for name in names])
    latency = np.concatenate([bank.latency_ms[name] for name in names])[:, None]
    longest = max(int(job.rows.sum()) for job in jobs)
    own = np.zeros((len(jobs), longest), np.int32)
    for number, job in enumerate(jobs):
        rows = np.flatnonzero(job.rows)
        own[number] = np.resize(rows, longest)
    lengths = np.array([[job.rows.sum()] for job in jobs], np.float32)
    anchor, target = (
        np.array([[names.index(getattr(job, end)) * count] for job in jobs], np.int32) for end in ("anchor", "target")
    )
    banks = [tf.constant(table, tf.float32) for table in (classes, goal_classes, latency, bank.sizes)]
    shape = (len(jobs), ROWS_PER_STEP)

    def draw(key):
        chosen = tf.cast(tf.random.stateless_uniform(shape, key) * lengths, tf.int32)
        rows = tf.gather(tf.constant(own), chosen, batch_dims=1)
        here, there = rows + anchor, rows + target
        return (
            tf.gather(banks[0], here),
            tf.gather(banks[2], here),
            tf.gather(banks[2], there),
            tf.gather(banks[1], there),
            rows,
        )

    def kept(number):
        """What dropout multiplies each hidden layer by: 0, or 1 over the share that is kept."""
        masks = [
            tf.random.stateless_uniform((*shape, width), [seed + 4 + layer, number]) > recipe.dropout
            for layer, width in enumerate(HIDDEN if recipe.dropout else ())
        ]
        return [tf.cast(mask, tf.float32) / (1 - recipe.dropout) for mask in masks]

    def sample(number):
        profile, known, wanted, wanted_classes, rows = draw([seed, number])
        sizes = tf.gather(banks[3], rows) if sizes_known else None
        if recipe.composed:
            other, other_known, other_wanted, other_classes, _ = draw([seed + 1, number])
            both = tf.cast(tf.random.stateless_uniform(shape, [seed + 2, number]) < recipe.composed, tf.float32)
            # The second workload weighs about as much as the first, give or take a factor e.
            weight = (
                (both * tf.exp(tf.random.stateless_normal(shape, [seed + 3, number])))[..., None]
                * wanted
                / other_wanted
            )
            profile, known = profile + weight * other, known + weight * other_known
            wanted, wanted_classes = wanted + weight * other_wanted, wanted_classes + weight * other_classes
        return profile, known if latency_known else None, sizes, wanted, wanted_classes, kept(number)

    return sample


def _initial_layers(networks: int, widths: Sequence[int], recipe: Recipe, seed: int):
    """Per layer a kernel (networks, inputs, outputs), Glorot uniform for one network's matrix, and a zero bias."""
    random = np.random.default_rng(seed)
    layers = []
    for number, (wide, narrow) in enumerate(pairwise(widths)):
        limit = np.sqrt(6 / (wide + narrow)) * (recipe.output_scale if number == len(widths) - 2 else 1.0)
        # The same start for every network of the stack: none depends on how many others there are.
        kernel = np.repeat(random.uniform(-limit, limit, (1, wide, narrow)), networks, axis=0)
        layers.append(
            (keras.Variable(kernel, dtype="float32"), keras.Variable(np.zeros((networks, 1, narrow)), dtype="float32"))
        )
    return layers


def _log_error(answer, wanted, bend: float):
    """Absolute log ratio, rounded off quadratically below `bend`."""
    error = tf.abs(tf.math.log(tf.maximum(answer, 1e-3)) - tf.math.log(wanted))
    return tf.where(error < bend, error**2 / (2 * bend), error - bend / 2)


def _class_loss(bank: ClassBank, classes, here, wanted):
    """Error of the class times on the target, weighted by their share; idle time is nobody's to predict."""
    device = bank.device_classes
    here = here[..., :device]
    kept = np.ones(device, np.float32)
    kept[bank.classes.names.index(IDLE_CLASS)] = 0.0
    shares = wanted / tf.reduce_sum(wanted, -1, keepdims=True) * here / tf.reduce_sum(here, -1, keepdims=True)
    present = tf.cast((wanted > 5e-4) & (here > 5e-4), tf.float32)
    # Shares of absent classes are 0, where the root has no gradient; none is needed, both are data.
    weight = tf.stop_gradient(tf.sqrt(shares) * kept * present)
    error = _log_error(classes, tf.maximum(wanted, 5e-5), 0.1)
    return tf.reduce_sum(weight * error, axis=-1, keepdims=True)


class OneCycle(keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 1/25 of the peak over 30 % of the steps and falls to nearly 0, both along a cosine."""

    def __init__(self, peak: float, steps: int) -> None:
        self.peak, self.steps = peak, steps

    def __call__(self, step):
        """The rate at a step."""
        done = tf.cast(step, tf.float32) / max(self.steps - 1, 1)
        rise = _cosine(self.peak / 25, self.peak, tf.minimum(done / 0.3, 1.0))
        fall = _cosine(self.peak, self.peak / 250_000, tf.clip_by_value((done - 0.3) / 0.7, 0.0, 1.0))
        return tf.where(done < 0.3, rise, fall)


def _cosine(start: float, end: float, done):
    return end + (start - end) / 2 * (1 + tf.cos(np.pi * done))
