"""The processor that the models are of: its cores, and how threads that share one slow each other down."""

from __future__ import annotations

from dataclasses import dataclass

#: Threads that are asked about.
FEWEST_THREADS, MOST_THREADS = 1, 3_840


@dataclass(frozen=True, slots=True)
class Machine:
    """A many-core processor.

    Attributes
    ----------
    clock_hz : cycles a second of a core.
    operation_factor : what an operation of the published counts takes beside its one cycle an instruction, a constant
        of the processor and its compiler.
    cpi : cycles an instruction of each thread with one thread a core, two, ...; the last holds for more.
    """

    name: str
    cores: int
    clock_hz: float
    operation_factor: float
    cpi: tuple[float, ...]

    def threads_per_core(self, threads: int) -> int:
        """Of the core that has most. Beyond the cores' own, a larger processor with as many on each is meant."""
        return min(-(-threads // self.cores), len(self.cpi))

    def cycles_per_instruction(self, threads: int) -> float:
        """Of each of so many threads."""
        return self.cpi[self.threads_per_core(threads) - 1]


#: After Viebke et al. 2019, as recalled: up to two threads share a core for nothing, three and four don't.
XEON_PHI_7120P = Machine("Intel Xeon Phi 7120P", 61, 1.238e9, 15.0, (1.0, 1.0, 1.5, 2.0))
