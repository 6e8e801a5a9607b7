"""Questions; their fields are named as the command line's long options, and so are those of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpus
from profet_core.catalog.instance import ON_DEMAND
from profet_core.catalog.narrowing import Narrowing
from profet_core.catalog.own_gpus import OwnGpu, with_offers_of
from profet_core.precision.names import AS_PROFILED
from profet_core.profiles import Profile
from profet_core.transfer.own_gpu import with_own_gpus


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What every answer is made from: models, catalog and specs of GPUs."""

    models: Models
    catalog: Catalog
    gpus: Gpus

    def with_own_gpus(self, own: Sequence[OwnGpu]) -> Knowledge:
        """With GPUs of the user's, each an instance of the catalog.

        Raises
        ------
        InputError : what is said of one can't be.
        """
        if not own:
            return self
        transfer = self.models.transfer
        models = self.models if transfer is None else self.models.with_transfer(with_own_gpus(transfer, own))
        return Knowledge(models, with_offers_of(self.catalog, own), self.gpus.with_own(row.gpu for row in own))


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a channel names, in messages, what it takes.

    Attributes
    ----------
    profile : the profile a question is about, such as "TRACE".
    option : field of a question -> its name there, such as "--at-batch" of "at_batch".
    """

    profile: str
    option: Callable[[str], str]


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _counts(given: int | Sequence[int] | None) -> tuple[int, ...]:
    return () if given is None else (given,) if isinstance(given, int) else tuple(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffersQuestion:
    """Which offers of the catalog; each field as `Narrowing` has it, empty or None where it narrows nothing."""

    provider: str | Sequence[str] = ()
    region: str | None = None
    market: str | None = None
    gpu: str | Sequence[str] = ()
    gpu_count: int | Sequence[int] | None = None
    min_memory_gib: float | None = None

    @property
    def narrowing(self) -> Narrowing:
        """The same, checked."""
        return self.narrowed_to(None)

    def narrowed_to(self, sureness: str | None) -> Narrowing:
        """The same, for numbers that are as sure."""
        return Narrowing(
            provider=_names(self.provider),
            region=self.region,
            market=self.market,
            gpu=_names(self.gpu),
            gpu_count=_counts(self.gpu_count),
            min_memory_gib=self.min_memory_gib,
            sureness=sureness,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileQuestion(OffersQuestion):
    """A profile, its anchor, how to predict from it, and which offers to answer for.

    Attributes
    ----------
    anchor : instance or GPU that the profile was recorded on; None: the GPU that it names.
    steps : training steps the profile covers; None: inferred from it.
    latency_ms : measured step latency on the anchor, milliseconds; None: the profile's own, if it has one.
    without_latency : ignore the profile's own latency. trust_latency : use a latency even if it looks wrong.
    precision : of the training, one of `precision.names.PRECISIONS`; by default as it was profiled.
    sureness : "rough", "fair" or "good": minimum confidence.
    profiled_batch, profiled_pixels : sizes the profile was recorded at; None: what it says.
    measured : target -> a latency measured there with the same network, milliseconds; it corrects the prediction.
    measured_trace : the anchor's profile of what was measured, if not `profile`; `measured_trace_latency_ms`: its
        anchor latency.
    """

    profile: Profile
    anchor: str | None = None
    steps: int | None = None
    profiled_batch: int | None = None
    profiled_pixels: int | None = None
    latency_ms: float | None = None
    without_latency: bool = False
    trust_latency: bool = False
    method: str = "default"
    precision: str = AS_PROFILED
    sureness: str | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    measured_trace: Profile | None = None
    measured_trace_latency_ms: float | None = None

    @property
    def narrowing(self) -> Narrowing:
        """Which offers, and at what confidence."""
        return self.narrowed_to(self.sureness)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictQuestion(ProfileQuestion):
    """How long a step takes on `targets`; None: on all others than the anchor."""

    targets: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion(ProfileQuestion):
    """What a training takes and costs.

    Attributes
    ----------
    images, validation_images : per epoch; images None: the training is one step, whatever its batch size.
    price : instance -> a price of the user's, US dollars an hour.
    at_batch, at_pixels : other sizes than the profiled ones.
    second : another profile of the network, recorded on the anchor at another size; with it sizes between are more
        accurate. `second_batch`, `second_pixels`, `second_latency_ms`, `second_steps`: as those of `profile`.
    """

    images: int | None
    validation_images: int = 0
    epochs: int = 1
    price: Mapping[str, float] = field(default_factory=dict)
    at_batch: int | None = None
    at_pixels: int | None = None
    second: Profile | None = None
    second_batch: int | None = None
    second_pixels: int | None = None
    second_latency_ms: float | None = None
    second_steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseQuestion(TrainingQuestion):
    """What to rent for a training.

    Attributes
    ----------
    deadline_hours, budget_usd : limits; `certainty` : chance with which they must be kept to.
    market, spot_discount : as `catalog.offers.offers_in_market` takes them.
    with_loading : add what measured epochs took beyond their steps, 6 to 9%.
    include_retired : instances that can't be rented any more too.
    compare : two plans, by instance or by "instance market".
    whole_nodes : a node of several GPUs with all of them training, each at the batch of one; without it its speed is
        one GPU's. network, parameters : its name, or how many parameters it has; each asks for whole nodes too.
        Neither: from the profile.
    """

    deadline_hours: float | None = None
    budget_usd: float | None = None
    certainty: float = 0.9
    market: str = ON_DEMAND
    spot_discount: float | None = None
    with_loading: bool = False
    include_retired: bool = False
    compare: Sequence[str] | None = None
    whole_nodes: bool = False
    network: str | None = None
    parameters: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesQuestion(OffersQuestion):
    """Which offers of the catalog: each instance's usual one, `all`, or those of a region or market."""

    all: bool = False
