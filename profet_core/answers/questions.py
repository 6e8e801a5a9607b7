"""Questions; fields have the names of CLI options and request fields."""

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
    """Context of every answer: models, catalog and GPU specs."""

    models: Models
    catalog: Catalog
    gpus: Gpus

    def with_own_gpus(self, own: Sequence[OwnGpu]) -> Knowledge:
        """Add custom GPUs, each as an instance of the catalog.

        Raises
        ------
        InputError : the description of one is invalid.
        """
        if not own:
            return self
        transfer = self.models.transfer
        models = self.models if transfer is None else self.models.with_transfer(with_own_gpus(transfer, own))
        return Knowledge(models, with_offers_of(self.catalog, own), self.gpus.with_own(row.gpu for row in own))


@dataclass(frozen=True, slots=True)
class Spelling:
    """Names that a channel uses for inputs in messages.

    Attributes
    ----------
    profile : the profile of a question, such as "TRACE".
    option : field of a question -> its name there, such as "--at-batch" for "at_batch".
    """

    profile: str
    option: Callable[[str], str]


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _counts(given: int | Sequence[int] | None) -> tuple[int, ...]:
    return () if given is None else (given,) if isinstance(given, int) else tuple(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffersQuestion:
    """Offers of the catalog; fields as in `Narrowing`, empty or None for no filter."""

    provider: str | Sequence[str] = ()
    region: str | None = None
    market: str | None = None
    gpu: str | Sequence[str] = ()
    gpu_count: int | Sequence[int] | None = None
    min_memory_gib: float | None = None

    @property
    def narrowing(self) -> Narrowing:
        """The filters, checked."""
        return self.narrowed_to(None)

    def narrowed_to(self, sureness: str | None) -> Narrowing:
        """The filters, with a minimum confidence."""
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
    """A profile, its anchor, the prediction options, and the offers to answer for.

    Attributes
    ----------
    anchor : instance or GPU that the profile was recorded on; None: the GPU that the profile names.
    steps : training steps the profile covers; None: inferred from it.
    latency_ms : measured step latency on the anchor, milliseconds; None: the profile's own, if it has one.
    without_latency : ignore the profile's own latency. trust_latency : use a latency even if it looks wrong.
    precision : of the training, one of `precision.names.PRECISIONS`; default: as profiled.
    sureness : "rough", "fair" or "good": minimum confidence.
    profiled_batch, profiled_pixels : sizes the profile was recorded at; None: as recorded in the profile.
    measured : target -> latency measured there with the same network, milliseconds; it corrects the prediction.
    measured_trace : the anchor's profile that belongs to `measured`, if not `profile`; `measured_trace_latency_ms`: its
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
        """Requested offers and minimum confidence."""
        return self.narrowed_to(self.sureness)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictQuestion(ProfileQuestion):
    """Step latency on `targets`; None: on all instances except the anchor."""

    targets: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion(ProfileQuestion):
    """Time and cost of a training.

    Attributes
    ----------
    images, validation_images : per epoch; images None: the training is one step of any batch size.
    price : instance -> custom price, US dollars per hour.
    at_batch, at_pixels : sizes to scale to, if not the profiled ones.
    second : another profile of the network, recorded on the anchor at another size; it makes sizes in between more
        accurate. `second_batch`, `second_pixels`, `second_latency_ms`, `second_steps`: as for `profile`.
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
    """Offer to rent for a training.

    Attributes
    ----------
    deadline_hours, budget_usd : limits; `certainty` : probability with which they must be met.
    market, spot_discount : as `catalog.offers.offers_in_market` takes them.
    with_loading : add the time that measured epochs took beyond their steps, 6 to 9%.
    include_retired : include instances that can't be rented any more.
    compare : two plans, by instance or by "instance market".
    whole_nodes : train on all GPUs of a multi-GPU node, each at the one-GPU batch; otherwise its speed is one GPU's.
        network, parameters : name or number of parameters; each implies whole nodes. Neither: from the profile.
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
    """Offers of the catalog: each instance's default offer, `all`, or those of a region or market."""

    all: bool = False
