"""The three networks after Viebke et al. 2019 with their parameters, what was published of them, and any other network.

Everything here is recalled, not read: the tables agree with one another (model (a) gives the twelve published
predictions from them), and so do the layers, of which `forward_flops` is counted: operations of the backward pass come
to 3.23-3.27 a multiply-add in all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profet_core.errors import InputError
from profet_core.manycore.models import Network, Training, between

#: FLOPs of an image that somebody may mean.
FEWEST_FLOPS, MOST_FLOPS = 1e3, 1e16
_MS = 1e-3

SMALL = Network(
    name="small",
    # 29 x 29; 5 maps 4 x 4, pooled by 2; 10 maps 5 x 5, pooled by 3; dense 50 and 10.
    forward_flops=2 * 160_330,
    forward_operations=58_000,
    backward_operations=524_000,
    preparation_operations=1e9,
    forward_s=1.45 * _MS,
    backward_s=5.3 * _MS,
    preparation_s=12.56,
    contention_s=(7.10e-6, 6.40e-4, 1.36e-3, 3.07e-3, 6.76e-3, 9.95e-3, 1.40e-2, 2.78e-2, 5.60e-2, 1.12e-1, 2.25e-1),
)
MEDIUM = Network(
    name="medium",
    # 29 x 29; 20 maps 4 x 4, pooled by 2; 40 maps 5 x 5, pooled by 3; dense 150 and 10.
    forward_flops=2 * 1_891_820,
    forward_operations=559_000,
    backward_operations=6_119_000,
    # With 1e10, as recalled, model (a) doesn't give the published predictions; with this it does.
    preparation_operations=1e9,
    forward_s=12.55 * _MS,
    backward_s=69.73 * _MS,
    preparation_s=12.7,
    contention_s=(1.56e-4, 2.00e-3, 3.97e-3, 8.03e-3, 1.65e-2, 2.50e-2, 3.83e-2, 7.31e-2, 1.47e-1, 2.95e-1, 5.91e-1),
)
LARGE = Network(
    name="large",
    # 29 x 29; 20 maps 4 x 4; 60 maps 5 x 5, pooled by 2; 100 maps 6 x 6, pooled by 2; dense 150 and 10.
    forward_flops=2 * 22_648_820,
    forward_operations=5_349_000,
    backward_operations=73_178_000,
    preparation_operations=1e11,
    forward_s=148.88 * _MS,
    backward_s=859.19 * _MS,
    preparation_s=13.5,
    contention_s=(8.83e-4, 8.75e-3, 1.67e-2, 3.22e-2, 6.74e-2, 1.00e-1, 1.38e-1, 2.73e-1, 5.46e-1, 1.09, 2.19),
)

#: By name, the smallest first.
PUBLISHED: Mapping[str, Network] = {network.name: network for network in (SMALL, MEDIUM, LARGE)}
#: What each was trained with: MNIST.
PUBLISHED_TRAINING: Mapping[str, Training] = {
    "small": Training(60_000, 10_000, 70),
    "medium": Training(60_000, 10_000, 70),
    "large": Training(60_000, 10_000, 15),
}
#: Network -> threads -> the prediction that was published, minutes.
PUBLISHED_PREDICTIONS_MIN: Mapping[str, Mapping[int, float]] = {
    "small": {480: 6.6, 960: 5.4, 1_920: 4.9, 3_840: 4.6},
    "medium": {480: 36.8, 960: 23.9, 1_920: 17.4, 3_840: 14.2},
    "large": {480: 92.9, 960: 60.8, 1_920: 44.8, 3_840: 36.8},
}
#: Average error of each model against the measured trainings, percent: of the abstract, which was read.
PUBLISHED_ERROR_PERCENT: Mapping[str, float] = {"a": 15.0, "b": 11.0}
#: Measured speed-up of the large network, over one thread of the same processor, and at how many threads.
PUBLISHED_SPEEDUP, PUBLISHED_SPEEDUP_THREADS = 103.5, 244


def scaled_network(name: str, forward_flops: float) -> Network:
    """A network whose images take so many FLOPs forward.

    Between two published networks every parameter follows the power law through both. Beyond the smallest and the
    largest all that an image takes grows with the FLOPs from the nearest one, memory contention too; what a training
    starts with stays. So a published network's FLOPs give its parameters, and a network beyond has about the nearest
    one's speed-up. (From 15 threads on contention rises more slowly than FLOPs among the published networks: above the
    largest this is the pessimistic choice.)

    The published "operations" are not FLOPs: those of the backward pass are 9 to 13.7 times those of the forward pass,
    which are 0.24 to 0.36 a multiply-add. So neither ratio is taken for all networks.

    Raises
    ------
    InputError : the FLOPs are out of bounds.
    """
    if not FEWEST_FLOPS <= forward_flops <= MOST_FLOPS:
        raise InputError(f"The FLOPs per image must be from {FEWEST_FLOPS:g} to {MOST_FLOPS:g}, not {forward_flops:g}.")

    def scaled(name: str, grows_beyond: bool = True) -> float:
        return _at_flops([getattr(network, name) for network in PUBLISHED.values()], forward_flops, grows_beyond)

    contention_s = zip(*(network.contention_s for network in PUBLISHED.values()), strict=True)
    return Network(
        name=name,
        forward_flops=forward_flops,
        forward_operations=scaled("forward_operations"),
        backward_operations=scaled("backward_operations"),
        preparation_operations=scaled("preparation_operations", grows_beyond=False),
        forward_s=scaled("forward_s"),
        backward_s=scaled("backward_s"),
        preparation_s=scaled("preparation_s", grows_beyond=False),
        contention_s=tuple(_at_flops(values, forward_flops) for values in contention_s),
    )


def nearest_published(forward_flops: float) -> Network:
    """The published network whose FLOPs are fewest times apart."""
    return min(
        (SMALL, MEDIUM, LARGE),
        key=lambda network: max(network.forward_flops / forward_flops, forward_flops / network.forward_flops),
    )


def is_beyond_published(forward_flops: float) -> bool:
    """Whether it has more or fewer FLOPs than any published network."""
    return not SMALL.forward_flops <= forward_flops <= LARGE.forward_flops


def _at_flops(values: Sequence[float], flops: float, grows_beyond: bool = True) -> float:
    """A parameter, of the published networks by size, at these FLOPs; outside of them it may grow with the FLOPs."""
    known = {network.forward_flops: value for network, value in zip(PUBLISHED.values(), values, strict=True)}
    if is_beyond_published(flops):
        end = nearest_published(flops).forward_flops
        return known[end] * (flops / end if grows_beyond else 1.0)
    if flops in known:
        return known[flops]
    above = next(each for each in known if each > flops)
    below = max(each for each in known if each < flops)
    return between(flops, (below, known[below]), (above, known[above]))
