"""The two cases of every prediction: with and without the anchor's latency."""

from __future__ import annotations

WITH_LATENCY, WITHOUT_LATENCY = "with_latency", "without_latency"
#: Whether the anchor's latency is given -> the case.
CASES = {True: WITH_LATENCY, False: WITHOUT_LATENCY}
