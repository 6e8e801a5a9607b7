"""Number of parameters: by network, typed, or from a profile."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.errors import InputError
from profet_core.layers.networks import counts_of, network_name
from profet_core.profiles.record import ProfileMeta
from profet_core.scaleout.work import MOST_PARAMETERS
from profet_core.typed_numbers import typed_count
from profet_core.units import format_count, positive_number

#: Default pixels at which a named network is counted.
USUAL_PIXELS = 224
#: Maximum length of a network's name.
LONGEST_NETWORK = 60


@dataclass(frozen=True, slots=True)
class NetworkParameters:
    """Parameters of a network; `name` is empty if only their number is known."""

    count: float
    name: str = ""

    @property
    def words(self) -> str:
        """'ResNet50, 25.6M parameters'."""
        count = f"{format_count(self.count)} parameters"
        return f"{self.name}, {count}" if self.name else count


def parameters_of(text: str, pixels: int | None = None) -> NetworkParameters:
    """Parse typed text: "ResNet50", "25.6M", "25600000".

    Parameters
    ----------
    pixels : image size for the named network; None: `USUAL_PIXELS`.

    Raises
    ------
    InputError : neither a known network nor a number.

    >>> parameters_of("25.6M").words, parameters_of("resnet 50").words
    ('25.6M parameters', 'ResNet50, 25.6M parameters')
    """
    typed = text.strip()
    if not typed[:1].isdigit():
        try:
            name = network_name(typed)
        except InputError:
            shown = ascii(typed[:LONGEST_NETWORK])
            raise InputError(f"Unknown network {shown}: give its number of parameters, such as 25.6M.") from None
        return NetworkParameters(counts_of(name, pixels or USUAL_PIXELS).parameters, name)
    return NetworkParameters(_checked(typed_count(typed).value))


def asked_parameters(
    network: str | None, parameters: float | None, meta: ProfileMeta, pixels: int | None
) -> NetworkParameters | None:
    """Parameters from the question's network or number, else from the profile.

    None if unknown.

    Raises
    ------
    InputError : both are given, the network is unknown, or the number is invalid.
    """
    if network is not None and parameters is not None:
        raise InputError("Give the network or its parameters, not both.")
    if network is not None:
        return parameters_of(network, pixels)
    if parameters is None:
        return told_parameters(meta)
    return NetworkParameters(_checked(positive_number("The number of parameters", parameters)))


def told_parameters(meta: ProfileMeta) -> NetworkParameters | None:
    """From the profile; None if missing or implausible."""
    count = meta.parameters
    return NetworkParameters(count) if count is not None and 1 <= count <= MOST_PARAMETERS else None


def _checked(count: float) -> float:
    if not 1 <= count <= MOST_PARAMETERS:
        raise InputError(f"The number of parameters must be from 1 to {format_count(MOST_PARAMETERS)}.")
    return count
