"""`profet instances add` and `remove`: custom rows over the catalog."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import date

from profet_cli.arguments import add_format
from profet_cli.inputs import known_gpus
from profet_cli.offers import gpus_cell
from profet_cli.output import print_json
from profet_core.catalog import Catalog, Instance, load_catalog, load_shipped, own_path
from profet_core.catalog.instance import MARKETS, ON_DEMAND, OWN_PROVIDER, STATUSES, check_date
from profet_core.catalog.own import OWN_VARIABLE, changing_own, laid_over, read_own, writable, write_own
from profet_core.documents.parts import OFFER
from profet_core.errors import InputError
from profet_core.units import listed_price


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
    path, shipped = writable(own_path(), OWN_VARIABLE), load_shipped()
    with changing_own(path):
        catalog = load_catalog()
        row = _offer(options, catalog)
        offers = catalog.offers(row.name) if row.name in catalog else ()
        old_usd = next((offer.usd_per_hour for offer in offers if offer.offer_key == row.offer_key), None)
        rows = [
            replace(old, status=row.status, vcpus=row.vcpus, host=row.host) if old.name == row.name else old
            for old in read_own(path, shipped)
        ]
        write_own(path, laid_over(rows, [row]), shipped)
    if options.format == "json":
        print_json({"file": str(path), "replaced_usd_per_hour": old_usd, "offer": OFFER.document(row)})
        return
    before = "" if old_usd is None else f", was {listed_price(old_usd)}"
    print(f"{_title(row)}: {listed_price(row.usd_per_hour)}/h{before}; saved in {path}")
    if row.gpu_count > 1:
        print(f"{listed_price(row.usd_per_hour)}/h is the price of the whole machine with {row.gpu_count} GPUs.")


def add_remove_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows."""
    add_format(parser, default=argparse.SUPPRESS)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--region", help="only in this region")
    parser.add_argument("--market", help="only in this market")


def remove(options: argparse.Namespace) -> None:
    """Take a user's own rows of an instance away; the shipped ones can't be."""
    path, shipped = writable(own_path(), OWN_VARIABLE), load_shipped()
    with changing_own(path):
        rows = read_own(path, shipped)
        removed = [
            row
            for row in rows
            if (row.name, options.market or row.market, options.region or row.region)
            == (options.name, row.market, row.region)
        ]
        if not removed:
            names = ", ".join(dict.fromkeys(row.name for row in rows)) or "none"
            raise InputError(f"Your file {path} has no such row for {options.name!r}; it has rows for: {names}.")
        write_own(path, [row for row in rows if row not in removed], shipped)
    if options.format == "json":
        print_json({"file": str(path), "removed": [OFFER.document(row) for row in removed]})
        return
    for row in removed:
        print(f"{_title(row)}: {listed_price(row.usd_per_hour)}/h is removed from {path}")


def _title(offer: Instance) -> str:
    """One offer in a line: 'g4dn.xlarge (Tesla T4, us-east-1, spot)'."""
    return f"{offer.name} ({gpus_cell(offer)}, {offer.region}, {offer.market})"


def _offer(options: argparse.Namespace, catalog: Catalog) -> Instance:
    name, gpu, region, os, provider, source = (
        _text(field, getattr(options, field)) for field in ("name", "gpu", "region", "os", "provider", "source")
    )
    if not name or any(character in name for character in ",= "):
        raise InputError(f"An instance name can't have spaces, commas or =: {name!r}.")
    if same := next((known for known in catalog if known.lower() == name.lower() and known != name), None):
        raise InputError(f"The catalog has {name!r} as {same!r}: use that name.")
    known = catalog.get(name)
    count, memory_gib, vcpus = options.gpu_count, options.memory_gib, options.vcpus
    status, machine_source, host = options.status or "available", "", ""
    if known:
        if provider and provider != known.provider:
            raise InputError(f"{name} is from {known.provider}, not {provider}: remove --provider.")
        if gpu and gpu != known.gpu and known.gpu_model not in {one.model for one in known_gpus().named(gpu)}:
            raise InputError(f"{name} has {known.gpu}, not {gpu}: use another name.")
        for option, given, true in (
            ("--gpu-count", count, known.gpu_count),
            ("--memory-gib", memory_gib, known.gpu_memory_gib),
        ):
            if given is not None and given != true:
                raise InputError(f"{name} has {option} {true:g}, not {given:g}: remove it.")
        gpu, count, memory_gib, vcpus = known.gpu, known.gpu_count, known.gpu_memory_gib, vcpus or known.vcpus
        status, machine_source, host = options.status or known.status, known.machine_source, known.host
        provider, region = known.provider, region or known.region
    elif not gpu:
        raise InputError(f"{name} is not in the catalog: give its GPU, such as --gpu L4.")
    elif not options.other_gpu:
        try:
            found = known_gpus().find(gpu, memory_gib)
        except InputError as error:
            more = "Use --other-gpu to add it anyway: only models trained on it can predict it."
            raise InputError(f"{error} {more}") from None
        gpu, memory_gib = found.name, found.memory_gib
    elif memory_gib is None:
        raise InputError(f"The specs of {gpu!r} are unknown: give its memory with --memory-gib.")
    as_of = options.as_of or date.today().isoformat()
    check_date(name, as_of)
    return Instance(
        name=name,
        gpu=gpu,
        gpu_count=1 if count is None else count,
        gpu_memory_gib=memory_gib,
        vcpus=vcpus,
        usd_per_hour=options.usd_per_hour,
        region=region or "any",
        os=os or "linux",
        market=options.market or ON_DEMAND,
        status=status,
        as_of=as_of,
        source=source or "given by the user",
        own=True,
        machine_source=machine_source,
        provider=provider or OWN_PROVIDER,
        host=host,
    )


def _text(what: str, text: str | None) -> str:
    text = (text or "").strip()
    if not text.isprintable():
        raise InputError(f"The {what} {text!r} holds a line break or control character.")
    return text
