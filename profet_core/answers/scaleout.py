"""Training on 1 to 64 GPUs: scaling curve and plans per offer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from msgspec import Struct, structs
from msgspec.structs import asdict, replace

from profet_core.answers.by_layers import NetworkPrediction
from profet_core.answers.context import (
    Context,
    NetworkParameters,
    chosen_parameters,
    filtered_context,
    market_offers,
    named_meta,
    scaleout_model,
)
from profet_core.answers.document import Document
from profet_core.answers.predict import PredictedTraining, fits_in_training, predicted_training
from profet_core.catalog.collection import NoOffersError, prices_version
from profet_core.catalog.instance import RETIRED, Instance, frame_of, machine_with, offer_cells
from profet_core.catalog.interconnects import Interconnect, load_interconnects
from profet_core.errors import InputError, Note
from profet_core.latency import LEVEL, Basis
from profet_core.offers import OfferStep, OfferTable, RentedRow, cost_usd, joined, rows_as
from profet_core.prediction.sizes import BATCH_SIZES
from profet_core.questions import Gradients, ScaleoutQuestion, TrainingQuestion
from profet_core.training.cost import Workload
from profet_core.training.memory import FitAnswer, Verdict, does_not_fit
from profet_core.training.plans import Limits, costed, plan_confidence
from profet_core.training.scaling_model import ScaleoutModel, Strategy
from profet_core.training.several_gpus import (
    MAX_GPUS,
    CurveRow,
    OneGpuStep,
    ScaledEpoch,
    ScaledStep,
    WholeNodePlan,
    nodes_of,
    on_all_gpus,
    scaled_step,
    scaling_notes,
)
from profet_profiles.record import ProfileMeta
from profet_profiles.units import MS_PER_S, format_time, format_usd, positive_number, whole_number


class PredictedOneGpu:
    """One GPU's steps, predicted from a profile and scaled to other batch sizes.

    For a GPU anchor, another batch size is taken from offers with that GPU.

    Attributes
    ----------
    gpu, instance : where the profile was recorded.
    batch_size, pixels, meta : of the training, and the profile's metadata.
    instances : those with a step.
    warnings : of the predictions so far.
    """

    def __init__(self, context: Context, question: TrainingQuestion) -> None:
        training = predicted_training(context, question)
        self._context, self._question = context, question
        self._prediction, self._trainings = training.prediction, {training.batch_size: training}
        self.instance, self.batch_size = training.prediction.anchor, training.batch_size
        self.gpu = context.catalog[self.instance].gpu if self.instance in context.catalog else self.instance
        self.instances: Collection[str] = training.latencies_ms.keys()
        self.pixels, self.meta = training.pixels, named_meta(training.profile)
        self.warnings = list(training.warnings)
        self._fits: dict[int, Mapping[str, FitAnswer]] = {}

    def supports_batch(self, batch_size: int) -> bool:
        """Whether steps are known at a batch size."""
        return batch_size == self.batch_size or BATCH_SIZES[0] <= batch_size <= BATCH_SIZES[1]

    def step_at(self, instance: str, batch_size: int) -> OfferStep:
        """Return the step of an instance at a batch size; InputError if unknown."""
        training, names, catalog = self._at(batch_size), [instance], self._context.catalog
        given_ms = self._prediction.anchor_latency_ms
        if not instance:
            raise InputError("Name the machine to scale out on: {instance}.", "instance")
        if instance == self.instance and instance not in catalog:
            if given_ms is not None and not training.scaled:
                return OfferTable.given([machine_with(instance, 1.0, instance)], [given_ms])[0]
            having = [offer for offer in catalog.values() if offer.gpu == instance]
            names = [offer.name for offer in sorted(having, key=lambda offer: offer.gpu_count)]
        rows, latencies_ms = training.step_times.numbers, training.latencies_ms
        row = next((rows[name] for name in names if name in latencies_ms), None)
        if row is None:
            way = "give it ({latency_ms}) or " if given_ms is None else ""
            raise InputError(
                f"The step latency on {instance} at batch {batch_size} is unknown: {way}name another instance "
                "({instance}).",
                "latency_ms",
                "instance",
            )
        return training.step_times[row]

    def fit_at(self, instance: str, batch_size: int) -> FitAnswer | None:
        """Whether it fits in the memory of one GPU; None if unknown."""
        if batch_size not in self._fits:
            # Of all instances at once: a network is estimated anew at each size. It is estimated on offers, a profile
            # also fits its anchor's GPU.
            catalog, is_network = self._context.catalog, isinstance(self._prediction, NetworkPrediction)
            others = set[str]() if is_network else {self.instance} - {"", *catalog}
            self._fits[batch_size] = fits_in_training(self._context, self._at(batch_size), (*catalog, *others))
        return self._fits[batch_size].get(instance)

    def _at(self, batch_size: int) -> PredictedTraining:
        if batch_size not in self._trainings:
            training = predicted_training(self._context, structs.replace(self._question, at_batch=batch_size))
            self._trainings[batch_size] = training
            self.warnings.extend(training.warnings)
        return self._trainings[batch_size]


class MeasuredOneGpu:
    """A step measured on one GPU, known on instances with that GPU at that batch size; as `PredictedOneGpu`."""

    instance, pixels, warnings = "", None, ()
    meta = ProfileMeta()

    def __init__(self, context: Context, gpus: Sequence[str], latency_ms: float, batch_size: int | None) -> None:
        if len(gpus) != 1:
            raise InputError("Give the GPU that the step was measured on: {gpu} V100.", "gpu")
        if batch_size is None:
            raise InputError("Give the batch size that the step was measured at: {batch} 64.", "batch")
        # Parse the name like an anchor's: "A100" is ambiguous, and PCIe and SXM4 steps differ.
        self.gpu = context.gpus.find(gpus[0]).name
        self.instances: Collection[str] = {name for name, offer in context.catalog.items() if offer.gpu == self.gpu}
        self._latency_ms = positive_number("The step latency", latency_ms)
        self.batch_size = whole_number("The batch size", batch_size)

    def supports_batch(self, batch_size: int) -> bool:
        """Whether it is the measured one."""
        return batch_size == self.batch_size

    def step_at(self, instance: str, batch_size: int) -> OfferStep:
        """Return the step; InputError if it is another GPU's, or at another batch size."""
        if instance and instance not in self.instances:
            raise InputError(f"The step was measured on {self.gpu}, but {instance} has another GPU.")
        if batch_size != self.batch_size:
            raise InputError(
                f"The measured step is for batch {self.batch_size} per GPU, not {batch_size}: another batch size "
                "needs a profile."
            )
        return OfferTable.given([machine_with(self.gpu, 1.0, instance)], [self._latency_ms])[0]

    def fit_at(self, instance: str, batch_size: int) -> None:
        """Return None: it ran."""


#: Default GPUs per node.
_USUAL_NODE = 8


def profiled_training(question: ScaleoutQuestion) -> TrainingQuestion | None:
    """Return the training on one GPU that is scaled out; None where the question has a measured step instead."""
    if question.profile is None:
        return None
    if question.batch is not None and question.global_batch is not None:
        raise InputError(
            "{batch} is the batch per GPU, {global_batch} the global batch: give one of them.", "batch", "global_batch"
        )
    return TrainingQuestion(
        profile=question.profile,
        anchor=question.anchor,
        latency_ms=question.latency_ms,
        steps=question.steps,
        profiled_batch=question.profiled_batch,
        profiled_pixels=question.profiled_pixels,
        profiled_precision=question.profiled_precision,
        training_code=question.training_code,
        precision=question.precision,
        checkpointing=question.checkpointing,
        network=question.network,
        images=question.images,
        at_batch=question.batch,
    )


def epoch_limits(question: ScaleoutQuestion) -> Limits:
    """Return the limits of one epoch, kept with the usual certainty."""
    deadline_h, budget_usd = question.deadline_hours, question.budget_usd
    return Limits(deadline_h and deadline_h / question.epochs, budget_usd and budget_usd / question.epochs)


class HowMany(Document, frozen=True):
    """How many GPUs, of which offer.

    Attributes
    ----------
    within : whether it keeps to the limits, if there are any.
    batch_sentences : on the images of a step, also with the batch kept the other way, and the usual learning rate.
    """

    sentence: str
    instance: str
    nodes: int
    epoch_s: float
    epoch_usd: float
    gpus: int
    batch_per_gpu: int
    batch_size: int
    epochs: int
    total_s: float
    total_usd: float
    within: bool
    batch_sentences: tuple[str, ...]


def _sentence(question: ScaleoutQuestion, plan: WholeNodePlan, more: WholeNodePlan | None, *, within: bool) -> str:
    """Say the answer, such as '4 × A100 at Verda: 5.5 min per epoch, $0.47'; `more` : twice as many, if worth it."""
    sentence = f"{_words(plan)}: {format_time(plan.epoch_s)} per epoch, {format_usd(plan.epoch_usd)}"
    if not epoch_limits(question).given:
        why = f"the cheapest {plan.step.gpus}" if question.total_gpus else "more GPUs cost more than they save"
        if more is not None:
            time, cost = format_time(more.epoch_s), format_usd(more.epoch_usd)
            why = f"{more.step.gpus} on {more.nodes} machines: {time}, {cost}"
        return f"{sentence}; {why}."
    if (epochs := question.epochs) > 1:
        total, total_usd = format_time(epochs * plan.epoch_s), format_usd(epochs * plan.epoch_usd)
        sentence += f"; {epochs} epochs take {total} and cost {total_usd}"
    if within:
        return f"{sentence}, within your limits."
    return f"No number of GPUs keeps to your limits with a chance of 90%. Closest: {sentence}."


def _batch_sentences(
    step: ScaledStep, one_gpu_batch: int, other_batch: float, other: WholeNodePlan | None
) -> tuple[str, ...]:
    """Say how many images a step has.

    Parameters
    ----------
    one_gpu_batch : images per step on one GPU.
    other_batch : images per GPU with the batch kept the other way: one step's images shared by all GPUs instead of as
        many on each, or the reverse.
    other : that plan; None if no step is known at that batch.
    """
    if step.gpus == 1:
        return ()
    sentence = f"With {step.batch_per_gpu} images per GPU a step has {step.batch_size:,}."
    if other is None:
        kept_batch = step.batch_size if other_batch > step.batch_per_gpu else one_gpu_batch
        kept = (
            f"Kept at {kept_batch} images in all, each GPU would have {other_batch:g}: no step is known at that batch."
        )
    else:
        kept = (
            f"With {other.step.batch_per_gpu} per GPU, {other.step.batch_size:,} in all: "
            f"{format_time(other.epoch_s)} per epoch, {format_usd(other.epoch_usd)}."
        )
    times = step.batch_size / one_gpu_batch
    if times == 1:
        return sentence, kept, "The learning rate can stay, as a step has as many images as on one GPU."
    return (
        sentence,
        kept,
        f"For {times:g} times the images per step, the usual rule is {times:g} times the learning rate, reached "
        "over 5 epochs of warm-up (Goyal et al. 2017, arXiv:1706.02677); tested there up to 8,192 images.",
    )


def _product(plan: WholeNodePlan) -> float:
    return plan.epoch_s * plan.epoch_usd


def _words(plan: WholeNodePlan) -> str:
    nodes = f" ({plan.nodes} machines)" if plan.nodes > 1 else ""
    count = "1 × " if plan.step.gpus == 1 else ""
    return f"{count}{plan.plan.phrase}{nodes}"


class ScaledTraining(Struct, frozen=True, kw_only=True):
    """A training on several GPUs: how many, scaling curve and plans.

    Attributes
    ----------
    how_many : the answer first; None if no offer has a plan.
    offer : node type of the curve; None: `gpu` in a default node.
    one_gpu : starting point of the curve.
    last_paying : number of GPUs beyond which cost per epoch rises faster than speed; None: none.
    plans : each multi-GPU offer as one node, or as the requested number of GPUs; cheapest epoch first, offers where a
        step doesn't fit last.
    """

    question: ScaleoutQuestion
    network: NetworkParameters
    how_many: HowMany | None
    offer: Instance | None
    gpu: str
    one_gpu: OfferStep
    interconnect: Interconnect
    curve: tuple[CurveRow, ...]
    last_paying: int | None
    plans: tuple[WholeNodePlan, ...]
    warnings: tuple[Note, ...]

    def to_frame(self) -> Any:
        """One row per number of GPUs, as a `pandas.DataFrame`: step, interval, time and cost of an epoch."""
        names = "gpus", "nodes", "latency_ms", "low_ms", "high_ms", "epoch_s", "epoch_usd", "over_one"
        return frame_of({name: [getattr(row, name) for row in self.curve_documents] for name in names})

    @property
    def curve_documents(self) -> list[CurveDocument]:
        """The curve as JSON."""
        return [
            CurveDocument(**_on_gpus(row), over_one=row.over_one, by_strategy_ms=row.by_strategy_ms)
            for row in self.curve
        ]


def answer_scaleout(context: Context, question: ScaleoutQuestion) -> ScaledTraining:
    """Predict one GPU's step if needed, and scale it out."""
    return scaleout_plans(context, question).on(question.instance)


def scaleout_plans(
    context: Context, question: ScaleoutQuestion, training: TrainingQuestion | None = None
) -> ScaleoutPlans:
    """Answer as `answer_scaleout`, with the instance chosen by its plan.

    Parameters
    ----------
    training : of one GPU, in place of the question's profile.
    """
    model = scaleout_model(context)
    if question.total_gpus is not None:
        nodes_of(question.total_gpus, MAX_GPUS)
    if question.instance is not None and (question.link or question.gpus_per_node):
        raise InputError(
            "{link} and {gpus_per_node} describe a machine of your own: remove {instance}.",
            "link",
            "gpus_per_node",
            "instance",
        )
    return ScaleoutPlans(context, question, training or profiled_training(question), model)


class ScaleoutPlans(Struct, frozen=True, dict=True):
    """Plans of every offer, with the scaling curve on any of them."""

    context: Context
    question: ScaleoutQuestion
    training: TrainingQuestion | None
    model: ScaleoutModel

    def on(self, instance: str | None) -> ScaledTraining:
        """Scaling curve on nodes of one offer, by its name or its plan's label; None: eight of the anchor's GPU."""
        question, source, offer = self.question, self.source, None
        if instance is None:
            given = question.gpus_per_node
            per_node = _USUAL_NODE if given is None else whole_number("The number of GPUs per machine", given)
            links = load_interconnects().of_gpu(source.gpu, per_node).linked(question.link, None)
        else:
            planned = next((plan.offer for plan in self.plans if plan.label == instance), None)
            offer = planned or self._offers[1][instance]
            links = load_interconnects().of(offer)
        links = links.linked(None, question.network_gbit_per_s)
        curve = tuple(self._curve_row(gpus, offer, links) for gpus in self._counts(links.gpus))
        costs = [row.step.gpus * row.epoch_s if row.epoch_usd is None else row.epoch_usd for row in curve]
        place = stops_paying([row.epoch_s for row in curve], costs)
        warnings = (*source.warnings, *scaling_notes((row.step for row in curve), links))
        return ScaledTraining(
            question=question,
            network=self._network,
            how_many=self.how_many,
            one_gpu=source.step_at(source.instance if offer is None else offer.name, curve[0].step.batch_per_gpu),
            gpu=source.gpu if offer is None else offer.gpu,
            offer=offer,
            interconnect=links,
            curve=curve,
            last_paying=None if place is None else curve[place].step.gpus,
            plans=self.plans,
            warnings=tuple(dict.fromkeys(warnings)),
        )

    @cached_property
    def _offers(self) -> tuple[tuple[Instance, ...], Mapping[str, Instance]]:
        """Requested offers, and every instance at its effective price."""
        question, offer_filter = self.question, self.question.offer_filter
        if not self.source.instances and self.training is None:
            # A GPU that nobody rents out: its curve needs no offer.
            return (), self.context.catalog
        if question.market is not None:
            offers, _ = market_offers(
                self.context, offer_filter, question.market, price=question.price, spot_discount=question.spot_discount
            )
            return offers, {**self.context.catalog, **{offer.name: offer for offer in offers}}
        wanted, names, _ = filtered_context(self.context, offer_filter)
        catalog = wanted.catalog.with_prices(question.price)
        return tuple(catalog[name] for name in catalog if name in names), catalog

    @cached_property
    def source(self) -> PredictedOneGpu | MeasuredOneGpu:
        """Source of one GPU's step."""
        question = self.question
        if (self.training is None) == (question.step_ms is None):
            raise InputError("Give either {profile} or {step_ms}.", "profile", "step_ms")
        if self.training is not None:
            return PredictedOneGpu(self.context, self.training)
        return MeasuredOneGpu(self.context, question.gpu, question.step_ms or 0.0, question.batch)

    @cached_property
    def _network(self) -> NetworkParameters:
        question = self.question
        parameters = chosen_parameters(question.network, question.parameters, self.source.meta, self.source.pixels)
        if parameters is None:
            raise InputError(
                "Give the network, {network} ResNet50, or its parameters, {parameters} 25.6e6.", "network", "parameters"
            )
        return parameters

    def _one_gpu(self, row: OfferStep, batch_size: int) -> OneGpuStep:
        question, parameters = self.question, self._network.count
        return OneGpuStep.from_row(
            row, batch_size, parameters, question.gradients, self.source.pixels, question.tensors
        )

    def _counts(self, per_node: int) -> tuple[int, ...]:
        """Numbers of GPUs, ascending: part of a node, or whole nodes."""
        question = self.question
        for gpus in question.gpus:
            nodes_of(gpus, per_node)
        if question.gpus:
            return tuple(sorted(set(question.gpus)))
        usual, total = usual_counts(per_node), question.total_gpus
        if total and (total <= per_node or total % per_node == 0):
            usual = (*usual, total)
        # One process can't span nodes.
        most = per_node if Strategy(question.strategy) is Strategy.ONE_PROCESS else MAX_GPUS
        counts = [gpus for gpus in sorted(set(usual)) if gpus <= most and self._can_share(gpus)]
        if not counts:
            raise InputError(
                f"No number of GPUs divides a global batch of {question.global_batch}: choose another one."
            )
        return tuple(counts)

    def _can_share(self, gpus: int) -> bool:
        """Whether the batch divides evenly among that many GPUs, into a size at which steps are known."""
        batch = self.question.global_batch
        return batch is None or self._can_divide(batch, gpus)

    def _can_divide(self, batch: int, gpus: int) -> bool:
        return batch % gpus == 0 and _scalable(batch // gpus) and self.source.supports_batch(batch // gpus)

    def _batch(self, gpus: int) -> int:
        batch = self.question.global_batch
        return self.source.batch_size if batch is None else batch_per_gpu(batch, gpus)

    def _curve_row(self, gpus: int, offer: Instance | None, links: Interconnect) -> CurveRow:
        question, source = self.question, self.source
        name, batch = source.instance if offer is None else offer.name, question.global_batch
        on_one = self._one_gpu(source.step_at(name, self._batch(gpus)), self._batch(gpus))
        can = [way for way in Strategy if way is not Strategy.ONE_PROCESS or (on_one.tensors and gpus <= links.gpus)]
        chosen = Strategy(question.strategy)
        every = {
            way: self._epoch(scaled_step(self.model, on_one, links, gpus, way), offer)
            for way in dict.fromkeys((chosen, *can))
        }
        epoch, over_one = every[chosen], None
        if batch is not None and _scalable(batch) and source.supports_batch(batch):
            # At most the number of GPUs: one GPU can process the whole batch in consecutive parts.
            whole_ms = source.step_at(name, batch).latency_ms
            if whole_ms is not None:
                over_one = min(whole_ms, gpus * on_one.latency_ms) / epoch.step.latency_ms
        others = {way: every[way] for way in can}
        return CurveRow(
            epoch.step, epoch.epoch_s, epoch.epoch_usd, over_one, others, source.fit_at(name, on_one.batch_size)
        )

    def _epoch(self, step: ScaledStep, offer: Instance | None) -> ScaledEpoch:
        question = self.question
        work = Workload(question.images, step.batch_size, validation_images=question.validation_images)
        epoch_s = float(work.duration_s(step.latency_ms))
        usd = None if offer is None else cost_usd(MS_PER_S * epoch_s, step.nodes * offer.usd_per_hour)
        return ScaledEpoch(step, epoch_s, usd)

    @cached_property
    def plans(self) -> tuple[WholeNodePlan, ...]:
        """Offers as whole nodes, as in `ScaledTraining`, with the minimum confidence; NoOffersError if none has it."""
        total = self.question.total_gpus
        several = [offer for offer in self._offers[0] if total or offer.gpu_count > 1]
        nodes = self._planned((offer, total or offer.gpu_count, None) for offer in several)
        sure = [plan for plan in nodes if self._is_sure(plan)]
        if nodes and not sure:
            best = max(plan_confidence(plan.plan) for plan in nodes)
            raise NoOffersError(f"No prediction has confidence {self.question.confidence}: the highest is {best.word}.")
        return tuple(sorted(sure, key=lambda plan: (does_not_fit(plan.fit), plan.epoch_usd, plan.epoch_s)))

    def _is_sure(self, plan: WholeNodePlan) -> bool:
        return plan_confidence(plan.plan) >= self.question.offer_filter.least_confidence

    @cached_property
    def best(self) -> WholeNodePlan | None:
        """The plan to take; None if no offer has one.

        The cheapest within the deadline, or the fastest within the budget, with a chance of 90%. Without limits the
        cheapest with the given number of GPUs, else the one whose product of time and cost is least. Several machines
        only of two GPUs or more, for a given number, or within limits over a known network.
        """
        question, total = self.question, self.question.total_gpus
        limits = epoch_limits(question)
        spans = limits.given and Strategy(question.strategy) is not Strategy.ONE_PROCESS
        wanted = [
            (offer, gpus, None)
            for offer in self._offers[0]
            for gpus in ([total] if total else usual_counts(offer.gpu_count))
            if offer.status != RETIRED
            and gpus >= offer.gpu_count
            and (
                gpus == offer.gpu_count
                or (offer.gpu_count > 1 and (total or (spans and self._is_network_known(offer))))
            )
        ]
        plans = [plan for plan in self._planned(wanted) if not does_not_fit(plan.fit) and self._is_sure(plan)]
        within = [plan for plan in plans if self._keeps(plan)]
        if not limits.given:
            return min(plans, key=lambda plan: plan.epoch_usd if total else _product(plan), default=None)
        if not within:
            return min(plans, key=lambda plan: plan.excess, default=None)
        return min(within, key=lambda plan: plan.epoch_s if limits.deadline_h is None else plan.epoch_usd)

    def _keeps(self, plan: WholeNodePlan) -> bool:
        """Whether a plan keeps to the limits."""
        chance = plan.plan.within_limits
        return plan.excess <= 1 and (chance is None or chance >= epoch_limits(self.question).certainty)

    @cached_property
    def how_many(self) -> HowMany | None:
        """The number of GPUs and the offer to take."""
        question, best = self.question, self.best
        if best is None:
            return None
        gpus, one_gpu_batch, within = best.step.gpus, self.source.batch_size, self._keeps(best)
        spans = best.offer.gpu_count > 1 and Strategy(question.strategy) is not Strategy.ONE_PROCESS
        can_grow = spans and not question.total_gpus
        more = next(iter(self._planned([(best.offer, 2 * gpus, None)] if can_grow else [])), None)
        if more is not None and _product(more) >= _product(best):
            more = None
        other_batch, can = float(one_gpu_batch), True
        if question.global_batch is None:
            other_batch, can = one_gpu_batch / gpus, self._can_divide(one_gpu_batch, gpus)
        other = next(iter(self._planned([(best.offer, gpus, int(other_batch))] if can else [])), None)
        return HowMany(
            sentence=_sentence(question, best, more, within=within),
            instance=best.offer.name,
            nodes=best.nodes,
            epoch_s=best.epoch_s,
            epoch_usd=best.epoch_usd,
            gpus=gpus,
            batch_per_gpu=best.step.batch_per_gpu,
            batch_size=best.step.batch_size,
            epochs=question.epochs,
            total_s=question.epochs * best.epoch_s,
            total_usd=question.epochs * best.epoch_usd,
            within=within,
            batch_sentences=_batch_sentences(best.step, one_gpu_batch, other_batch, other),
        )

    def _links(self, offer: Instance) -> Interconnect:
        """Return an offer's links, with the network between machines that was given."""
        return load_interconnects().of(offer).linked(None, self.question.network_gbit_per_s)

    def _is_network_known(self, offer: Instance) -> bool:
        return self._links(offer).network_gbit_per_s is not None

    def _planned(self, wanted: Iterable[tuple[Instance, int, int | None]]) -> list[WholeNodePlan]:
        """Each offer with all of a number of GPUs training, as a plan of `answer_advise`; impossible ones are left out.

        Parameters
        ----------
        wanted : offer, number of GPUs, and the batch of each; None: the question's.
        """
        question, places = self.question, list[tuple[Instance, int, OfferStep]]()
        scaled: dict[int, tuple[Interconnect, ScaledStep]] = {}
        for offer, gpus, given in wanted:
            if gpus > MAX_GPUS or gpus % offer.gpu_count or offer.name not in self.source.instances:
                continue
            if given is None and not self._can_share(gpus):
                continue
            batch_size, links = given or self._batch(gpus), self._links(offer)
            step_there, strategy = self.source.step_at(offer.name, batch_size), Strategy(question.strategy)
            step = scaled_step(self.model, self._one_gpu(step_there, batch_size), links, gpus, strategy)
            scaled[len(places)] = links, step
            places.append((offer, batch_size, step_there))
        steps = [step for _, step in scaled.values()]
        paid = [
            replace(offer, usd_per_hour=step.nodes * offer.usd_per_hour)
            for (offer, _, _), step in zip(places, steps, strict=True)
        ]
        table = costed(
            Workload(question.images, 1, validation_images=question.validation_images),
            on_all_gpus(joined([step_there for _, _, step_there in places], paid), scaled),
            epoch_limits(question),
            batch_size=np.array([batch_size for _, batch_size, _ in places], int),
            fits=[self.source.fit_at(offer.name, batch_size) for offer, batch_size, _ in places],
            anchor=self.source.gpu,
        )
        return [
            WholeNodePlan(offer, step, plan) for (offer, _, _), step, plan in zip(places, steps, table, strict=True)
        ]


def _scalable(batch_size: int) -> bool:
    """Whether steps can be scaled to a batch size of one GPU."""
    return BATCH_SIZES[0] <= batch_size <= BATCH_SIZES[1]


def usual_counts(per_node: int) -> tuple[int, ...]:
    """Default numbers of GPUs: 1, 2, 4, ... of a node, the whole node, then 2, 4, ... nodes.

    >>> usual_counts(8), usual_counts(6)
    ((1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 6, 12, 24, 48))
    """
    doubled = [2**power for power in range(MAX_GPUS.bit_length())]
    parts = {count for count in doubled if count <= per_node}
    return tuple(sorted(parts | {per_node * count for count in doubled if per_node * count <= MAX_GPUS}))


def batch_per_gpu(global_batch: int, gpus: int) -> int:
    """Share of a batch per GPU; raises InputError if it can't be divided evenly.

    >>> batch_per_gpu(256, 8)
    32
    """
    if whole_number("The global batch", global_batch) % whole_number("The number of GPUs", gpus):
        raise InputError(
            f"A global batch of {global_batch} does not divide evenly over {gpus} GPUs: choose a multiple."
        )
    return global_batch // gpus


def stops_paying(times: Sequence[float], costs: Sequence[float]) -> int | None:
    """Index of the last row worth taking, by increasing number of GPUs: beyond it, cost rises faster than speed.

    None if each additional one pays off.

    >>> stops_paying([100, 55, 40], [1.0, 1.1, 1.6]), stops_paying([100, 50], [1, 1])
    (1, None)
    """
    for place in range(len(times) - 1):
        faster, dearer = times[place] / times[place + 1], costs[place + 1] / costs[place]
        if dearer > faster:
            return place
    return None


class OnGpusDocument(Document, frozen=True):
    """A step on a number of GPUs, and an epoch; the fit is of one GPU, null where it is unknown or was measured."""

    gpus: int
    nodes: int
    strategy: Strategy
    batch_per_gpu: int
    batch_size: int
    latency_ms: float
    low_ms: float | None
    high_ms: float | None
    images_per_s: float
    efficiency: float
    speed_up: float
    speed_up_low: float | None
    speed_up_high: float | None
    one_gpu_ms: float
    fits_in_memory: Verdict | None
    largest_batch: int | None
    epoch_s: float
    epoch_usd: float | None


class CurveDocument(OnGpusDocument, frozen=True):
    """A point of the scaling curve, also with each other strategy."""

    over_one: float | None
    by_strategy_ms: Mapping[Strategy, float]


class NodesDocument(OnGpusDocument, frozen=True):
    """A training on whole machines of an offer."""

    epoch_usd: float
    instance: str
    provider: str
    gpu: str
    gpu_count: int
    region: str
    market: str
    usd_per_hour: float
    usd_per_gpu_hour: float
    as_of: str
    price_note: str
    status: str


def _on_gpus(row: CurveRow | WholeNodePlan) -> dict[str, Any]:
    """Return the values of an `OnGpusDocument` by their keys."""
    step, fit = row.step, row.fit
    speed_up_low, speed_up_high = step.speed_up_range or (None, None)
    names = "gpus", "nodes", "strategy", "batch_per_gpu", "batch_size", "latency_ms", "images_per_s", "efficiency"
    return {
        **{name: getattr(step, name) for name in (*names, "speed_up", "one_gpu_ms")},
        "low_ms": step.interval and step.interval.low_ms,
        "high_ms": step.interval and step.interval.high_ms,
        "speed_up_low": speed_up_low,
        "speed_up_high": speed_up_high,
        "fits_in_memory": fit and fit.verdict,
        "largest_batch": fit and fit.largest_batch,
        "epoch_s": row.epoch_s,
        "epoch_usd": row.epoch_usd,
    }


class OneGpuDocument(Document, frozen=True):
    """One GPU's step."""

    latency_ms: float | None
    low_ms: float | None
    high_ms: float | None
    basis: Basis
    note: str


class ScaleoutDocument(Document, frozen=True):
    """`ScaledTraining` as JSON."""

    how_many: HowMany | None
    network: str | None
    parameters: float
    gradients: Gradients
    strategy: Strategy
    global_batch: int | None
    images: int
    validation_images: int
    instance: str | None
    gpu: str
    one_gpu: OneGpuDocument
    interconnect: Interconnect
    curve: Sequence[CurveDocument]
    last_paying: int | None
    offers: Sequence[NodesDocument]
    interval_level: float
    warnings: Sequence[Note]
    prices_version: str

    @classmethod
    def of(cls, record: ScaledTraining) -> Self:
        """Write an answer."""
        question, offers = record.question, [plan.offer for plan in record.plans]
        rented = zip(record.plans, rows_as(RentedRow, offer_cells(offers)), strict=True)
        return cls(
            how_many=record.how_many,
            network=record.network.name or None,
            parameters=record.network.count,
            gradients=question.gradients,
            strategy=Strategy(question.strategy),
            global_batch=question.global_batch,
            images=question.images,
            validation_images=question.validation_images,
            instance=None if record.offer is None else record.offer.name,
            gpu=record.gpu,
            one_gpu=rows_as(OneGpuDocument, record.one_gpu.table.columns())[record.one_gpu.number],
            interconnect=record.interconnect,
            curve=record.curve_documents,
            last_paying=record.last_paying,
            offers=[
                NodesDocument(
                    **{**_on_gpus(plan), **asdict(offer), "usd_per_hour": plan.usd_per_hour},
                    region=plan.offer.region,
                    market=plan.offer.market,
                )
                for plan, offer in rented
            ],
            interval_level=LEVEL,
            warnings=record.warnings,
            prices_version=prices_version(offers),
        )
