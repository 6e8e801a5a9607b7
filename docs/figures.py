"""Writes the figures of the README from the shipped reports and tables: `python -m docs.figures`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from profet_core.catalog import load_shipped

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"


def report(name: str) -> dict:
    """Read a report that ships with the models."""
    return json.loads((REPOSITORY / "models" / name).read_text(encoding="utf-8"))


def accuracy() -> str:
    """Return the table of errors, and how many measurements the intervals covered."""
    default, gpus = report("validation.json")["default"], report("gpus_validation.json")
    targets, anchors = gpus["left_out_gpus"], gpus["left_out_anchors"]
    estimates = report("estimate_validation.json")
    judged = {row["held_out"]: row for row in estimates["judged"]}
    pairs = {row["kind"]: row for row in estimates["measured_pairs"]}
    named, source = judged["families, all other published rows"], judged["one source of published rows"]
    timed, near = (pairs[f"FP32 or TF32: {which} generation"] for which in ("other", "one"))
    known = judged["one published GPU, its ResNet-50 known"]
    ring = report("scaleout_validation.json")["data_sets"]["throughputs"]["network"]["by_strategy"]["ring"]
    (cells,) = (row for row in report("cells_validation.json")["rows"] if row["cells"] == 20)
    covered = [
        default["mean"]["coverage_90"],
        100 - targets["mean"]["missed_90_with_latency"],
        *(row["coverage_90"] for row in (named, timed, known)),
    ]
    others = {
        "worst pair": targets["worst"]["mape_with_latency"],
        "as anchors": anchors["mean"]["mape_with_latency"],
        "same generation": near["mape"],
        "by peak FLOPs": timed["peaks"],
        "perfect scaling": ring["perfect_mape"],
        "a source held out": source["mape"],
    }

    def beside(*names: str) -> str:
        return f" ({', '.join(f'{name}: {others[name]:.1f}%' for name in names)})"

    rows = {
        "a profile, on the four measured GPUs (M60, T4, K80, V100) | eight networks unlike all others": (
            default["without_twin"]["mape_with_latency"]
        ),
        f"a profile, on other GPUs{beside('worst pair', 'as anchors')} | each of the four GPUs": (
            targets["mean"]["mape_with_latency"]
        ),
        f"a name, published steps{beside('a source held out')} | families of networks": named["mape"],
        f"a step timed on another generation of GPUs, FP32 or TF32{beside('same generation', 'by peak FLOPs')} | "
        "sources, and families of networks": timed["mape"],
        "a name, on a GPU of which ResNet-50 alone is known | each GPU": known["mape"],
        f"2 to 8 GPUs, one GPU's step given{beside('perfect scaling')} | networks": ring["mape"],
    }
    table = "".join(f"| **{error:.1f}%** | {row} |\n" for row, error in rows.items())
    return f"""\
| MAPE | of | held out |
|---|---|---|
{table}
90% intervals covered {min(covered):.0f} to {max(covered):.0f}% of the measurements of the first five lines.
With 20 steps measured on your own GPU (`profet collect --quick`) the error there is {cells["mean"]:.1f}%."""


def with_figures(text: str) -> str:
    """Return the README with the figures of today."""
    offers = load_shipped().all_offers
    clouds = len({offer.provider for offer in offers})
    text, replaced = re.subn(r"\d+ offers from \d+ clouds", f"{len(offers)} offers from {clouds} clouds", text)
    text, written = re.subn(r"\| MAPE \|.*?the error there is [\d.]+%\.", lambda _: accuracy(), text, flags=re.DOTALL)
    assert (replaced, written) == (1, 1)
    return text


if __name__ == "__main__":
    README.write_text(with_figures(README.read_text(encoding="utf-8")), encoding="utf-8")
