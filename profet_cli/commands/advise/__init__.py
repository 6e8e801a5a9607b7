"""`profet advise`: which instance to rent for a training, and how sure that is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from profet_cli.arguments import add_format, add_training, names
from profet_cli.commands.advise.document import advice_document
from profet_cli.commands.advise.text import print_advice
from profet_cli.inputs import open_models
from profet_cli.memory import fits_in_memory
from profet_cli.output import print_json, print_warnings
from profet_cli.training import predicted_training
from profet_core.advice.advise import Advice, advise
from profet_core.advice.comparison import Comparison, compare
from profet_core.advice.plans import Plan
from profet_core.advice.request import Limits, Workload
from profet_core.catalog import load_catalog
from profet_core.catalog.offers import offers_in_market
from profet_core.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The training, its limits, and the offers to choose from."""
    add_format(parser)
    add_training(parser)
    parser.add_argument("--deadline-hours", type=float, metavar="H", help="when it must be done: the cheapest in time")
    parser.add_argument("--budget-usd", type=float, metavar="USD", help="what it may cost: the fastest within it")
    parser.add_argument(
        "--certainty", type=float, default=0.9, metavar="SHARE", help="chance that a limit is kept to (default: 0.9)"
    )
    parser.add_argument(
        "--market",
        choices=["on-demand", "spot", "reserved", "any"],
        default="on-demand",
        help="offers to choose from (default: on-demand)",
    )
    parser.add_argument("--region", help="offers there only (default: the usual one of each instance)")
    parser.add_argument(
        "--spot-discount",
        type=float,
        metavar="SHARE",
        help="guess spot prices this far below on-demand, 0 to 1, where the catalogue has none",
    )
    parser.add_argument("--include-retired", action="store_true", help="instances that can't be rented any more too")
    parser.add_argument("--compare", type=names, metavar="A,B", help="two instances: which one, and how sure")


def run(options: argparse.Namespace) -> None:
    """Predict, advise and print."""
    limits = Limits(options.deadline_hours, options.budget_usd, options.certainty)
    models, catalog = open_models(options), load_catalog()
    offers = offers_in_market(
        catalog,
        options.market,
        region=options.region,
        own_usd_per_hour=dict(options.price),
        spot_discount=options.spot_discount,
    )
    training = predicted_training(options, models, catalog)
    steps = training.steps
    advice = advise(
        steps.step_times,
        offers,
        Workload(options.images, steps.batch_size, options.epochs, options.validation_images),
        limits,
        include_retired=options.include_retired,
        fits=fits_in_memory(models, catalog, training.profile, options.anchor, steps.latencies_ms, steps.batch_size),
        interval_level=training.prediction.interval_level,
    )
    comparison = None if options.compare is None else _compared(advice, options.compare)
    if options.format == "json":
        print_json(advice_document(advice, comparison, options.anchor, training.warnings))
    else:
        print_warnings(training.warnings)
        print_advice(advice, comparison)


def _compared(advice: Advice, chosen: Sequence[str]) -> Comparison:
    """Both plans that `--compare` names by instance, or by 'instance market'."""
    by_name: dict[str, Plan] = {plan.instance: plan for plan in reversed(advice.plans)}
    by_name |= {plan.label: plan for plan in advice.plans}
    unknown = next((name for name in chosen if name not in by_name), None)
    if unknown is not None or len(chosen) != 2:
        wrong = f"not {unknown!r}" if unknown is not None else f"not {len(chosen)} of them"
        raise InputError(f"--compare takes two of {', '.join(plan.label for plan in advice.plans)}; {wrong}.")
    a, b = (by_name[name] for name in chosen)
    return compare(a, b, advice.request.interval_level)
