"""Train the default method's members: networks, all pairs and folds at once as stacked matrices, and boosted trees."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import lightgbm
import numpy as np
from msgspec import Struct

from profet_core.ensemble.members import (
    CLASS_RATIO,
    HOMOGENEOUS,
    TREES,
    DenseStack,
    StepInputs,
    class_latencies,
    member_latency,
    network_inputs,
    network_latency,
    outputs_of,
    step_scale,
)
from profet_core.ensemble.operations import IDLE_CLASS
from profet_lab.measurements.tables import ClassBank, Pair
from profet_lab.tasks import Progress

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import tensorflow as tf

#: A class that takes time in less than this share of a fold's training profiles is unseen to it.
SEEN_SHARE = 0.002
#: A class ratio counts where the class takes at least this share of the device time (or of 7.5 ms, if less) ...
RATIO_SHARE, RATIO_TOTAL_MS = 0.02, 7.5
#: ... and is a median over at least this many profiles; else the typical ratio stands in.
RATIO_ROWS = 20


class PairTraining(Struct, frozen=True):
    """Training data of one model: a pair, from some rows of the measurements.

    Attributes
    ----------
    rows : boolean mask.
    latency_known, sizes_known : what the model sees of a profile besides its operations.
    """

    anchor: str
    target: str
    rows: np.ndarray
    latency_known: bool
    sizes_known: bool = False

    @property
    def pair(self) -> Pair:
        """Anchor and target."""
        return self.anchor, self.target

    def unseen(self, bank: ClassBank) -> np.ndarray:
        """Device classes that the anchor's profiles never have, boolean (classes,)."""
        seen = (bank.inputs[self.anchor, True].classes_ms[self.rows] > 0).mean(axis=0) > SEEN_SHARE
        seen[bank.device_classes :] = True
        return ~seen

    def log_ratios(self, bank: ClassBank) -> tuple[np.ndarray, float]:
        """Median log ratio of target to anchor time of each device class, and the typical one."""
        profiles = bank.inputs[self.anchor, self.latency_known], bank.inputs[self.target, True]
        here, there = (inputs.classes_ms[self.rows][:, : bank.device_classes] for inputs in profiles)
        least = RATIO_SHARE * np.minimum(here.sum(axis=1, keepdims=True), RATIO_TOTAL_MS)
        counts = (here > least) & (there > 5e-4)
        logs = np.where(counts, np.log(np.maximum(there, 5e-5) / np.maximum(here, 5e-5)), np.nan)
        enough = counts.sum(axis=0) >= RATIO_ROWS
        medians = np.full(bank.device_classes, np.nan)
        medians[enough] = np.nanmedian(logs[:, enough], axis=0)
        typical = float(np.nanmedian(medians)) if enough.any() else 0.0
        return np.where(enough, medians, typical), typical


class Recipe(Struct, frozen=True):
    """How one member is trained.

    Attributes
    ----------
    activation : of the hidden layers.
    dropout : share of hidden values dropped while training.
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


class MemberModels(Struct, frozen=True):
    """Models of one member, each of a pair and its training rows: networks or boosted trees.

    Attributes
    ----------
    constants : (models, 1, ...), as `members.network_latency` takes them.
    typical_log_ratio : (models,).
    unseen : (models, classes).
    kernels, biases : per layer (models, inputs, outputs) and (models, 1, outputs), with the standardization.
    trees : by model: class shares -> log of the latency over the typical one.
    """

    member: str
    constants: np.ndarray
    typical_log_ratio: np.ndarray
    unseen: np.ndarray
    kernels: tuple[np.ndarray, ...] = ()
    biases: tuple[np.ndarray, ...] = ()
    trees: tuple[lightgbm.Booster, ...] = ()

    def run(self, model: int, inputs: np.ndarray) -> np.ndarray:
        """One model's raw output, (rows, inputs) -> (1, rows, outputs)."""
        if self.trees:
            return np.asarray(self.trees[model].predict(inputs))[None, :, None]
        only = slice(model, model + 1)
        kernels, biases = ([layer[only] for layer in layers] for layers in (self.kernels, self.biases))
        return DenseStack(kernels, biases, RECIPES[self.member].activation).run(inputs)

    def predict(self, model: int, inputs: StepInputs, device_classes: int) -> np.ndarray:
        """One model's latency on its target, milliseconds (rows,)."""
        constants, typical = (values[model : model + 1] for values in (self.constants, self.typical_log_ratio))
        run = partial(self.run, model)
        return member_latency(self.member, run, inputs, device_classes, constants, typical)[0]


def _training_inputs(
    bank: ClassBank, member: str, training: PairTraining, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Return inputs, class times and latency of some rows, (rows, ...), and classes unseen in training, (classes,)."""
    unseen, inputs = training.unseen(bank), bank.inputs[training.anchor, training.latency_known]
    classes = np.where(unseen, 0.0, inputs.classes_ms[rows])
    latency = None if inputs.latency_ms is None else inputs.latency_ms[rows]
    sizes = bank.sizes[rows] if training.sizes_known else None
    return network_inputs(np, member, classes, bank.device_classes, latency, sizes), classes, latency, unseen


class StepRows(NamedTuple):
    """Rows of one step, for every network its own; tensors (networks, rows, ...), milliseconds.

    Attributes
    ----------
    classes, latency : of the anchor's profiles, (..., classes) and (..., 1); the latter None if it is not known.
    sizes : (..., 2), None if they are not known.
    target_latency, target_classes : what is learned, (..., 1) and (..., device classes).
    """

    classes: tf.Tensor
    latency: tf.Tensor | None
    sizes: tf.Tensor | None
    target_latency: tf.Tensor
    target_classes: tf.Tensor


class RowSampler:
    """Draws each network's rows from those it may learn from, some of them two workloads run one after the other.

    Attributes
    ----------
    composed : the share of these.
    """

    def __init__(self, bank: ClassBank, trainings: Sequence[PairTraining], composed: float, seed: int) -> None:
        self.shape = (len(trainings), ROWS_PER_STEP)
        latency_known = trainings[0].latency_known
        self._latency_known, self._sizes_known = latency_known, trainings[0].sizes_known
        self._composed, self._seed = composed, seed
        names, count = list(bank.latency_ms), len(bank.architectures)
        classes = np.concatenate([bank.inputs[name, latency_known].classes_ms for name in names])
        device_ms = np.concatenate([bank.inputs[name, True].classes_ms[:, : bank.device_classes] for name in names])
        latency = np.concatenate([bank.latency_ms[name] for name in names])[:, None]
        self._classes, self._device_classes, self._latency, self._sizes = (
            tf.constant(table, tf.float32) for table in (classes, device_ms, latency, bank.sizes)
        )
        # Each network's rows, repeated to the longest, (networks, longest), and how many, (networks, 1).
        self._lengths = np.array([[training.rows.sum()] for training in trainings], np.float32)
        longest = int(self._lengths.max())
        rows = [np.resize(np.flatnonzero(training.rows), longest) for training in trainings]
        self._rows_by_network = np.stack(rows).astype(np.int32)
        # All instances' rows lie in one table, one instance after the other.
        self._anchor, self._target = (
            np.array([[names.index(getattr(training, end)) * count] for training in trainings], np.int32)
            for end in ("anchor", "target")
        )

    def rows(self, number: tf.Tensor) -> StepRows:
        """Return the rows of a step."""
        drawn, row = self._draw([self._seed, number])
        if self._composed:
            drawn = self._with_second(drawn, number)
        return drawn._replace(
            latency=drawn.latency if self._latency_known else None,
            sizes=tf.gather(self._sizes, row) if self._sizes_known else None,
        )

    def _draw(self, key: Sequence[int | tf.Tensor]) -> tuple[StepRows, tf.Tensor]:
        """Rows without their sizes, and their numbers."""
        chosen = tf.cast(tf.random.stateless_uniform(self.shape, key) * self._lengths, tf.int32)
        row = tf.gather(tf.constant(self._rows_by_network), chosen, batch_dims=1)
        here, there = row + self._anchor, row + self._target
        drawn = StepRows(
            classes=tf.gather(self._classes, here),
            latency=tf.gather(self._latency, here),
            sizes=None,
            target_latency=tf.gather(self._latency, there),
            target_classes=tf.gather(self._device_classes, there),
        )
        return drawn, row

    def _with_second(self, first: StepRows, number: tf.Tensor) -> StepRows:
        """Return the rows, to some of which a second workload is added."""
        second, _ = self._draw([self._seed + 1, number])
        both = tf.cast(tf.random.stateless_uniform(self.shape, [self._seed + 2, number]) < self._composed, tf.float32)
        # The second workload weighs about as much as the first, give or take a factor e.
        weight = (
            (both * tf.exp(tf.random.stateless_normal(self.shape, [self._seed + 3, number])))[..., None]
            * first.target_latency
            / second.target_latency
        )
        return StepRows(
            classes=first.classes + weight * second.classes,
            latency=first.latency + weight * second.latency,
            sizes=None,
            target_latency=first.target_latency + weight * second.target_latency,
            target_classes=first.target_classes + weight * second.target_classes,
        )


STEPS = 1_000
ROWS_PER_STEP = 32
PEAK_RATE, WEIGHT_DECAY = 3e-3, 0.01
HIDDEN = (64, 32)
#: Progress is reported this often.
_STEPS_PER_REPORT = 50
#: A layer: kernel (networks, inputs, outputs) and bias (networks, 1, outputs).
Layer = tuple[keras.Variable, keras.Variable]


class OneCycle(keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 1/25 of the peak over 30 % of the steps and falls to nearly 0, both along a cosine."""

    def __init__(self, peak: float, steps: int) -> None:
        self.peak, self.steps = peak, steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Return the rate at a step."""
        done = tf.cast(step, tf.float32) / max(self.steps - 1, 1)
        rise = _cosine(self.peak / 25, self.peak, tf.minimum(done / 0.3, 1.0))
        fall = _cosine(self.peak, self.peak / 250_000, tf.clip_by_value((done - 0.3) / 0.7, 0.0, 1.0))
        return tf.where(done < 0.3, rise, fall)


def _cosine(start: float, end: float, done: tf.Tensor) -> tf.Tensor:
    return end + (start - end) / 2 * (1 + tf.cos(np.pi * done))


def fit_member(
    bank: ClassBank,
    member: str,
    trainings: Sequence[PairTraining],
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> MemberModels:
    """Return a model of the member for each training, which sees its own rows alone; the same is known of all profiles.

    `steps` is the networks' number, which are trained all together; progress counts every member as so many.
    """
    if member == TREES:
        trees = fit_trees(bank, trainings, seed)
        if progress:
            progress(steps)
        return trees
    recipe, device = RECIPES[member], bank.device_classes
    parts = [_prepare(bank, member, training) for training in trainings]
    mean, deviation, *fitted = (np.stack(part) for part in zip(*parts, strict=True))
    widths = (mean.shape[-1], *HIDDEN, outputs_of(member, device))
    layers = _initial_layers(len(trainings), widths, recipe, seed)
    optimizer = keras.optimizers.AdamW(OneCycle(PEAK_RATE, steps), weight_decay=WEIGHT_DECAY)
    variables = [value for layer in layers for value in layer]
    optimizer.build(variables)
    sampler = RowSampler(bank, trainings, recipe.composed, seed)
    shift, scale, constants = (tf.constant(value, tf.float32) for value in (mean, deviation, fitted[0]))

    # Compiled, the class-ratio network's many small sums run slower than TensorFlow's own kernels.
    @tf.function(jit_compile=member == HOMOGENEOUS)
    def step(number):
        rows = sampler.rows(number)
        masks = _dropout_masks(sampler.shape, recipe.dropout, seed, number)
        value = (network_inputs(keras.ops, member, rows.classes, device, rows.latency, rows.sizes) - shift) / scale
        with tf.GradientTape() as tape:
            raw = forward(layers, value, recipe.activation, masks)
            # Mean over the rows, sum over the networks: no network's gradient depends on another's.
            total = tf.reduce_sum(tf.reduce_mean(_loss(bank, member, raw, rows, constants), axis=1))
        optimizer.apply_gradients(zip(tape.gradient(total, variables), variables, strict=True))

    for number in range(steps):
        step(tf.constant(number))
        if progress and (number + 1) % _STEPS_PER_REPORT == 0:
            progress(_STEPS_PER_REPORT)
    kernels, biases = ([np.asarray(layer[part], np.float64) for layer in layers] for part in (0, 1))
    # Standardization is folded into the first layer.
    kernels[0] = kernels[0] / np.swapaxes(deviation, 1, 2)
    biases[0] = biases[0] - mean @ kernels[0]
    return MemberModels(member, fitted[0], fitted[1], fitted[2], tuple(kernels), tuple(biases))


def _prepare(
    bank: ClassBank, member: str, training: PairTraining
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, np.ndarray]:
    """Standardization (1, inputs) twice, the pair's constants (1, ...), typical ratio and unseen classes (classes,)."""
    rows, recipe = training.rows, RECIPES[member]
    table, _, _, unseen = _training_inputs(bank, member, training, rows)
    mean, deviation = np.zeros((1, table.shape[1])), np.ones((1, table.shape[1]))
    if recipe.standardised:
        mean, deviation = table.mean(axis=0, keepdims=True), table.std(axis=0, keepdims=True)
        deviation = np.where(deviation < 1e-5, 1.0, deviation + recipe.softening)
    ratios, typical = training.log_ratios(bank)
    constants = ratios[None] if member == CLASS_RATIO else np.zeros((1, 1))
    return mean, deviation, constants, typical, unseen


def _initial_layers(networks: int, widths: Sequence[int], recipe: Recipe, seed: int) -> list[Layer]:
    """Per layer a kernel, Glorot uniform for one network's matrix, and a zero bias."""
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


def _dropout_masks(shape: tuple[int, int], dropout: float, seed: int, number: tf.Tensor) -> list[tf.Tensor]:
    """Return dropout's factors for each hidden layer: 0, or 1 over the share that is kept. Empty: no dropout."""
    masks = [
        tf.random.stateless_uniform((*shape, width), [seed + 4 + layer, number]) > dropout
        for layer, width in enumerate(HIDDEN if dropout else ())
    ]
    return [tf.cast(mask, tf.float32) / (1 - dropout) for mask in masks]


def forward(
    layers: Sequence[Layer], inputs: tf.Tensor, activation: str, masks: Sequence[tf.Tensor] | None = None
) -> tf.Tensor:
    """Raw outputs, (networks, rows, outputs); `masks` : what dropout multiplies each hidden layer by."""
    value = inputs
    for layer, (kernel, bias) in enumerate(layers):
        value = tf.matmul(value, kernel) + bias
        if layer < len(layers) - 1:
            value = keras.activations.get(activation)(value)
            value = value * masks[layer] if masks else value
    return value


def _loss(bank: ClassBank, member: str, raw: tf.Tensor, rows: StepRows, constants: tf.Tensor) -> tf.Tensor:
    """Error of every row, (networks, rows, 1)."""
    device = bank.device_classes
    step_ms = step_scale(keras.ops, rows.classes, device, rows.latency)
    latency = network_latency(keras.ops, member, raw, rows.classes, step_ms, constants)
    if member == HOMOGENEOUS:
        return tf.abs(latency / rows.target_latency - 1)
    loss = _log_error(latency, rows.target_latency, 0.05)
    if member == CLASS_RATIO:
        classes = class_latencies(keras.ops, raw, rows.classes, device, constants)
        loss += _class_loss(bank, classes, rows.classes, rows.target_classes)
    return loss


def _log_error(predicted: tf.Tensor, wanted: tf.Tensor, bend: float) -> tf.Tensor:
    """Absolute log ratio, rounded off quadratically below `bend`."""
    error = tf.abs(tf.math.log(tf.maximum(predicted, 1e-3)) - tf.math.log(wanted))
    return tf.where(error < bend, error**2 / (2 * bend), error - bend / 2)


def _class_loss(bank: ClassBank, classes: tf.Tensor, here: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """Error of the class times on the target, weighted by their share, idle time excluded."""
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


ROUNDS = 200
#: Shallow and shrunk: 300 workloads are few.
PARAMETERS = {
    "objective": "regression_l1",
    "num_leaves": 8,
    "learning_rate": 0.05,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "feature_fraction": 0.5,
    "min_data_in_leaf": 20,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
}
#: The nine repeats of a workload are near-copies: so many of them are learned from.
REPEATS = 3


def fit_trees(bank: ClassBank, trainings: Sequence[PairTraining], seed: int, rounds: int = ROUNDS) -> MemberModels:
    """Train trees each; each model sees its own rows alone."""
    trees: list[lightgbm.Booster] = []
    constants, typical, unseen = [], [], []
    for training in trainings:
        rows = training.rows & (bank.repeats < bank.repeats.min() + REPEATS)
        ratios, typical_log_ratio = training.log_ratios(bank)
        seen, classes, latency, unseen_classes = _training_inputs(bank, TREES, training, rows)
        step_ms = step_scale(np, classes, bank.device_classes, latency)
        typical_ms = network_latency(np, TREES, np.zeros((1, 1)), classes, step_ms, ratios)[:, 0]
        wanted = np.log(bank.latency_ms[training.target][rows] / typical_ms)
        # Every architecture weighs the same: some have three times as many workloads as others.
        _, which = np.unique(bank.architectures[rows], return_inverse=True)
        weight = 1 / np.bincount(which)[which]
        table = lightgbm.Dataset(seen, wanted, weight=weight / weight.mean(), free_raw_data=True)
        trees.append(lightgbm.train({**PARAMETERS, "seed": seed}, table, rounds))
        constants.append(ratios[None])
        typical.append(typical_log_ratio)
        unseen.append(unseen_classes)
    return MemberModels(TREES, np.stack(constants), np.array(typical), np.stack(unseen), trees=tuple(trees))
