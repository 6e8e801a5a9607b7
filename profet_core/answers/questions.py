"""Questions and what every answer needs: models, catalog, anchor, the offers that are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from profet_core.advice.plans import confidence
from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog, Instance
from profet_core.catalog.collection import Narrowing, NoOffersError, narrowed, narrowed_catalog, offers_in_market
from profet_core.catalog.gpus import Gpus
from profet_core.catalog.own_gpus import OwnGpu, with_offers_of
from profet_core.errors import InputError, NoPredictionError
from profet_core.fields.questions import FieldNames, ProfileQuestion
from profet_core.latency import StepTime
from profet_core.layers.networks import counts_of, network_name
from profet_core.multi_gpu.step import MOST_PARAMETERS
from profet_core.prediction.anchors import anchor_names, find_anchor, recorded_on, unknown_gpu
from profet_core.prediction.checks import refusal
from profet_core.profiles.record import ProfileMeta
from profet_core.transfer.own_gpu import with_own_gpus
from profet_core.typed_numbers import typed_count
from profet_core.units import format_count, positive_number


@dataclass(frozen=True, slots=True)
class Context:
    """Context of every answer: models, catalog and GPU specs."""

    models: Models
    catalog: Catalog
    gpus: Gpus

    def with_own_gpus(self, own: Sequence[OwnGpu]) -> Context:
        """Add custom GPUs, each as an instance of the catalog.

        Raises
        ------
        InputError : the description of one is invalid.
        """
        if not own:
            return self
        transfer = self.models.transfer
        models = self.models if transfer is None else self.models.with_transfer(with_own_gpus(transfer, own))
        return Context(models, with_offers_of(self.catalog, own), self.gpus.with_own(row.gpu for row in own))


#: Default pixels at which a named network is counted.
USUAL_PIXELS = 224
#: Maximum length of a network's name.
LONGEST_NETWORK = 60


@dataclass(frozen=True, slots=True)
class NetworkParameters:
    """Parameters of a network; `name` is empty if only their number is known."""

    count: float
    name: str = ""

    @property
    def words(self) -> str:
        """'ResNet50, 25.6M parameters'."""
        count = f"{format_count(self.count)} parameters"
        return f"{self.name}, {count}" if self.name else count


def parameters_of(text: str, pixels: int | None = None) -> NetworkParameters:
    """Parse typed text: "ResNet50", "25.6M", "25600000".

    Parameters
    ----------
    pixels : image size for the named network; None: `USUAL_PIXELS`.

    Raises
    ------
    InputError : neither a known network nor a number.

    >>> parameters_of("25.6M").words, parameters_of("resnet 50").words
    ('25.6M parameters', 'ResNet50, 25.6M parameters')
    """
    typed = text.strip()
    if not typed[:1].isdigit():
        try:
            name = network_name(typed)
        except InputError:
            shown = ascii(typed[:LONGEST_NETWORK])
            raise InputError(f"Unknown network {shown}: give its number of parameters, such as 25.6M.") from None
        return NetworkParameters(counts_of(name, pixels or USUAL_PIXELS).parameters, name)
    return NetworkParameters(_checked(typed_count(typed)))


def asked_parameters(
    network: str | None, parameters: float | None, meta: ProfileMeta, pixels: int | None
) -> NetworkParameters | None:
    """Parameters from the question's network or number, else from the profile.

    None if unknown.

    Raises
    ------
    InputError : both are given, the network is unknown, or the number is invalid.
    """
    if network is not None and parameters is not None:
        raise InputError("Give the network or its parameters, not both.")
    if network is not None:
        return parameters_of(network, pixels)
    if parameters is None:
        return told_parameters(meta)
    return NetworkParameters(_checked(positive_number("The number of parameters", parameters)))


def told_parameters(meta: ProfileMeta) -> NetworkParameters | None:
    """From the profile; None if missing or implausible."""
    count = meta.parameters
    return NetworkParameters(count) if count is not None and 1 <= count <= MOST_PARAMETERS else None


def _checked(count: float) -> float:
    if not 1 <= count <= MOST_PARAMETERS:
        raise InputError(f"The number of parameters must be from 1 to {format_count(MOST_PARAMETERS)}.")
    return count


Row = TypeVar("Row", bound=StepTime)


def narrowed_context(context: Context, narrowing: Narrowing) -> tuple[Context, Collection[str]]:
    """Context with each selected instance at its default offer, and the names of these instances.

    Raises
    ------
    NoOffersError : no offer matches; the message says what to widen.
    """
    catalog, names = narrowed_catalog(context.catalog, narrowing, context.gpus)
    return replace(context, catalog=catalog), names


def check_wanted(
    context: Context, targets: Sequence[str] | None, names: Collection[str | None], field_names: FieldNames
) -> None:
    """Reject targets that the filters exclude; unknown ones are rejected when they are read."""
    unwanted = [name for name in targets or () if name in context.catalog and name not in names]
    if unwanted:
        raise NoOffersError(
            f"Not among the selected offers: {', '.join(unwanted)}. "
            f"Remove {field_names.option('targets')} or the filters."
        )


def market_offers(
    context: Context,
    narrowing: Narrowing,
    market: str,
    *,
    price: Mapping[str, float] | None = None,
    spot_discount: float | None = None,
) -> tuple[tuple[Instance, ...], Collection[str]]:
    """Selected offers of a market, at custom prices where given, and the names of their instances.

    Raises
    ------
    NoOffersError : no offer matches; the message says what to widen.
    """
    # Spot prices are estimated from on-demand prices, so the market filter comes last.
    catalog, names = narrowed_catalog(context.catalog, replace(narrowing, market=None), context.gpus)
    try:
        offers = offers_in_market(catalog, market, own_usd_per_hour=price, spot_discount=spot_discount)
    except NoOffersError:
        # Raises with what to widen.
        narrowed(context.catalog.all_offers, narrowing, context.gpus)
        raise
    offers = tuple(offer for offer in offers if offer.name in names)
    if not offers:
        narrowed(context.catalog.all_offers, narrowing, context.gpus)
    return offers, names


def narrowed_rows(rows: Iterable[Row], narrowing: Narrowing, names: Collection[str], anchor: str) -> list[Row]:
    """Rows of the selected instances with the minimum confidence, and the anchor's row.

    Raises
    ------
    NoOffersError : there is none other than the anchor; one line says why.
    """
    rows = list(rows)
    if not narrowing.given:
        return rows
    wanted = [row for row in rows if row.instance in names or row.instance == anchor]
    steps = {row.instance: confidence(row.basis, row.log_sd) for row in wanted}
    found = [row for row in wanted if row.instance == anchor or steps[row.instance] >= narrowing.least_confidence]
    if anchor not in names and all(row.instance == anchor for row in found):
        others = [step for name, step in steps.items() if name != anchor]
        if not others:
            raise NoOffersError("These offers can't be predicted: their GPU specs are unknown.")
        raise NoOffersError(f"No prediction has confidence {narrowing.confidence}: the highest is {max(others).word}.")
    return found


def question_anchor(context: Context, question: ProfileQuestion, field_names: FieldNames) -> str:
    """The anchor's name, as `predict` takes it.

    Raises
    ------
    InputError : the anchor is an unknown instance or GPU, or none is given and the profile's GPU doesn't identify one.
    NoPredictionError : the profile's GPU is unknown.
    """
    models = context.models
    if question.anchor is not None:
        return find_anchor(models, context.catalog, question.anchor).name
    recorded, option = question.profile.meta.gpu, field_names.option("anchor")
    if recorded is None:
        # No anchor could help.
        if reason := refusal(question.profile):
            raise NoPredictionError(reason)
        raise InputError(
            f"{field_names.profile} does not name the GPU it was recorded on: give it with {option}, an instance or a "
            "GPU name."
        )
    if reason := unknown_gpu(models, recorded):
        raise NoPredictionError(reason)
    found = recorded_on(models, recorded)
    if found is None:
        raise InputError(
            f"{field_names.profile} was recorded on {recorded}, which matches more than one GPU: choose with {option} "
            f"one of {', '.join(anchor_names(models))}."
        )
    return found
