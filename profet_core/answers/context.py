"""The context of every answer: models, catalog, anchor, network size, the requested offers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from profet_core.answers.document import Document
from profet_core.catalog import CUSTOM_SKIPPED, Catalog, Instance, load_gpus, load_served_catalog
from profet_core.catalog.collection import (
    NoOffersError,
    OfferFilter,
    filtered_catalog,
    filtered_offers,
    offers_in_market,
)
from profet_core.catalog.custom_gpus import CustomGpu, read_custom_gpus, served_custom_gpus_path, with_offers_of
from profet_core.catalog.custom_instances import served_custom_path
from profet_core.catalog.gpus import Gpus
from profet_core.errors import ArtifactError, CatalogError, InputError
from profet_core.files import default_models_folder, home_folder
from profet_core.layers.by_name import NO_NAMES
from profet_core.layers.custom_gpu import with_custom_gpus
from profet_core.layers.networks import counts_of, named_network, network_in_file_name
from profet_core.offers import OfferStep
from profet_core.prediction.checks import check_profile
from profet_core.prediction.models import CALIBRATED_NAME, MANIFEST_NAME, TRANSFER_NAME, Models, load_models
from profet_core.prediction.targets import basis_by_instance, recorded_on
from profet_core.questions import InstancesQuestion, ProfileQuestion
from profet_core.training.cost import MAX_PARAMETERS
from profet_core.training.plans import confidence
from profet_profiles.record import Profile, ProfileMeta
from profet_profiles.units import format_count, positive_number, typed_count

if TYPE_CHECKING:
    from profet_core.training.scaling_model import ScaleoutModel


class Context(Struct, frozen=True):
    """Context of every answer: models, catalog and GPU specs."""

    models: Models
    catalog: Catalog
    gpus: Gpus

    def with_custom_gpus(self, own: Sequence[CustomGpu]) -> Context:
        """Add custom GPUs, each as an instance of the catalog; InputError if the description of one is invalid."""
        if not own:
            return self
        models = with_custom_gpus(self.models, own)
        return Context(models, with_offers_of(self.catalog, own), self.gpus.with_custom(row.gpu for row in own))


def scaleout_model(context: Context) -> ScaleoutModel:
    """Return the model of several GPUs; raises ArtifactError if the models have none."""
    if context.models.scaleout is None:
        raise ArtifactError("These models don't support several GPUs: restore them (git checkout models).")
    return context.models.scaleout


class Served(Struct, frozen=True):
    """Context that the server answers every request from.

    Attributes
    ----------
    files : files that may change while the server runs, each with its modification time, nanoseconds; None: missing.
    custom_skipped : the server's custom list of instances or GPUs can't be read and is skipped; its log says so.
    """

    context: Context
    files: Mapping[Path, int | None]
    custom_skipped: bool

    @property
    def is_outdated(self) -> bool:
        """Whether models or lists were modified since they were loaded."""
        return any(_written_ns(path) != loaded for path, loaded in self.files.items())


def load_served() -> Served:
    """Load models, checked file by file, with the custom catalog and GPUs of `$PROFET_HOME` or `$PROFET_APP_INSTANCES`.

    Raises ArtifactError if a model is missing, damaged or changed.
    """
    # Models may come to a home that has none yet.
    folders, lists = {default_models_folder(), home_folder() or default_models_folder()}, []
    # `load_served_catalog` returns this problem.
    with suppress(CatalogError):
        lists = [path for path in (served_custom_path(), served_custom_gpus_path()) if path is not None]
    names = (MANIFEST_NAME, TRANSFER_NAME, CALIBRATED_NAME)
    files = {path: _written_ns(path) for path in (*(folder / name for folder in folders for name in names), *lists)}
    models = load_models()
    models.verify()
    catalog, problem = load_served_catalog()
    context, left_out = Context(models, catalog, load_gpus()), problem is not None
    try:
        context = context.with_custom_gpus(read_custom_gpus(served_custom_gpus_path(), load_gpus()))
    except (CatalogError, InputError):
        left_out = True
    if left_out:
        import logging

        logging.getLogger(__name__).warning(CUSTOM_SKIPPED)
    return Served(context, files, left_out)


def _written_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


#: Default pixels at which a named network is counted.
#: Letters of a network's name in a message.
MAX_NETWORK_LETTERS = 60


class NetworkParameters(Struct, frozen=True):
    """Parameters of a network; `name` is empty if only their number is known."""

    count: float
    name: str = ""

    @property
    def words(self) -> str:
        """'ResNet50, 25.6M parameters'."""
        count = f"{format_count(self.count)} parameters"
        return f"{self.name}, {count}" if self.name else count


def parameters_of(text: str, pixels: int | None = None) -> NetworkParameters:
    """Parse typed text: "ResNet50" (at its own size by default), "25.6M", "25600000"; InputError for any other.

    >>> parameters_of("25.6M").words, parameters_of("resnet 50").words
    ('25.6M parameters', 'resnet50, 25.6M parameters')
    """
    typed = text.strip()
    if not typed[:1].isdigit():
        try:
            name = named_network(typed).name
        except InputError:
            shown = ascii(typed[:MAX_NETWORK_LETTERS])
            raise InputError(f"Unknown network {shown}: give its number of parameters, such as 25.6M.") from None
        return NetworkParameters(counts_of(typed, pixels).parameters, name)
    return NetworkParameters(_checked(typed_count(typed)))


def chosen_parameters(
    network: str | None, parameters: float | None, meta: ProfileMeta, pixels: int | None
) -> NetworkParameters | None:
    """Parameters from the question's network or number, else from the profile; None if unknown."""
    network = None if network in NO_NAMES else network
    if network is not None and parameters is not None:
        raise InputError("Give {network} or {parameters}, not both.", "network", "parameters")
    if network is not None:
        return parameters_of(network, pixels)
    if parameters is None:
        return recorded_parameters(meta)
    return NetworkParameters(_checked(positive_number("The number of parameters", parameters)))


def named_meta(profile: Profile) -> ProfileMeta:
    """Return a profile's metadata, with the network that its file's name says."""
    return profile.with_meta(network=profile.meta.network or network_in_file_name(profile.file_name)).meta


def recorded_parameters(meta: ProfileMeta) -> NetworkParameters | None:
    """From the profile, else of the network that it names; None if missing or implausible."""
    count = meta.parameters
    if count is not None:
        return NetworkParameters(count) if 1 <= count <= MAX_PARAMETERS else None
    with suppress(InputError):
        return parameters_of(meta.network, meta.pixels) if meta.network not in (None, *NO_NAMES) else None
    return None


def _checked(count: float) -> float:
    if not 1 <= count <= MAX_PARAMETERS:
        raise InputError(f"The number of parameters must be from 1 to {format_count(MAX_PARAMETERS)}.")
    return count


class Targets(NamedTuple):
    """Instances that targets name, themselves or by their GPU, and GPUs that no offer has; keys in their order."""

    instances: dict[str, None]
    gpus: dict[str, None]


def filtered_context(
    context: Context, offer_filter: OfferFilter, targets: Sequence[str] | None = None, anchor: str | None = None
) -> tuple[Context, Collection[str], Targets | None]:
    """Context with each selected instance at its default offer, their names, and what the targets mean among them.

    Raises NoOffersError if there is no offer, or none of a target other than the anchor.
    """
    catalog, names = filtered_catalog(context.catalog, offer_filter, context.gpus)
    selected = replace(context, catalog=catalog)
    if targets is None:
        return selected, names, None
    if not targets:
        raise InputError("Name at least one target: {targets}.", "targets")
    requested, unselected = Targets({}, {}), []
    for target in targets:
        named = [] if target in catalog else [gpu.name for gpu in context.gpus.matching(target)]
        having = [name for name, row in catalog.items() if row.gpu in named] if named else [target]
        # An unknown name is rejected where it is read.
        chosen = [name for name in having if name in names or name not in catalog or name == anchor]
        requested.instances.update(dict.fromkeys(chosen))
        if not offer_filter.selects_offers:
            offered = {catalog[name].gpu for name in chosen if name in catalog}
            requested.gpus.update(dict.fromkeys(name for name in named if name not in offered))
        elif not chosen:
            unselected.append(target)
    if unselected:
        raise NoOffersError(
            f"Not among the selected offers: {', '.join(unselected)}. Remove {{targets}} or the filters.", "targets"
        )
    return selected, names, requested


def market_offers(
    context: Context,
    offer_filter: OfferFilter,
    market: str,
    *,
    price: Mapping[str, float] | None = None,
    spot_discount: float | None = None,
) -> tuple[tuple[Instance, ...], Collection[str]]:
    """Return the selected offers of a market, at custom prices where given, and the names of their instances.

    Raises NoOffersError if no offer matches; the message says what to widen.
    """
    # Spot prices are estimated from on-demand prices, so the market filter comes last.
    catalog, names = filtered_catalog(context.catalog, replace(offer_filter, market=None), context.gpus)
    try:
        offers = offers_in_market(catalog, market, custom_usd_per_hour=price, spot_discount=spot_discount)
    except NoOffersError:
        # Raises with what to widen.
        filtered_offers(context.catalog.all_offers, offer_filter, context.gpus)
        raise
    offers = tuple(offer for offer in offers if offer.name in names)
    if not offers:
        filtered_offers(context.catalog.all_offers, offer_filter, context.gpus)
    return offers, names


def filtered_rows(
    rows: Iterable[OfferStep], offer_filter: OfferFilter, names: Collection[str], anchor: str
) -> list[OfferStep]:
    """Rows of the selected instances with the minimum confidence, and the anchor's row.

    Raises NoOffersError if there is none other than the anchor; one line says why.
    """
    rows = list(rows)
    if not offer_filter.given:
        return rows
    kept = wanted = [row for row in rows if row.instance in names or row.instance == anchor]
    if offer_filter.confidence is not None:
        least = offer_filter.least_confidence
        kept = [row for row in wanted if row.instance == anchor or confidence(row.basis, row.log_sd) >= least]
    if anchor not in names and all(row.instance == anchor for row in kept):
        others = [confidence(row.basis, row.log_sd) for row in wanted if row.instance != anchor]
        if not others:
            raise NoOffersError(
                "These offers can't be predicted: their GPUs' specs are unknown, or the method doesn't cover them."
            )
        raise NoOffersError(
            f"No prediction has confidence {offer_filter.confidence}: the highest is {max(others).word}."
        )
    return kept


def question_anchor(context: Context, question: ProfileQuestion) -> str:
    """Return the anchor's name, as `predict` takes it and checks it.

    Raises InputError if it is not given and the profile's GPU doesn't identify one; NoPredictionError if the profile's
    GPU is unknown.
    """
    models = context.models
    check_profile(models, question.profile, question.network)
    if question.anchor is not None:
        return question.anchor
    recorded, fields = question.profile.meta.gpu, ("profile", "anchor")
    if recorded is None:
        raise InputError(
            "{profile} does not name the GPU it was recorded on: give it with {anchor}, an instance or a GPU name.",
            *fields,
        )
    anchor = recorded_on(models, recorded)
    if anchor is None:
        raise InputError(
            f"{{profile}} was recorded on {recorded}, which matches more than one GPU: choose with {{anchor}} one of "
            f"{', '.join(gpu.name for gpu in models.transfer.gpus.named(recorded))}.",
            *fields,
        )
    return anchor


#: Basis of an instance without a prediction.
_PRICE_ONLY = "price only"


class OfferDocument(Document, frozen=True):
    """An instance at one of its prices."""

    name: str
    gpu: str
    gpu_count: int
    gpu_memory_gib: float
    vcpus: int | None
    usd_per_hour: float
    region: str
    os: str
    market: str
    status: str
    as_of: str
    source: str
    custom: bool
    machine_source: str
    provider: str
    host: str
    usd_per_gpu_hour: float
    price_note: str


class InstanceDocument(OfferDocument, frozen=True):
    """An offer, with the basis of its predictions."""

    basis: str


def answer_instances(models: Models | None, catalog: Catalog, question: InstancesQuestion) -> list[InstanceDocument]:
    """List the requested offers; without models none has a basis."""
    basis_of = {} if models is None else basis_by_instance(models, catalog)
    every = question.all or question.market or question.region
    offers = filtered_offers(catalog.all_offers if every else catalog.values(), question.offer_filter)
    return [
        InstanceDocument(**asdict(OfferDocument.of(offer)), basis=basis_of.get(offer.name, _PRICE_ONLY))
        for offer in offers
    ]
