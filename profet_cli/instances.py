"""`profet instances` and `gpus`: the catalog, and the user's own instances, prices and GPUs in it."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from msgspec.structs import replace

from profet_cli.commands import OneLineParser, add_commands
from profet_cli.options import add_format, add_question, asked, known_gpus
from profet_cli.output import Column, gpus_cell, price_date, print_json, print_rows, print_warnings
from profet_cli.prices import add_refresh, run_refresh
from profet_core.answers.context import Context, InstanceDocument, OfferDocument, answer_instances
from profet_core.catalog import Catalog, Gpu, Instance, custom_path, load_catalog, load_gpus, load_shipped
from profet_core.catalog.collection import NoOffersError
from profet_core.catalog.custom_gpus import (
    CUSTOM_GPUS_VARIABLE,
    GPU_COLUMNS,
    HAS_NONE,
    POINT_COLUMNS,
    PRECISIONS,
    SHEET_COLUMNS,
    USD_PER_KWH,
    CustomGpu,
    ThroughputPoint,
    changed_cells,
    custom_gpu_from,
    custom_gpus_path,
    read_custom_gpus,
    with_offers_of,
    write_custom_gpus,
)
from profet_core.catalog.custom_instances import (
    CUSTOM_VARIABLE,
    changing_custom,
    custom_instance,
    default_cells,
    read_custom_instances,
    with_updates,
    writable,
    write_custom_instances,
)
from profet_core.catalog.gpus import amp_words, supported_precisions
from profet_core.catalog.instance import FILE_COLUMNS, MARKETS, STATUSES
from profet_core.errors import ArtifactError, InputError, nearest
from profet_core.files import home_folder, shipped_folder
from profet_core.layers.custom_gpu import check_custom_gpu
from profet_core.prediction.models import MANIFEST_NAME, load_models
from profet_core.questions import InstancesQuestion
from profet_profiles.units import listed_price

#: Action -> its line in `profet instances --help`.
_INSTANCE_ACTIONS = {
    "list": "list the catalog (default action)",
    "add": "add a custom instance or price",
    "remove": "remove custom rows",
    "refresh": "fetch published prices into your file (needs gpuhunt and network access)",
}


def add_instances(parser: OneLineParser) -> None:
    """Declare the list's arguments, and the actions with theirs."""
    _add_listing(parser)
    actions = add_commands(parser, _INSTANCE_ACTIONS, dest="action")
    _add_listing(actions["list"], default=argparse.SUPPRESS)
    for name, declare, run_action in (
        ("add", _add_offer_options, _add_offer),
        ("remove", _add_removal, _remove_offers),
        ("refresh", add_refresh, run_refresh),
    ):
        declare(actions[name])
        actions[name].set_defaults(run=run_action)


def _add_listing(parser: argparse.ArgumentParser, **default: str) -> None:
    """Which offers; `default=argparse.SUPPRESS` after the word `list`, for it would overwrite what came before."""
    add_question(parser, InstancesQuestion, **default)


def run_instances(options: argparse.Namespace) -> None:
    """Every instance at its usual price, or all offers of a market and region; "measured" ones can be the anchor."""
    question = asked(options, InstancesQuestion)
    try:
        rows = _answered(question)
    except NoOffersError as error:
        rows = []
        if options.format != "json":
            print_warnings([f"{error} `profet instances add` and `refresh` add more"])
    if options.format == "json":
        print_json(rows)
        return
    columns: list[Column] = [
        ("instance", "name"),
        ("cloud", "provider"),
        ("GPU", "gpu"),
        ("GPUs", "gpu_count"),
        ("$/h", "usd_per_hour", listed_price),
        ("$/GPU/h", "usd_per_gpu_hour", listed_price),
        ("region", "region"),
        ("market", lambda row: f"{row.market}, own" if row.custom else row.market),
        ("price date", price_date),
        ("status", "status"),
        ("basis", "basis"),
    ]
    print_rows(rows, columns)
    old = sum(bool(row.price_note) for row in rows)
    if old:
        print(f"old: {old} of these prices are more than a year old; `profet instances refresh` updates them")


def _answered(question: InstancesQuestion) -> list[InstanceDocument]:
    """Offers with their basis; without readable models the catalog is listed too, which is said."""
    gpus = load_gpus()
    custom = read_custom_gpus(custom_gpus_path(), gpus)
    catalog = load_catalog()
    try:
        context = Context(load_models(), catalog, gpus).with_custom_gpus(custom)
        return answer_instances(context.models, context.catalog, question)
    except ArtifactError as error:
        print_warnings([f"the basis of predictions is unknown: {error}"])
        return answer_instances(None, with_offers_of(catalog, custom), question)


#: Column of a custom file -> its option, where that has another name.
_OPTION_OF = {"instance": "name", "gpu_memory_gib": "memory_gib"}


def _add_offer_options(parser: argparse.ArgumentParser) -> None:
    """Declare what describes an offer."""
    add_format(parser, default=argparse.SUPPRESS)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--usd-per-hour", required=True, type=float, help="price of the whole instance with all its GPUs"
    )
    parser.add_argument("--gpu", metavar="GPU", help="GPU, such as L4; not needed for instances in the catalog")
    parser.add_argument("--gpu-count", type=int, metavar="N", help="number of GPUs (default: 1)")
    parser.add_argument("--memory-gib", type=float, help="memory per GPU (default: from the GPU specs)")
    parser.add_argument("--vcpus", type=int)
    parser.add_argument("--provider", help="cloud provider (default: own)")
    parser.add_argument("--region")
    parser.add_argument("--os", help="operating system (default: linux)")
    parser.add_argument("--market", choices=MARKETS, help="market (default: on-demand)")
    parser.add_argument("--as-of", metavar="DATE", help="date of the price, such as 2026-06-30 (default: today)")
    parser.add_argument("--source", help="source of the price")
    parser.add_argument("--status", choices=STATUSES)
    parser.add_argument(
        "--other-gpu",
        action="store_true",
        help="accept a GPU with unknown specs (needs --memory-gib); only models trained on it can predict it",
    )


def _add_offer(options: argparse.Namespace) -> None:
    """Lay one offer over the catalog; the same offer of before is replaced."""
    path, shipped = writable(custom_path(), CUSTOM_VARIABLE), load_shipped()
    with changing_custom(path):
        catalog = load_catalog()
        row = _offer(options, catalog)
        offers = catalog.offers(row.name) if row.name in catalog else ()
        old_usd = next((offer.usd_per_hour for offer in offers if offer.offer_key == row.offer_key), None)
        rows = [
            replace(old, status=row.status, vcpus=row.vcpus, host=row.host) if old.name == row.name else old
            for old in read_custom_instances(path, shipped)
        ]
        write_custom_instances(path, with_updates(rows, [row]), shipped)
    if options.format == "json":
        print_json({"file": str(path), "replaced_usd_per_hour": old_usd, "offer": OfferDocument.of(row)})
        return
    before = "" if old_usd is None else f", was {listed_price(old_usd)}"
    print(f"{_title(row)}: {listed_price(row.usd_per_hour)}/h{before}; saved in {path}")
    if row.gpu_count > 1:
        print(f"{listed_price(row.usd_per_hour)}/h is the price of the whole machine with {row.gpu_count} GPUs.")


def _add_removal(parser: argparse.ArgumentParser) -> None:
    """Which rows."""
    add_format(parser, default=argparse.SUPPRESS)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--region", help="only in this region")
    parser.add_argument("--market", help="only in this market")


def _remove_offers(options: argparse.Namespace) -> None:
    """Take a user's own rows of an instance away; the shipped ones can't be."""
    path, shipped = writable(custom_path(), CUSTOM_VARIABLE), load_shipped()
    with changing_custom(path):
        rows = read_custom_instances(path, shipped)
        removed = [
            row
            for row in rows
            if (row.name, options.market or row.market, options.region or row.region)
            == (options.name, row.market, row.region)
        ]
        if not removed:
            names = nearest(options.name, (row.name for row in rows)) or "none"
            raise InputError(f"Your file {path} has no such row for {options.name!r}; it has rows for: {names}.")
        write_custom_instances(path, [row for row in rows if row not in removed], shipped)
    if options.format == "json":
        print_json({"file": str(path), "removed": [OfferDocument.of(row) for row in removed]})
        return
    for row in removed:
        print(f"{_title(row)}: {listed_price(row.usd_per_hour)}/h is removed from {path}")


def _title(offer: Instance) -> str:
    """One offer in a line: 'g4dn.xlarge (Tesla T4, us-east-1, spot)'."""
    return f"{offer.name} ({gpus_cell(offer)}, {offer.region}, {offer.market})"


def _offer(options: argparse.Namespace, catalog: Catalog) -> Instance:
    """Return the instance as the options have it; what they don't say, as the catalog or the GPU's specs do."""
    given = {column: getattr(options, _OPTION_OF.get(column, column), None) for column in FILE_COLUMNS}
    cells = {column: str(value).strip() for column, value in given.items() if value is not None}
    for column, text in cells.items():
        if not text.isprintable():
            raise InputError(f"The {column} {text!r} holds a line break or control character.")
    name, gpu, memory_gib = cells["instance"], cells.get("gpu"), options.memory_gib
    if not name or any(character in name for character in ",= "):
        raise InputError(f"An instance name can't have spaces, commas or =: {name!r}.")
    if same := next((listed for listed in catalog if listed.lower() == name.lower() and listed != name), None):
        raise InputError(f"The catalog has {name!r} as {same!r}: use that name.")
    listed = catalog.get(name)
    if listed is None and not gpu:
        raise InputError(f"{name} is not in the catalog: give its GPU, such as --gpu L4.")
    if listed is None and not options.other_gpu:
        try:
            specs = known_gpus().find(str(gpu), memory_gib)
        except InputError as error:
            more = "Use --other-gpu to add it anyway: only models trained on it can predict it."
            raise InputError(f"{error} {more}") from None
        cells |= {"gpu": specs.name, "gpu_memory_gib": str(specs.memory_gib)}
    elif listed is None and memory_gib is None:
        raise InputError(f"The specs of {gpu!r} are unknown: give its memory with --memory-gib.")
    usual = default_cells() | {"region": listed.region if listed else "any"}
    filled = {column: text for column, text in cells.items() if text}
    row = custom_instance(dict.fromkeys(FILE_COLUMNS, "") | usual | filled, catalog)
    for column in ("provider", "gpu", "gpu_count", "gpu_memory_gib"):
        if listed is not None and getattr(row, column) != getattr(listed, column):
            has, other = (str(getattr(offer, column)).removesuffix(".0") for offer in (listed, row))
            option = f"--{_OPTION_OF.get(column, column).replace('_', '-')}"
            raise InputError(f"{name} has {option} {has}, not {other}: remove it, or use another name.")
    return row


#: Action -> its line in `profet gpus --help`.
_GPU_ACTIONS = {
    "list": "list your custom GPUs (default action)",
    "known": "list all GPUs with the precisions they support, and what AMP does on each",
    "add": "add or change a custom GPU",
    "remove": "remove a custom GPU",
}
#: Column of the file -> what its option is for.
_GPU_OPTIONS = {
    "like": "similar GPU that missing specs are taken from, such as L4",
    "fp32_tflops": "peak FP32 throughput",
    "tf32_tensor_dense_tflops": f"peak TF32 throughput without sparsity; {HAS_NONE}: no TF32",
    "memory_gib": "memory size",
    "bandwidth_gb_per_s": "memory bandwidth",
    "tdp_w": "power limit",
    "images_per_s": "training throughput on one GPU, measured or published",
    "network": "network of the throughput, such as ResNet50",
    "pixels": "pixel size of the throughput (default: 224)",
    "batch_size": "batch size of the throughput",
    "precision": f"{' or '.join(PRECISIONS)} (default: {PRECISIONS[0]})",
    "times_reference": "speed relative to a V100, instead of a throughput",
    "times_log_sd": "uncertainty of that speed: standard deviation of its logarithm, such as 0.1",
    "usd_per_hour": f"price per hour (default: electricity for the power limit at ${USD_PER_KWH:.2f} per kWh)",
    "as_of": "date of these values, such as 2026-06-30 (default: today)",
    "source": "source of the throughput",
}


def add_gpus(parser: OneLineParser) -> None:
    """Declare the actions with their arguments."""
    add_format(parser)
    actions = add_commands(parser, _GPU_ACTIONS, dest="action")
    for name, action in actions.items():
        add_format(action, default=argparse.SUPPRESS)
        if name in ("add", "remove"):
            action.add_argument("name", metavar="NAME")
    for column in GPU_COLUMNS[1:]:
        actions["add"].add_argument(f"--{column.replace('_', '-')}", metavar="X", help=_GPU_OPTIONS[column])
    actions["known"].set_defaults(run=_list_known_gpus)
    actions["add"].set_defaults(run=_add_gpu)
    actions["remove"].set_defaults(run=_remove_gpu)


def run_gpus(options: argparse.Namespace) -> None:
    """List the custom GPUs."""
    rows = read_custom_gpus(custom_gpus_path(), load_gpus())
    if options.format == "json":
        print_json([_custom_gpu(row) for row in rows])
        return
    columns: list[Column] = [
        ("GPU", "name"),
        ("instance", "instance"),
        ("like", "like"),
        ("GiB", "gpu.memory_gib", "{:g}".format),
        ("images/s", _throughput),
        ("$/h", "offer.usd_per_hour", listed_price),
    ]
    print_rows(rows, columns)


def _throughput(custom: CustomGpu) -> str | None:
    point = custom.point
    return f"{point.images_per_s:g} of {point.network}" if isinstance(point, ThroughputPoint) else None


def _list_known_gpus(options: argparse.Namespace) -> None:
    gpus = list(known_gpus().values())
    if options.format == "json":
        print_json(
            [
                {"gpu": gpu.name, "memory_gib": gpu.memory_gib, "precisions": _precisions(gpu), "amp": amp_words(gpu)}
                for gpu in gpus
            ]
        )
        return
    offers = Counter(offer.gpu for offer in load_catalog().all_offers)
    columns: list[Column] = [
        ("GPU", "name"),
        ("GiB", "memory_gib", "{:g}".format),
        ("offers", lambda gpu: offers[gpu.name]),
        ("precisions", _precisions, lambda precisions: ", ".join(map(str.upper, precisions))),
        ("AMP", amp_words),
    ]
    print_rows(gpus, columns)


def _precisions(gpu: Gpu) -> list[str]:
    return list(supported_precisions(gpu))


def _add_gpu(options: argparse.Namespace) -> None:
    shipped, home, path = load_gpus(), home_folder(), writable(custom_gpus_path(), CUSTOM_GPUS_VARIABLE)
    # A custom folder may have no models to check a speed against.
    has_models = home is None or (home / MANIFEST_NAME).exists()
    models = load_models(None if has_models else shipped_folder("models"))
    given = {column: getattr(options, column) or "" for column in GPU_COLUMNS[1:]}
    with changing_custom(path):
        rows = read_custom_gpus(path, shipped)
        old = next((row for row in rows if row.name == options.name), None)
        # What was said of the GPU before counts if it is still like the same one.
        if old is not None and given["like"] and shipped.find(given["like"]).name != old.like:
            old = None
        new = custom_gpu_from({"gpu": options.name, **given} if old is None else changed_cells(old, given), shipped)
        check_custom_gpu(models, new)
        if new.instance in load_catalog():
            raise InputError(f"Instance {new.instance} exists: give {new.name} another name.")
        write_custom_gpus(path, [*(row for row in rows if row.name != new.name), new])
    _print_changed(
        options, path, "gpu", new, f"is {new.instance}, {listed_price(new.offer.usd_per_hour)}/h; saved in {path}"
    )


def _remove_gpu(options: argparse.Namespace) -> None:
    path, shipped = writable(custom_gpus_path(), CUSTOM_GPUS_VARIABLE), load_gpus()
    with changing_custom(path):
        rows = read_custom_gpus(path, shipped)
        removed = next((row for row in rows if row.name == options.name), None)
        if removed is None:
            names = nearest(options.name, (row.name for row in rows)) or "none"
            raise InputError(f"Your file {path} has no GPU {options.name!r}; it has: {names}.")
        write_custom_gpus(path, [row for row in rows if row is not removed])
    _print_changed(options, path, "removed", removed, f"is removed from {path}")


def _print_changed(options: argparse.Namespace, path: Path, key: str, gpu: CustomGpu, text: str) -> None:
    if options.format == "json":
        print_json({"file": str(path), key: _custom_gpu(gpu)})
    else:
        print(f"{gpu.name} {text}")


def _custom_gpu(row: CustomGpu) -> dict[str, object]:
    """Write a custom GPU as JSON; null is what is not known of its speed."""
    return {
        **{"gpu": row.name, "instance": row.instance, "like": row.like},
        **{name: getattr(row.gpu, name) for name in SHEET_COLUMNS},
        **{name: getattr(row.point, name, None) for name in POINT_COLUMNS},
        **{"usd_per_hour": row.offer.usd_per_hour, "as_of": row.as_of, "source": row.source},
    }
