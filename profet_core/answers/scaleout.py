"""Training on 1 to 64 GPUs: scaling curve and plans per offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from profet_core.advice.plans import Limits, Request, Workload, plan_confidence, plan_of
from profet_core.advice.whole_nodes import (
    CurveRow,
    Gradients,
    ScaledEpoch,
    ScaledTraining,
    WholeNodePlan,
    batch_per_gpu,
    on_gpus,
    stops_paying,
    usual_counts,
)
from profet_core.answers.advise import NO_SCALEOUT
from profet_core.answers.one_gpu import OneGpu, PredictedOneGpu, measured_one_gpu
from profet_core.answers.questions import (
    Context,
    FieldNames,
    NetworkParameters,
    OffersQuestion,
    TrainingQuestion,
    asked_parameters,
    market_offers,
    narrowed_context,
)
from profet_core.catalog.collection import Narrowing, NoOffersError
from profet_core.catalog.instance import Instance
from profet_core.catalog.interconnects import Interconnect, load_interconnects
from profet_core.cost import cost_usd, epoch_steps
from profet_core.errors import ArtifactError, InputError
from profet_core.memory.fit import does_not_fit
from profet_core.multi_gpu.law import ScaleoutModel, Strategy
from profet_core.multi_gpu.step import (
    MOST_GPUS,
    GpuStep,
    ScaledStep,
    scaled_step,
    scaling_warnings,
)
from profet_core.precision.names import AS_PROFILED
from profet_core.prediction.sizes import BATCH_SIZES
from profet_core.units import MS_PER_S, positive_number, whole_number

#: Default images per epoch: ImageNet's.
USUAL_IMAGES = 1_281_167
#: Default GPUs per node.
_USUAL_NODE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleoutQuestion(OffersQuestion):
    """A step on several GPUs, from a profile or from one GPU's measured step.

    Attributes
    ----------
    training : the profile and its training; None where `step_ms` is given. Its `at_batch` is one GPU's.
    step_ms, batch : a step measured on the one GPU in `gpu`, and its batch size; else None.
    gpus : numbers of GPUs; empty: 1, 2, 4, ... as the node allows.
    total_gpus : use each offer as whole nodes with this total number of GPUs; None: one node each.
    global_batch : shared by all GPUs (strong scaling); None: each keeps its own batch (weak scaling).
    instance : node type for the curve, or the label of a plan; None: eight of the anchor's GPU.
    network, parameters : source of the gradient size, by name or by number; None: from the profile.
    precision : of the training, as in `ProfileQuestion`.
    gradients : precision in which gradients are sent, fp32, fp16 or bf16: frameworks keep FP32 gradients in mixed
        precision by default.
    images, validation_images : per epoch; None: those of `training`, else ImageNet's and none.
    confidence, price, spot_discount : as in `AdviseQuestion`.
    """

    training: TrainingQuestion | None = None
    step_ms: float | None = None
    batch: int | None = None
    gpus: Sequence[int] = ()
    strategy: str = Strategy.RING.value
    global_batch: int | None = None
    instance: str | None = None
    network: str | None = None
    parameters: float | None = None
    tensors: int | None = None
    precision: str = AS_PROFILED
    gradients: str = "fp32"
    images: int | None = None
    validation_images: int | None = None
    total_gpus: int | None = None
    confidence: str | None = None
    price: Mapping[str, float] = field(default_factory=dict)
    spot_discount: float | None = None

    @property
    def narrowing(self) -> Narrowing:
        """Requested offers and minimum confidence."""
        return self.narrowed_to(self.confidence)

    @property
    def epoch_images(self) -> int:
        """Training images per epoch."""
        given = self.training.images if self.images is None and self.training is not None else self.images
        return USUAL_IMAGES if given is None else given

    @property
    def epoch_validation_images(self) -> int:
        """Validation images per epoch."""
        if self.validation_images is not None:
            return self.validation_images
        return self.training.validation_images if self.training is not None else 0


#: Fields that apply to a profile only, named as options and request fields.
OF_PROFILE = ("anchor", "latency_ms", "steps", "profiled_batch", "profiled_pixels", "profiled_precision")


def scaleout_question(given: Mapping[str, Any], field_names: FieldNames) -> ScaleoutQuestion:
    """Build the question from option and request field names.

    These are `profile` with `OF_PROFILE` and `batch`, or `step_ms` with `batch`; and fields of `ScaleoutQuestion`.

    Raises
    ------
    InputError : a profile option is given without a profile, or its batch is given in two ways.
    """
    rest = {name: value for name, value in given.items() if name not in ("profile", "batch", *OF_PROFILE)}
    of_profile = {name: given[name] for name in OF_PROFILE if given.get(name) is not None}
    if given.get("profile") is None:
        if of_profile:
            named = ", ".join(field_names.option(name) for name in of_profile)
            raise InputError(f"{named} needs {field_names.profile}.")
        return ScaleoutQuestion(**rest, batch=given.get("batch"))
    if given.get("batch") is not None and given.get("global_batch") is not None:
        each, of_all = (field_names.option(name) for name in ("batch", "global_batch"))
        raise InputError(f"{each} is the batch per GPU, {of_all} the global batch: give one of them.")
    images = rest.get("images", USUAL_IMAGES)
    training = TrainingQuestion(
        profile=given["profile"],
        images=images,
        at_batch=given.get("batch"),
        precision=rest.get("precision") or AS_PROFILED,
        **of_profile,
    )
    return ScaleoutQuestion(**rest, training=training)


def answer_scaleout(context: Context, question: ScaleoutQuestion, field_names: FieldNames) -> ScaledTraining:
    """Predict one GPU's step if needed, and scale it out.

    Raises
    ------
    ProfetError : the question is invalid; one line says what is wrong and what to do.
    """
    return scaleout_plans(context, question, field_names).on(question.instance)


def scaleout_plans(context: Context, question: ScaleoutQuestion, field_names: FieldNames) -> ScaleoutPlans:
    """As `answer_scaleout`, with the instance chosen by its plan; raises the same errors."""
    model = context.models.scaleout
    if model is None:
        raise ArtifactError(NO_SCALEOUT)
    if question.strategy not in list(Strategy):
        raise InputError(f"Unknown strategy {question.strategy!r}: choose one of {', '.join(Strategy)}.")
    if question.total_gpus is not None and whole_number("The number of GPUs", question.total_gpus) > MOST_GPUS:
        raise InputError(f"The number of GPUs must be at most {MOST_GPUS}, not {question.total_gpus}.")
    return ScaleoutPlans(context, question, field_names, model)


@dataclass(frozen=True)
class ScaleoutPlans:
    """Plans of every offer, with the scaling curve on any of them."""

    context: Context
    question: ScaleoutQuestion
    field_names: FieldNames
    model: ScaleoutModel

    def on(self, instance: str | None) -> ScaledTraining:
        """Scaling curve on nodes of one offer, by its name or its plan's label; None: eight of the anchor's GPU."""
        question = self.question
        offer = None if instance is None else self._offer(instance)
        links = self._links(offer)
        counts = self._counts(links.gpus, offer)
        network = self._network
        curve = tuple(self._curve_row(gpus, offer, links) for gpus in counts)
        costs = [row.step.gpus * row.epoch_s if row.epoch_usd is None else row.epoch_usd for row in curve]
        place = stops_paying([row.epoch_s for row in curve], costs)
        plans = self.plans
        warnings = (*self.source.warnings, *scaling_warnings((row.step for row in curve), links))
        return ScaledTraining(
            network=network.name,
            parameters=network.count,
            gradients=question.gradients,
            strategy=question.strategy,
            global_batch=question.global_batch,
            images=question.epoch_images,
            validation_images=question.epoch_validation_images,
            one_gpu=self.source.step_at(self._start(offer), curve[0].step.batch_per_gpu),
            gpu=self._gpu(offer),
            offer=offer,
            interconnect=links,
            curve=curve,
            last_paying=None if place is None else curve[place].step.gpus,
            plans=plans,
            warnings=tuple(dict.fromkeys(warnings)),
        )

    @cached_property
    def _offers(self) -> tuple[tuple[Instance, ...], Mapping[str, Instance]]:
        """Requested offers, and every instance at its effective price."""
        question, narrowing = self.question, self.question.narrowing
        if question.market is not None:
            found, _ = market_offers(
                self.context, narrowing, question.market, price=question.price, spot_discount=question.spot_discount
            )
            return found, {**self.context.catalog, **{offer.name: offer for offer in found}}
        wanted, names = narrowed_context(self.context, narrowing)
        catalog = wanted.catalog.with_prices(question.price)
        return tuple(catalog[name] for name in catalog if name in names), catalog

    def _offer(self, instance: str) -> Instance:
        """The offer of a plan by its label; else an instance."""
        planned = next((plan.offer for plan in self.plans if plan.label == instance), None)
        return planned or self._offers[1][instance]

    @cached_property
    def source(self) -> OneGpu:
        """Source of one GPU's step."""
        question, field_names = self.question, self.field_names
        if (question.training is None) == (question.step_ms is None):
            raise InputError(f"Give either {field_names.profile} or {field_names.option('step_ms')}.")
        if question.training is not None:
            return PredictedOneGpu(self.context, question.training, field_names)
        return measured_one_gpu(self.context, question.gpu, question.step_ms or 0.0, question.batch, field_names)

    @cached_property
    def _network(self) -> NetworkParameters:
        question, option = self.question, self.field_names.option
        found = asked_parameters(question.network, question.parameters, self.source.meta, self.source.pixels)
        if found is None:
            raise InputError(
                f"Give the network, {option('network')} ResNet50, or its parameters, {option('parameters')} 25.6e6."
            )
        return found

    def _gpu(self, offer: Instance | None) -> str:
        return self.source.gpu if offer is None else offer.gpu

    def _start(self, offer: Instance | None) -> str:
        return self.source.instance if offer is None else offer.name

    def _links(self, offer: Instance | None) -> Interconnect:
        if offer is None:
            return load_interconnects().of_gpu(self.source.gpu, _USUAL_NODE)
        return load_interconnects().of(offer)

    def _counts(self, per_node: int, offer: Instance | None) -> tuple[int, ...]:
        """Numbers of GPUs, ascending; each is on one node or on a number of whole nodes.

        Raises
        ------
        InputError : a number that fits no whole nodes, or exceeds what was measured.
        """
        if not self.question.gpus:
            # One process can't span nodes.
            most = per_node if self.question.strategy == Strategy.ONE_PROCESS else MOST_GPUS
            total = self.question.total_gpus
            usual = {*usual_counts(per_node), *((total,) if total and _fits_nodes(total, per_node) else ())}
            known = [
                gpus
                for gpus in sorted(usual)
                if gpus <= most and self._can_share(gpus) and self.source.tells(self._batch(gpus))
            ]
            if not known:
                raise InputError(
                    f"No number of GPUs divides a global batch of {self.question.global_batch}: choose another one."
                )
            return tuple(known)
        for gpus in self.question.gpus:
            if whole_number("The number of GPUs", gpus) > MOST_GPUS:
                raise InputError(
                    f"The number of GPUs must be at most {MOST_GPUS}, not {gpus}: there are no measurements above that."
                )
            if not _fits_nodes(gpus, per_node):
                node = f"{per_node} GPUs" if offer is None else f"{offer.name}, which has {per_node} GPUs"
                raise InputError(f"{gpus} GPUs don't fill whole machines of {node}: choose a multiple.")
        return tuple(sorted(set(self.question.gpus)))

    def _can_share(self, gpus: int) -> bool:
        """Whether the batch divides evenly among that many GPUs, into a size that steps can be scaled to."""
        batch = self.question.global_batch
        return batch is None or (batch % gpus == 0 and BATCH_SIZES[0] <= batch // gpus <= BATCH_SIZES[1])

    def _batch(self, gpus: int) -> int:
        if self.question.global_batch is not None:
            return batch_per_gpu(self.question.global_batch, gpus)
        return self.source.batch_size

    def _step(self, instance: str, gpus: int) -> GpuStep:
        """One GPU's step at its share of the batch."""
        batch_size = self._batch(gpus)
        found = self.source.step_at(instance, batch_size)
        return GpuStep(
            latency_ms=positive_number(f"The latency of {instance}", found.latency_ms),
            batch_size=batch_size,
            parameters=self._network.count,
            gradients=self.question.gradients,
            pixels=self.source.pixels,
            tensors=self.question.tensors,
            log_sd=found.log_sd,
        )

    def _curve_row(self, gpus: int, offer: Instance | None, links: Interconnect) -> CurveRow:
        step = self._step(self._start(offer), gpus)
        epoch = self._epoch(scaled_step(self.model, step, links, gpus, Strategy(self.question.strategy)), offer)
        scaled = epoch.step
        can = [each for each in Strategy if each is not Strategy.ONE_PROCESS or (step.tensors and scaled.nodes == 1)]
        others = {each: self._epoch(scaled_step(self.model, step, links, gpus, each), offer) for each in can}
        fit = self.source.fit_at(self._start(offer), step.batch_size)
        return CurveRow(scaled, epoch.epoch_s, epoch.epoch_usd, self._over_one(scaled, offer), others, fit)

    def _epoch(self, step: ScaledStep, offer: Instance | None) -> ScaledEpoch:
        one = self.source.step_at(self._start(offer), step.batch_per_gpu)
        if one.log_sd is None and not one.basis.is_exact:
            # The error of scaling alone is not the error of the step.
            step = replace(step, estimate=replace(step.estimate, log_sd=None))
        epoch_ms = (
            epoch_steps(self.question.epoch_images, step.batch_size, self.question.epoch_validation_images)
            * step.latency_ms
        )
        usd = None if offer is None else cost_usd(epoch_ms, step.nodes * offer.usd_per_hour)
        return ScaledEpoch(step, epoch_ms / MS_PER_S, usd)

    def _over_one(self, scaled: ScaledStep, offer: Instance | None) -> float | None:
        """Speedup, at most the number of GPUs: one GPU can process the whole batch in consecutive parts."""
        batch = self.question.global_batch
        if batch is None or not self._can_share(1) or not self.source.tells(batch):
            return None
        whole_ms = self.source.step_at(self._start(offer), batch).latency_ms
        return None if whole_ms is None else min(whole_ms, scaled.gpus * scaled.one_gpu_ms) / scaled.latency_ms

    @cached_property
    def plans(self) -> tuple[WholeNodePlan, ...]:
        """Offers as whole nodes, as in `ScaledTraining`, with the minimum confidence.

        Raises
        ------
        NoOffersError : no number reaches that confidence.
        """
        found = [plan for offer in self._offers[0] if (plan := self._plan(offer)) is not None]
        least = self.question.narrowing.least_confidence
        sure = [plan for plan in found if plan_confidence(plan.plan) >= least]
        if found and not sure:
            best = max(plan_confidence(plan.plan) for plan in found)
            raise NoOffersError(f"No prediction has confidence {self.question.confidence}: the highest is {best.word}.")
        return tuple(sorted(sure, key=lambda plan: (does_not_fit(plan.fit), plan.epoch_usd, plan.epoch_s)))

    def _plan(self, offer: Instance) -> WholeNodePlan | None:
        """One offer with all GPUs of its nodes training, as a plan of `answer_advise`; None if impossible."""
        question, total = self.question, self.question.total_gpus
        gpus = total or offer.gpu_count
        if gpus > MOST_GPUS or gpus % offer.gpu_count or (total is None and offer.gpu_count == 1):
            return None
        if offer.name not in self.source.known or not self._can_share(gpus) or not self.source.tells(self._batch(gpus)):
            return None
        batch_size = self._batch(gpus)
        one = self.source.step_at(offer.name, batch_size)
        shared = Gradients(self._network.count, question.gradients, self.source.pixels, question.tensors)
        step, time = on_gpus(self.model, one, offer, gpus, shared, batch_size, Strategy(question.strategy))
        paid = replace(offer, usd_per_hour=step.nodes * offer.usd_per_hour)
        work = Workload(question.epoch_images, batch_size, validation_images=question.epoch_validation_images)
        plan = plan_of(Request(work, Limits()), time, paid)
        return WholeNodePlan(
            offer=offer,
            step=step,
            one=one,
            plan=plan,
            fit=self.source.fit_at(offer.name, batch_size),
            is_anchor=self.source.gpu in (offer.name, offer.gpu),
        )


def _fits_nodes(gpus: int, per_node: int) -> bool:
    return gpus <= per_node or gpus % per_node == 0
