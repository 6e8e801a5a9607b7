"""The card's sections on GPUs that another source measured."""

from __future__ import annotations

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.transfer import OtherGpu, TransferAccuracy
from profet_core.transfer.model import TransferModel
from profet_lab.cards.format import fixed, fixed_or_empty, markdown_table


def derived_section(accuracy: TransferAccuracy, transfer: TransferModel) -> str:
    """Routes between the GPUs that both sources have, then each derived GPU."""
    routes = [
        (
            name.replace("_", " "),
            str(row.n),
            fixed(row.t4_to_v100),
            fixed(row.v100_to_t4),
            f"{row.median_ratio:.3f}",
        )
        for name, row in accuracy.routes.items()
    ]
    by_network = [(name, *map(fixed, ends)) for name, ends in accuracy.routes_by_model.items()]
    served = [
        (
            gpu,
            row.anchor,
            str(row.n),
            *_errors(row.mape),
            *_errors(row.missed_90),
            *_errors(row.median_interval_pct),
            fixed_or_empty(row.claims),
            fixed_or_empty(row.claims_right),
        )
        for gpu, found in accuracy.derived.items()
        for row in found.served
    ]
    laws = [
        (gpu, str(found.n), fixed(found.law), *_errors(found.mean), f"{found.median_ratio_to_t4:.3f}")
        for gpu, found in accuracy.derived.items()
    ]
    networks = dict.fromkeys(name for found in accuracy.derived.values() for name in found.law_by_model)
    by_law = [
        (name, *(fixed_or_empty(found.law_by_model.get(name)) for found in accuracy.derived.values()))
        for name in networks
    ]
    spreads = ", ".join(f"{gpu} {law.log_sd:.3f}" for gpu, law in transfer.derived.items())
    biases = sorted({f"{law.bias_log_sd:.3f}" for law in transfer.derived.values()})
    header = ("GPU", "anchor", "n", "with", "without", "missed with", "without", "half width with", "without")
    return f"""## Derived GPUs: {", ".join(accuracy.derived)}

Another source ran the same networks on these GPUs, but its epoch times hold set-up, validation and monitoring too. The
correction is learned where PROFET measured the same workload on the same GPU, T4 and V100, and judged there: from
PROFET's latency on one through the source's ratio to the other, against PROFET's own measurement.

{markdown_table(("steps", "n", "T4 to V100", "V100 to T4", "median ratio over measured"), routes)}

*corrected* never saw the network; the last two saw one of the GPUs alone. Corrected, by network:

{markdown_table(("network", "T4 to V100", "V100 to T4"), by_network)}

The derived GPUs themselves, networks left out. **Truth is the corrected step of the same source**, so what its
correction leaves is not in these errors; it is in the intervals (standard deviation of the logarithm: law {spreads};
what the correction leaves {", ".join(biases)}).

{markdown_table(("GPU", "n", "T4 and V100 known", "served with", "served without", "median ratio to T4"), laws)}

{markdown_table((*header, "claims %", "right %"), served)}

*Claims*: g5.xlarge is dearer or cheaper a step than g4dn.xlarge, made only where the interval excludes break-even; the
rest is too close to call. By network, T4 and V100 known:

{markdown_table(("network", *accuracy.derived), by_law)}"""


def as_if_unmeasured_section(accuracy: TransferAccuracy) -> str:
    """Derived GPUs by data sheet, one step or a published speed."""
    rows = [(row.anchor, row.target, str(row.n), *_given(row), *(_published(row))) for row in accuracy.other_gpus]
    header = ("anchor", "left out", "n", "with", "without ResNet50", "bias", "missed %", "half width %")
    more = ("sheet only with", "missed %", "half width %", "published with", "bias", "missed %", "half width %")
    return f"""## The same GPUs as if nobody had measured them

All four profiled GPUs are known; judged by the corrected steps. *Published*: reached by a published ResNet-50 speed
instead of a step of the source, **the way the GPUs below are reached and the only check of it**.

{markdown_table((*header, *more), rows)}"""


def _given(row: OtherGpu) -> tuple[str, ...]:
    given, sheet = row.point[True], row.sheet_only[True]
    return (
        fixed(given.mape),
        fixed(given.mape_without_resnet50),
        f"{given.bias:+.2f}",
        fixed(given.missed_90),
        fixed(given.median_interval_pct),
        *map(fixed, (sheet.mape, sheet.missed_90, sheet.median_interval_pct)),
    )


def _published(row: OtherGpu) -> tuple[str, ...]:
    found = row.published
    if found is None:
        return ("",) * 4
    return fixed(found.mape), f"{found.bias:+.2f}", fixed(found.missed_90), fixed(found.median_interval_pct)


def _errors(row: Errors) -> tuple[str, str]:
    return fixed(row.with_latency), fixed(row.without_latency)
