"""Memory traffic and state of optimizer updates, by operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from profet_core.operations.kinds import stem
from profet_core.profiles.record import DEVICE_PREFIX, Profile

#: Values that an optimizer keeps per parameter, by the operation that updates it (TensorFlow's ResourceApply... with
#: the variables it takes in addition to `var`; PyTorch's fused ones with their state lists). Momentum keeps its
#: velocity, Adam two moments, AMSGrad the largest second moment too.
STATE_COPIES: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("GradientDescent", "ProximalGradientDescent", "aten::fused_sgd"), 0),
        **dict.fromkeys(("Momentum", "KerasMomentum", "AddSign", "PowerSign"), 1),
        **dict.fromkeys(("Adagrad", "ProximalAdagrad", "aten::fused_adagrad"), 1),
        **dict.fromkeys(("Adam", "AdaMax", "RMSProp", "Adadelta", "AdagradDA", "Ftrl"), 2),
        **dict.fromkeys(("aten::fused_adam", "aten::fused_adamw"), 2),
        **dict.fromkeys(("AdamWithAmsgrad", "CenteredRMSProp"), 3),
    }
)
#: Pattern that all of their names match; a profile has hundreds of other operations.
_UPDATES = re.compile("Ada|Sign|GradientDescent|Momentum|RMSProp|Ftrl|fused_")
#: Plain SGD reads a parameter and its gradient and writes the parameter; each state value is also read and written.
PLAIN_VALUES, VALUES_A_COPY = 3, 2


def traffic_factor(copies: float) -> float:
    """Memory traffic of an update with that many state copies, relative to plain SGD.

    >>> round(traffic_factor(2), 3)  # Adam keeps two moments
    2.333
    """
    return (PLAIN_VALUES + VALUES_A_COPY * copies) / PLAIN_VALUES


def state_copies(profile: Profile) -> float:
    """State copies of the parameters in a profile's optimizer: 0 for plain SGD or if unknown.

    Several optimizers are weighted by the parameters they update: their time over their traffic per parameter.
    """
    updated = [
        (us / traffic_factor(copies), copies)
        for name, us in profile.operations.items()
        if (copies := _copies(name)) is not None and us > 0
    ]
    total = sum(weight for weight, _ in updated)
    return sum(weight * copies for weight, copies in updated) / total if total else 0.0


def _copies(operation: str) -> int | None:
    if not operation.startswith(DEVICE_PREFIX) or not _UPDATES.search(operation):
        return None
    name = stem(operation.removeprefix(DEVICE_PREFIX))
    return STATE_COPIES.get(name.removeprefix("Resource").removeprefix("Sparse").removeprefix("Apply"))
