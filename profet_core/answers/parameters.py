"""How many parameters a network has: by its name, as somebody types the number, or as its profile tells."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.layers.networks import counts_of, network_name
from profet_core.profiles.record import ProfileMeta
from profet_core.scaleout.work import GRADIENT_BYTES, MOST_PARAMETERS
from profet_core.typed_numbers import typed_count
from profet_core.units import format_count

#: At which a network by name is counted where nobody says.
USUAL_PIXELS = 224


@dataclass(frozen=True, slots=True)
class NetworkParameters:
    """Parameters of a network; `name` is empty where only their number is known."""

    count: float
    name: str = ""

    @property
    def words(self) -> str:
        """'ResNet50, 25.6M parameters'."""
        count = f"{format_count(self.count)} parameters"
        return f"{self.name}, {count}" if self.name else count


def parameters_of(text: str, pixels: int | None = None) -> NetworkParameters:
    """Of what somebody types: "ResNet50", "25.6M", "25600000".

    Parameters
    ----------
    pixels : that the named network is built for; None: `USUAL_PIXELS`.

    Raises
    ------
    InputError : neither a network that is known by name nor a number.

    >>> parameters_of("25.6M").words, parameters_of("resnet 50").words
    ('25.6M parameters', 'ResNet50, 25.6M parameters')
    """
    typed = text.strip()
    if not typed[:1].isdigit():
        name = network_name(typed)
        return NetworkParameters(counts_of(name, pixels or USUAL_PIXELS).parameters, name)
    count = typed_count(typed).value
    if count > MOST_PARAMETERS:
        raise InputError(f"Give at most {format_count(MOST_PARAMETERS)} parameters.")
    return NetworkParameters(count)


def told_parameters(meta: ProfileMeta) -> NetworkParameters | None:
    """What the profile tells; None if it doesn't, or nothing that may be."""
    count = meta.parameters
    return NetworkParameters(count) if count is not None and 1 <= count <= MOST_PARAMETERS else None


def told_precision(meta: ProfileMeta) -> str:
    """Of the gradients, by the profile; FP32 where it doesn't say."""
    said = (meta.precision or "").lower()
    return said if said in GRADIENT_BYTES else "fp32"
