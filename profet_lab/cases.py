"""The two cases of every prediction, as reports and files name them: the anchor's step latency given, or not."""

from __future__ import annotations

WITH_LATENCY, WITHOUT_LATENCY = "with_latency", "without_latency"
#: Whether the anchor's latency is given -> the case.
CASES = {True: WITH_LATENCY, False: WITHOUT_LATENCY}
