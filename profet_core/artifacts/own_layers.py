"""Models that users trained on their own measurements, listed in `own_pairs.json`.

Each layer is a models folder inside the base models folder. The base folder stays unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, damaged, finite_number, read_coefficients, shown

OWN_PAIRS_NAME, OWN_PAIRS_VERSION = "own_pairs.json", 1
#: Subfolder of the models folder that holds one folder per layer.
LAYERS_FOLDER = "own_pairs"


@dataclass(frozen=True, slots=True)
class OwnMachine:
    """A custom machine: its name, its GPU's full name, and whether its steps ran in TF32."""

    instance: str
    gpu: str
    tf32: bool


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """Entry of a layer in `own_pairs.json`.

    Attributes
    ----------
    folder : relative to the models folder. checksum : of its manifest.
    machines : measured by the user, one or two; the layer's other instances are those of the base models.
    workloads, networks : that its instances have in common.
    law_share : weight of the analytical model in the geometric mean with these models, 0 to 1.
    """

    folder: str
    checksum: str
    machines: tuple[OwnMachine, ...]
    workloads: int
    networks: int
    law_share: float


def read_layers(folder: Path, base_checksum: str) -> tuple[LayerRecord, ...]:
    """Layers over the models in `folder`; empty without `own_pairs.json`.

    Raises
    ------
    ArtifactError : the file is damaged, has another version, or was trained with other base models.
    """
    path = folder / OWN_PAIRS_NAME
    if not path.exists():
        return ()
    content = read_coefficients(path, OWN_PAIRS_VERSION)
    if content.get("base_checksum") != base_checksum:
        raise ArtifactError(f"{shown(path)} was made for other models: run `profet train` with its data again.")
    try:
        return tuple(_layer(row) for row in content["layers"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged(path) from None


def layer_content(record: LayerRecord) -> dict[str, object]:
    """Content in the format of `read_layers`."""
    return {
        "folder": record.folder,
        "checksum": record.checksum,
        "machines": [{"instance": one.instance, "gpu": one.gpu, "tf32": one.tf32} for one in record.machines],
        "workloads": record.workloads,
        "networks": record.networks,
        "law_share": record.law_share,
    }


def _layer(row: JsonObject) -> LayerRecord:
    folder = str(row["folder"])
    if folder != f"{LAYERS_FOLDER}/{folder.rpartition('/')[2]}" or not folder.rpartition("/")[2].isalnum():
        raise ValueError("a layer lies below its models")
    share = finite_number(row["law_share"])
    if not 0 <= share <= 1:
        raise ValueError("a share is 0 to 1")
    return LayerRecord(
        folder=folder,
        checksum=str(row["checksum"]),
        machines=tuple(OwnMachine(str(one["instance"]), str(one["gpu"]), bool(one["tf32"])) for one in row["machines"]),
        workloads=int(row["workloads"]),
        networks=int(row["networks"]),
        law_share=share,
    )
