"""What `transfer.json` says: the profiled instances, and how their profiles are read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from profet_core.catalog.gpus import Gpus, Host, host_named, load_gpus
from profet_core.ensemble.work import WorkReader, readers_of
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder

TRANSFER_NAME = "transfer.json"
TRANSFER_VERSION = 11
#: File in the same folder for GPUs whose steps a user measured, of `layers.rates`.
CALIBRATED_NAME = "calibrated.json"


class ProfiledInstance(Struct, frozen=True):
    """An instance that was profiled.

    Attributes
    ----------
    gpu : its full name.
    inferred_log_half_width : 90% of steps are within this of the latency inferred from their profile, in the logarithm.
    """

    gpu: str
    host: Host
    inferred_log_half_width: float


class TransferModel(Struct, frozen=True, dict=True):
    """The profiled instances, what reads the work in their profiles, and the specs of all GPUs.

    Attributes
    ----------
    profiled : instance -> what is known of it.
    reference : profiled instance whose models read the profiles of unprofiled GPUs.
    readers : profiled instance -> what infers the work of a step from its profiles.
    checksum : of the file's content.
    """

    profiled: Mapping[str, ProfiledInstance]
    reference: str
    readers: Mapping[str, WorkReader]
    gpus: Gpus
    fitted_on: Mapping[str, str]
    checksum: str

    @property
    def instances(self) -> tuple[str, ...]:
        """Profiled instances: each can be the anchor."""
        return tuple(self.profiled)

    @cached_property
    def profiled_gpus(self) -> Mapping[str, str]:
        """Full GPU name -> the instance that was profiled with it, or with its twin."""
        profiled = {row.gpu: name for name, row in self.profiled.items()}
        twins = {gpu.name: self.gpus.twin(gpu).name for gpu in self.gpus.values()}
        return {**{name: profiled[twin] for name, twin in twins.items() if twin in profiled}, **profiled}

    @property
    def reference_gpu(self) -> str:
        """Full name of the reference instance's GPU."""
        return self.profiled[self.reference].gpu


def load_transfer(folder: Path | str | None = None, gpus: Gpus | None = None) -> TransferModel:
    """Load `transfer.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    path = models_folder(folder) / TRANSFER_NAME
    return load_coefficients(path, TRANSFER_VERSION, lambda content: transfer_model(content, gpus or load_gpus()))


def transfer_model(content: JsonObject, gpus: Gpus) -> TransferModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    model = TransferModel(
        profiled=MappingProxyType({str(name): _profiled(row) for name, row in content["profiled"].items()}),
        reference=str(content["reference"]),
        readers=readers_of(content["work"]),
        gpus=gpus,
        fitted_on=MappingProxyType(dict(content["fitted_on"])),
        checksum=str(content["checksum"]),
    )
    if model.reference_gpu not in gpus:
        raise ValueError(f"no specs of {model.reference_gpu}")
    return model


def _profiled(row: JsonObject) -> ProfiledInstance:
    width = finite_number(row["inferred_log_half_width"])
    return ProfiledInstance(str(row["gpu"]), host_named(str(row["host"])), width)
