"""`profet instances add`: lays a row of the user's over the catalog."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from datetime import date

from profet_cli.arguments import add_format
from profet_cli.commands.instances.own_file import known_gpus, offer_title, writable_path
from profet_cli.output import print_json
from profet_core.catalog import Catalog, Instance, load_catalog, load_shipped
from profet_core.catalog.instance import MARKETS, OWN_PROVIDER, STATUSES, check_date
from profet_core.catalog.own import changing_own, laid_over, read_own, write_own
from profet_core.documents.parts import OFFER
from profet_core.errors import InputError
from profet_core.units import listed_price

#: The region of hardware that is in none.
NO_REGION = "any"
#: A given memory may differ from the specs by this share: GB are not GiB.
_MEMORY_TOLERANCE = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The offer."""
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


def run(options: argparse.Namespace) -> None:
    """Lay one offer over the catalog; the same offer of before is replaced."""
    path, shipped = writable_path(), load_shipped()
    with changing_own(path):
        catalog = load_catalog()
        row = _offer(options, catalog)
        replaced = _same_offer(row, catalog)
        rows = laid_over((_as_row_says(old, row) for old in read_own(path, shipped)), [row])
        write_own(path, rows, shipped)
    old_usd_per_hour = None if replaced is None else replaced.usd_per_hour
    if options.format == "json":
        print_json({"file": str(path), "replaced_usd_per_hour": old_usd_per_hour, "offer": OFFER.document(row)})
        return
    before = "" if old_usd_per_hour is None else f", was {listed_price(old_usd_per_hour)}"
    print(f"{offer_title(row)}: {listed_price(row.usd_per_hour)}/h{before}; saved in {path}")
    if row.node_note:
        print(f"{row.node_note}.")


def _same_offer(row: Instance, catalog: Catalog) -> Instance | None:
    """The catalog's offer that `row` replaces."""
    offers = catalog.offers(row.name) if row.name in catalog else ()
    return next((offer for offer in offers if offer.offer_key == row.offer_key), None)


@dataclass(frozen=True, slots=True)
class _Machine:
    """What an instance is, whatever it costs where; see `Instance`."""

    gpu: str
    gpu_count: int
    gpu_memory_gib: float
    vcpus: int | None
    status: str
    machine_source: str = ""
    provider: str = OWN_PROVIDER
    host: str = ""


def _offer(options: argparse.Namespace, catalog: Catalog) -> Instance:
    name = _checked_name(options.name, catalog)
    known = catalog.get(name)
    machine = _known_machine(options, known) if known else _new_machine(options, name)
    as_of = options.as_of or date.today().isoformat()
    check_date(name, as_of)
    return Instance(
        name=name,
        gpu=machine.gpu,
        gpu_count=machine.gpu_count,
        gpu_memory_gib=machine.gpu_memory_gib,
        vcpus=machine.vcpus,
        usd_per_hour=options.usd_per_hour,
        region=_text("region", options.region) or (known.region if known else NO_REGION),
        os=_text("os", options.os) or "linux",
        market=options.market or "on-demand",
        status=machine.status,
        as_of=as_of,
        source=_text("source", options.source) or "given by the user",
        own=True,
        machine_source=machine.machine_source,
        provider=machine.provider,
        host=machine.host,
    )


def _known_machine(options: argparse.Namespace, known: Instance) -> _Machine:
    """The catalog's machine; arguments that contradict it are refused."""
    if options.provider and options.provider != known.provider:
        raise InputError(f"{known.name} is from {known.provider}, not {options.provider}: remove --provider.")
    same_gpus = {gpu.model for gpu in known_gpus().named(options.gpu)} if options.gpu else {known.gpu_model}
    if known.gpu_model not in same_gpus and options.gpu != known.gpu:
        raise InputError(f"{known.name} has {known.gpu}, not {options.gpu}: use another name.")
    for argument, value, true in (
        ("--gpu-count", options.gpu_count, known.gpu_count),
        ("--memory-gib", options.memory_gib, known.gpu_memory_gib),
    ):
        if value is not None and value != true:
            raise InputError(f"{known.name} has {argument} {true:g}, not {value:g}: remove it.")
    return _Machine(
        gpu=known.gpu,
        gpu_count=known.gpu_count,
        gpu_memory_gib=known.gpu_memory_gib,
        vcpus=options.vcpus or known.vcpus,
        status=options.status or known.status,
        machine_source=known.machine_source,
        provider=known.provider,
        host=known.host,
    )


def _new_machine(options: argparse.Namespace, name: str) -> _Machine:
    if not options.gpu:
        raise InputError(f"{name} is not in the catalog: give its GPU, such as --gpu L4.")
    named = _text("gpu", options.gpu)
    gpu, memory_gib = (_other_gpu if options.other_gpu else _listed_gpu)(named, options.memory_gib)
    return _Machine(
        gpu=gpu,
        gpu_count=1 if options.gpu_count is None else options.gpu_count,
        gpu_memory_gib=memory_gib,
        vcpus=options.vcpus,
        status=options.status or "available",
        provider=_text("provider", options.provider) or OWN_PROVIDER,
    )


def _other_gpu(gpu: str, memory_gib: float | None) -> tuple[str, float]:
    """A GPU without specs here, and its memory."""
    if memory_gib is None:
        raise InputError(f"The specs of {gpu!r} are unknown: give its memory with --memory-gib.")
    return gpu, memory_gib


def _listed_gpu(gpu: str, memory_gib: float | None) -> tuple[str, float]:
    """Name and memory of a GPU in its specs."""
    try:
        found = known_gpus().find(gpu, memory_gib)
    except InputError as error:
        raise InputError(
            f"{error} Use --other-gpu to add it anyway: only models trained on it can predict it."
        ) from None
    if memory_gib is not None and abs(memory_gib / found.memory_gib - 1) > _MEMORY_TOLERANCE:
        raise InputError(f"{found.name} has {found.memory_gib:g} GiB, not {memory_gib:g}: remove --memory-gib.")
    return found.name, found.memory_gib


def _as_row_says(old: Instance, new: Instance) -> Instance:
    """An older own row of the same instance, with the newer one's status and vcpus."""
    return replace(old, status=new.status, vcpus=new.vcpus, host=new.host) if old.name == new.name else old


def _checked_name(name: str, catalog: Catalog) -> str:
    name = _text("instance", name)
    if not name or any(character in name for character in ",= "):
        raise InputError(f"An instance name can't have spaces, commas or =: {name!r}.")
    same = next((known for known in catalog if known.lower() == name.lower() and known != name), None)
    if same:
        raise InputError(f"The catalog has {name!r} as {same!r}: use that name.")
    return name


def _text(what: str, text: str | None) -> str:
    text = (text or "").strip()
    if not text.isprintable():
        raise InputError(f"The {what} {text!r} holds a line break or control character.")
    return text
