"""`profet instances add` and `remove`: rows of the user's own file."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path

from profet_cli.output import print_json
from profet_core.catalog import Catalog, Instance, load_catalog, load_gpus, load_shipped, own_path
from profet_core.catalog.instance import check_date
from profet_core.catalog.own import OWN_VARIABLE, laid_over, read_own, write_own
from profet_core.errors import InputError
from profet_core.units import format_price

#: What the region of hardware is called that is in none.
NO_REGION = "any"


def add(options: argparse.Namespace) -> None:
    """Lay one offer over the catalogue; the same offer of before is replaced."""
    path, catalog, shipped = writable_path(), load_catalog(), load_shipped()
    row = _offer(options, catalog)
    before = (
        next((o for o in catalog.offers(row.name) if o.offer_key == row.offer_key), None)
        if row.name in catalog
        else None
    )
    rows = laid_over((_as_row_says(old, row) for old in read_own(path, shipped)), [row])
    write_own(path, rows, shipped)
    if options.format == "json":
        print_json({"file": str(path), "replaced_usd_per_hour": before and before.usd_per_hour, "offer": asdict(row)})
        return
    was = f", before {format_price(before.usd_per_hour)}" if before else ""
    print(f"{_described(row)}: {format_price(row.usd_per_hour)} an hour{was}; in {path}")
    if row.node_note:
        print(f"{row.node_note}.")


def remove(options: argparse.Namespace) -> None:
    """Take a user's own rows of an instance away; the shipped ones can't be."""
    path, shipped = writable_path(), load_shipped()
    rows = read_own(path, shipped)
    gone = [
        row
        for row in rows
        if row.name == options.name and options.market in (None, row.market) and options.region in (None, row.region)
    ]
    if not gone:
        of_own = ", ".join(dict.fromkeys(row.name for row in rows)) or "none"
        raise InputError(f"Your own file {path} has no such row of {options.name!r}; it has rows of: {of_own}.")
    write_own(path, [row for row in rows if row not in gone], shipped)
    if options.format == "json":
        print_json({"file": str(path), "removed": [asdict(row) for row in gone]})
        return
    for row in gone:
        print(f"{_described(row)}: {format_price(row.usd_per_hour)} an hour is removed from {path}")


def writable_path() -> Path:
    """The user's own file, for a command that changes it."""
    path = own_path()
    if path is None:
        raise InputError(f"There is no place for your own instances: name a file in {OWN_VARIABLE}.")
    return path


def _offer(options: argparse.Namespace, catalog: Catalog) -> Instance:
    name = _checked_name(options.name, catalog)
    known = catalog.get(name)
    machine = _known_machine(options, known) if known else _new_machine(options, name)
    as_of = options.as_of or date.today().isoformat()
    check_date(name, as_of)
    return Instance(
        name=name,
        **machine,
        usd_per_hour=options.usd_per_hour,
        region=_text("region", options.region) or (known.region if known else NO_REGION),
        os=_text("os", options.os) or "linux",
        market=options.market or "on-demand",
        as_of=as_of,
        source=_text("source", options.source) or "given by the user",
        own=True,
    )


def _known_machine(options: argparse.Namespace, known: Instance) -> dict[str, object]:
    """What the catalogue says of the machine; arguments that contradict it are refused."""
    if options.gpu and load_gpus().find(options.gpu, known.gpu_memory_gib).short_name != known.gpu_model:
        raise InputError(f"{known.name} has {known.gpu}, not {options.gpu}: give another name to another instance.")
    for argument, value, true in (
        ("--gpu-count", options.gpu_count, known.gpu_count),
        ("--memory-gib", options.memory_gib, known.gpu_memory_gib),
    ):
        if value is not None and value != true:
            raise InputError(f"{known.name} has {argument} {true:g}, not {value:g}: leave it out.")
    return {
        "gpu": known.gpu,
        "gpu_count": known.gpu_count,
        "gpu_memory_gib": known.gpu_memory_gib,
        "vcpus": options.vcpus or known.vcpus,
        "status": options.status or known.status,
        "machine_source": known.machine_source,
    }


def _new_machine(options: argparse.Namespace, name: str) -> dict[str, object]:
    if not options.gpu:
        raise InputError(f"{name} is new to the catalogue: say which GPU it has, such as --gpu L4.")
    gpu, memory_gib = _text("gpu", options.gpu), options.memory_gib
    if options.other_gpu:
        if memory_gib is None:
            raise InputError(f"Nothing is known of {gpu!r}: say how much memory it has with --memory-gib.")
    else:
        try:
            found = load_gpus().find(gpu, memory_gib)
        except InputError as error:
            raise InputError(f"{error} --other-gpu adds it all the same, for its price only.") from None
        if memory_gib is not None and abs(memory_gib / found.memory_gib - 1) > 0.1:
            raise InputError(f"{found.name} has {found.memory_gib:g} GiB, not {memory_gib:g}: leave --memory-gib out.")
        gpu, memory_gib = found.name, found.memory_gib
    return {
        "gpu": gpu,
        "gpu_count": 1 if options.gpu_count is None else options.gpu_count,
        "gpu_memory_gib": memory_gib,
        "vcpus": options.vcpus,
        "status": options.status or "available",
    }


def _as_row_says(old: Instance, new: Instance) -> Instance:
    """An older own row of the same instance, told the newer one's status and vcpus."""
    return replace(old, status=new.status, vcpus=new.vcpus) if old.name == new.name else old


def _checked_name(name: str, catalog: Catalog) -> str:
    name = _text("instance", name)
    if not name or any(character in name for character in ",= "):
        raise InputError(f"An instance's name has no spaces, commas or =, unlike {name!r}.")
    same = next((known for known in catalog if known.lower() == name.lower() and known != name), None)
    if same:
        raise InputError(f"The catalogue writes {name!r} as {same!r}: use that name.")
    return name


def _text(what: str, text: str | None) -> str:
    text = (text or "").strip()
    if not text.isprintable():
        raise InputError(f"The {what} {text!r} holds a line break or control character.")
    return text


def _described(row: Instance) -> str:
    gpus = f"{row.gpu_count} x {row.gpu}" if row.gpu_count > 1 else row.gpu
    return f"{row.name} ({gpus}, {row.region}, {row.market})"
