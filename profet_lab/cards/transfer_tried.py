"""What was tried on the way to `transfer.json`: text of the card, from exploratory runs that nothing repeats."""

from __future__ import annotations

TRIED = """## What was tried

Figures of exploratory runs, mean / worst error in percent over the 12 directions; not of the run above.

| carried over | mean | worst |
|---|---|---|
| latency x one constant | 22.1 | 49.7 |
| busy time x one constant | 18.0 | 29.4 |
| operation classes scaled by FP32 peak or bandwidth | 18.1 | 29.7 |
| copy and start left unscaled | 15.1 | 23.5 |
| other instances' predictions too, equal weights, no floor | 13.4 | 17.3 |
| launch floor | 12.7 | 15.2 |
| weighted | 10.9 | 15.3 |

The first three stand alone; each of the others comes to the one above it. Kept: the last. Its weights were then chosen
anew by leaving one GPU out among any three (`python -m profet_lab.transfer.weights`), so the figures above differ.

- A correction by the mix of operation classes at strength 1/4, 1/2 and 1: 10.9, 11.1 and 11.6 on average. It gains
  nothing and is kept as a spread only.
- Floor slopes fitted on each GPU alone: 83 % from K80 to V100. The least floor that all agree on: worst 14.5.
- Data sheet only, mean: FP32 peak 37 (kept), half FP32 and half bandwidth 47, bandwidth 58.
- The derived route, T4 to V100 / V100 to T4: set-up, validation and overheads of a step alone 13.4 / 11.4; with the
  share of time the GPU was busy both come to at most 10 (kept). The SM clock helps where both GPUs are learned from
  (9.3 / 8.3) but fails from one GPU to the other (16.2 / 13.2): left out.

**What looked at the results it is judged by**: the form of the law, the data-sheet rule, the choice of the correction's
features and its ridge strength. The figures above are optimistic by as much.

**Not measured but assumed**: half of a roofline's effect of the class mix is one standard deviation; 0.15 for A10G in
FP32; the hosts' spread of 0.26, read by hand from small steps; some TF32 peaks are recalled, not looked up. The launch
floor on hosts of H100 and H200 is that of older hosts: pessimistic for small steps."""
