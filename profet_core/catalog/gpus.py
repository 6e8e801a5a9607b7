"""GPU specs: clocks, peak rates, memory and bandwidth; precisions and which a GPU runs; hosts, how fast they launch."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.tables import cells_of, check_numbers, read_records
from profet_core.errors import CatalogError, Code, InputError, Note
from profet_core.shipped import shipped_text

if TYPE_CHECKING:
    import numpy as np

#: Relative tolerance of a memory size against the specs.
_MEMORY_TOLERANCE = 0.1
_MEMORY = re.compile(r"\b([1-9]\d{0,3}) ?GB\b", re.IGNORECASE)
#: Form factors of GPUs that exist in several.
_FORM = re.compile("SXM|PCIE|NVL", re.IGNORECASE)
#: GPU slices and laptop GPUs; the latter run slower than the card of that name.
#: GRID K1, K2, K340 and K520 are boards, all other GRIDs a hypervisor's parts of one.
_PART_OF_A_GPU = re.compile(
    r"\bMIG\b|\b\dg\.\d+gb\b|\bGRID\b(?! K(?:1|2|340|520)\b)|\bvGPU\b|-\d+[ABCQ]$", re.IGNORECASE
)
_LAPTOP = re.compile(r"\bLaptop\b|\bMax-Q\b|\bMobile\b", re.IGNORECASE)
#: Accelerators that are not GPUs: Intel's Gaudi, with driver names such as HL-205.
_NO_GPU = re.compile(r"\bGaudi|\bHL-\d{3}", re.IGNORECASE)
#: Processors.
CPU_NAME = re.compile(r"\bCPU\b|\bXeon\b|\bEPYC\b|\bGraviton|\bCore\(TM\)", re.IGNORECASE)
#: What drivers and clouds call a GPU, without its maker -> its full name. A100-PG509-200 is a board number, with the
#: PCI device ID of the A100 in NVIDIA's driver notes; GH200's first size is its CPU's memory.
_GPU_ALIASES = {
    "a100-pg509-200": "A100-SXM4-40GB",
    "gh200 480gb": "GH200-96GB",
    "gh200 120gb": "GH200-96GB",
    "gh200 144g hbm3e": "GH200-144GB",
    "rtx pro 6000": "RTX PRO 6000 Blackwell Workstation Edition",
    "rtx pro 6000 blackwell": "RTX PRO 6000 Blackwell Workstation Edition",
    "amd instinct mi250x / mi250": "AMD Instinct MI250",
}


class Gpu(Struct, frozen=True):
    """One GPU as a program sees it (one die of a dual-die board).

    Attributes
    ----------
    compute_capability : NVIDIA's number, 7.5 for Turing; None for AMD's.
    sm_count, cuda_cores : compute units and their lanes for AMD's.
    base_mhz, boost_mhz : clocks; boost is the highest one.
    fp32_tflops : peak without tensor cores, 10^12 operations per second; a multiply-add counts as two.
    tf32_tensor_dense_tflops, fp16_tensor_dense_tflops : tensor core peaks without sparsity; None if unsupported.
    memory_gib : nominal.
    usable_memory_gib : available to a program, where observed; else None.
    bandwidth_gb_per_s : of its memory, 10^9 bytes per second.
    tdp_w : power limit; of the whole board for a dual-die board.
    source : source of the figures.
    """

    name: str
    architecture: str
    compute_capability: float | None
    sm_count: int
    cuda_cores: int
    base_mhz: float
    boost_mhz: float
    fp32_tflops: float
    tf32_tensor_dense_tflops: float | None
    fp16_tensor_dense_tflops: float | None
    memory_gib: float
    usable_memory_gib: float | None
    bandwidth_gb_per_s: float
    l2_mb: float
    tdp_w: float
    source: str

    def __post_init__(self) -> None:
        check_numbers(self, self.name)
        if not self.source:
            raise InputError(f"{self.name}: source is empty: give the source of the figures.")

    def __hash__(self) -> int:
        # Many offers share a GPU, and GPU names are unique.
        return hash(self.name)

    @property
    def speed(self) -> tuple[float, float]:
        """TFLOP/s and bandwidth, in which GPUs of one name may differ."""
        return self.fp32_tflops, self.bandwidth_gb_per_s

    def has_memory(self, memory_gib: float) -> bool:
        """Whether its memory matches: reported and nominal memory differ by up to a tenth."""
        return abs(self.memory_gib / memory_gib - 1) <= _MEMORY_TOLERANCE

    @property
    def chip(self) -> tuple[float | None, int]:
        """Cards with the same one have the same generation and number of multiprocessors."""
        return self.compute_capability, self.sm_count

    @property
    def model(self) -> str:
        """The model designation, as `gpu_model` finds it: 'T4', 'V100'."""
        return gpu_model(self.name)


class Gpus(dict[str, Gpu]):
    """GPUs by full name, in the file's order; not to be changed.

    Attributes
    ----------
    own : names of custom GPUs.
    """

    def __init__(self, gpus: list[Gpu], own: Collection[str] = ()) -> None:
        super().__init__({gpu.name: gpu for gpu in gpus})
        self.own = frozenset(own)
        if len({gpu.name.lower() for gpu in gpus}) != len(gpus):
            raise CatalogError("The GPU table lists a GPU twice: keep one row.")
        self._by_bare: dict[str, list[Gpu]] = {}
        self._by_model: dict[str, list[Gpu]] = {}
        #: Full name -> model designation.
        self.models = MappingProxyType({gpu.name: gpu.model for gpu in gpus})
        for gpu in gpus:
            self._by_bare.setdefault(_bare(gpu.name), []).append(gpu)
            self._by_model.setdefault(self.models[gpu.name].lower(), []).append(gpu)

    @property
    def shipped(self) -> Gpus:
        """The GPUs without custom ones."""
        return Gpus([gpu for name, gpu in self.items() if name not in self.own]) if self.own else self

    def with_custom(self, own: Iterable[Gpu]) -> Gpus:
        """Add custom GPUs at the end, in place of those with the same name.

        A name matches one of these only if it matches no other GPU.
        """
        added = {gpu.name: gpu for gpu in own}
        kept = [gpu for name, gpu in self.items() if name not in added]
        return Gpus([*kept, *added.values()], self.own | added.keys())

    def find(self, name: str, memory_gib: float | None = None) -> Gpu:
        """Return the GPU that a name in a catalog or profile identifies: full, or with its model, such as "NVIDIA L4".

        Its memory distinguishes GPUs of one name; without it, of equally fast ones the first counts. If the name gives
        no form factor (SXM, PCIe, NVL), the first one in the table is used. Raises InputError if no GPU, or more than
        one, matches.

        >>> load_gpus().find("A100", memory_gib=40).bandwidth_gb_per_s
        1555.0
        """
        if memory_gib is None:
            same = self.matching(name)
        else:
            # Drivers call a card with more memory the same.
            spellings = (name, f"{name} {memory_gib:g}GB")
            by_spelling = ([gpu for gpu in self.named(text) if gpu.has_memory(memory_gib)] for text in spellings)
            same = next(filter(None, by_spelling), [])
        matching = _of_form(name, same) if len(same) > 1 else same
        if matching and (memory_gib is None or len(matching) == 1) and len({gpu.speed for gpu in matching}) == 1:
            # As fast with more memory, as the V100 is: the first one, which has less.
            return matching[0]
        if same:
            raise InputError(f"{name!r} may be any of {', '.join(gpu.name for gpu in same)}: give the full name.")
        self.check_memory(name, memory_gib)
        if is_part_of_a_gpu(name) or is_laptops(name):
            what = "a GPU slice" if is_part_of_a_gpu(name) else "a laptop GPU"
            raise InputError(f"{name!r} is {what}, not the card that specs are known for.")
        import difflib

        names = {name.lower(): gpu.name for gpu in self.values() for name in (gpu.name, gpu.model)}
        numbers = set(re.findall(r"\d+", name))
        # An RTX 3080 Ti is no RTX 2080 Ti.
        alike = {key for key, full in names.items() if not numbers or numbers & set(re.findall(r"\d+", full))}
        close = difflib.get_close_matches(gpu_model(name).lower(), sorted(alike), n=1)
        meant = f"; did you mean {names[close[0]]}?" if close else "."
        raise InputError(
            f"Unknown GPU {name!r}{meant} `profet gpus known` lists all; `profet gpus add` takes your own."
        )

    def check_memory(self, name: str, memory_gib: float | None) -> None:
        """Reject a memory size that no GPU of that name has; a name without specs may have any."""
        same = self.named(name)
        if memory_gib is not None and same and not any(gpu.has_memory(memory_gib) for gpu in same):
            sizes = " or ".join(f"{size:g}" for size in sorted({gpu.memory_gib for gpu in same}))
            raise InputError(f"{name} has {sizes} GiB, not {memory_gib:g}")

    def named(self, name: str) -> list[Gpu]:
        """GPUs with that full name, ignoring formatting, else with its model; a slice or a laptop only by full name."""
        name = _GPU_ALIASES.get(_bare(name), name)
        if name in self:
            return [self[name]]
        same = self._by_bare.get(_bare(name), [])
        if not same and not is_part_of_a_gpu(name) and not is_laptops(name):
            same = self._by_model.get(gpu_model(name).lower(), [])
        if not same and (memory_gib := memory_in_name_gib(name)):
            same = [gpu for gpu in self.named(_MEMORY.sub("", name)) if gpu.has_memory(memory_gib)]
        return [gpu for gpu in same if gpu.name not in self.own] or same

    def matching(self, name: str) -> list[Gpu]:
        """Those of `named` with the memory and form factor in the name; all if the name gives neither.

        >>> [gpu.name for gpu in load_gpus().matching("A100 80GB")]
        ['A100-SXM4-80GB', 'A100-PCIE-80GB']
        """
        same = self.named(name)
        if named_gib := memory_in_name_gib(name):
            same = [gpu for gpu in same if gpu.has_memory(named_gib)] or same
        return _of_form(name, same) if _FORM.search(name) else same

    def twin(self, gpu: Gpu) -> Gpu:
        """Return the first GPU of its model that is as fast, such as the V100 with less memory, or itself.

        >>> load_gpus().twin(load_gpus()["Tesla V100-SXM2-32GB"]).name
        'Tesla V100-SXM2-16GB'
        """
        return self._twins.get(gpu.name, gpu) if self.get(gpu.name) is gpu else gpu

    @cached_property
    def _twins(self) -> dict[str, Gpu]:
        """GPUs that have another one as their twin, and that one."""
        twins: dict[str, Gpu] = {}
        for gpu in self.shipped.values():
            of_model = self._by_model[self.models[gpu.name].lower()]
            first = next(
                twin for twin in of_model if (twin.chip, twin.speed, twin.tdp_w) == (gpu.chip, gpu.speed, gpu.tdp_w)
            )
            if first is not gpu:
                twins[gpu.name] = first
        return twins

    def on_chip(self, gpu: Gpu, among: Collection[str]) -> Gpu | None:
        """Return the one of these GPUs that has the same chip, and is nearest in model and speed; None if none has.

        >>> load_gpus().on_chip(load_gpus()["L40"], ["A40", "L4", "RTX 6000 Ada Generation", "L40S"]).name
        'L40S'
        """

        def apart(other: Gpu) -> tuple[bool, float]:
            return other.model != gpu.model, math.dist(*(list(map(math.log, card.speed)) for card in (other, gpu)))

        return min((self[name] for name in among if self[name].chip == gpu.chip), key=apart, default=None)

    def without_offer(self, name: str) -> str:
        """Return one line of advice about a GPU that no offer has; empty if no GPU has that name."""
        same = self.matching(name)
        if not same:
            return ""
        names = " and ".join(gpu.name for gpu in same)
        return f"No offer of the catalog has {names}: add one with `profet instances add`, or choose another GPU."

    def called(self, name: str) -> Gpu | None:
        """Return the GPU whose full name or model this is, ignoring makers; None if there is none."""
        bare = _bare(name)
        return next(iter(self._by_bare.get(bare) or self._by_model.get(bare, [])), None)


@cache
def load_gpus() -> Gpus:
    """Load the shipped GPU specs; read once."""
    required = [name for name in Gpu.__struct_fields__ if name != "name"]
    return Gpus(
        read_records(
            shipped_text("catalog/gpus.csv"),
            "The GPU table",
            key="gpu",
            required=required,
            make=lambda row: Gpu(name=row["gpu"], **cells_of(Gpu, row, "gpu")),
        )
    )


def _bare(name: str) -> str:
    """Strip prefixes that only some programs add: 'rtx 4090' for 'NVIDIA GeForce RTX 4090', 'RTX4090' and '4090'."""
    bare = re.sub(r"\b(nvidia|geforce|tesla|quadro)\b[ -]?|\bgeneration$", "", name.strip().lower()).strip()
    bare = re.sub(r"\b(rtx|gtx)[ -]?(?=a?\d)", r"\1 ", bare)
    bare = re.sub(r"(?<=\d)-?(ti|super)\b", r" \1", bare)
    number = re.match(r"(10|[2-5]0)[5-9]0\b", bare)
    return bare if number is None else f"{'gtx' if number[1] == '10' else 'rtx'} {bare}"


def _of_form(name: str, gpus: list[Gpu]) -> list[Gpu]:
    """GPUs with the form factor in a name, else with the first one's."""
    form = _FORM.search(name) or _FORM.search(gpus[0].name)
    return [gpu for gpu in gpus if form is None or form.group(0).upper() in gpu.name.upper()] or gpus


def gpu_model(name: str) -> str:
    """Return the model designation inside a GPU's name; the whole name if there is none.

    >>> gpu_model("Tesla V100-SXM2-16GB"), gpu_model("NVIDIA L4"), gpu_model("my GPU")
    ('V100', 'L4', 'my GPU')
    """
    designation = re.search(r"\b([A-Z]{1,2}\d{1,4}[A-Z]?)(?![A-Z0-9])", name.upper())
    return designation.group(1) if designation else name.strip()


def is_part_of_a_gpu(name: str) -> bool:
    """Whether a name is a GPU slice or a virtual GPU, whose speed is that of its share."""
    return _PART_OF_A_GPU.search(name) is not None


def is_no_gpu(name: str) -> bool:
    """Whether a name is an accelerator other than a GPU, whose operation times differ.

    >>> is_no_gpu("HL-225"), is_no_gpu("NVIDIA L4")
    (True, False)
    """
    return _NO_GPU.search(name) is not None


def is_laptops(name: str) -> bool:
    """Whether a name is a laptop GPU, which runs slower than the card of that name."""
    return _LAPTOP.search(name) is not None


def memory_in_name_gib(name: str) -> float | None:
    """Memory size in a GPU's name, such as "A100 80GB PCIe"."""
    size = _MEMORY.search(name)
    return None if size is None else float(size.group(1))


def gpu_label(name: str) -> str:
    """Display name of a GPU: maker, model, memory and form factor.

    >>> gpu_label("A100-SXM4-80GB"), gpu_label("Tesla P100-PCIE-16GB"), gpu_label("GeForce RTX 2080 Ti")
    ('NVIDIA A100 80 GB (SXM)', 'NVIDIA Tesla P100 16 GB (PCIe)', 'NVIDIA GeForce RTX 2080 Ti')
    """
    if name.startswith("AMD "):
        return name
    parts = re.fullmatch(r"(.+?)-(SXM|PCIE|NVL)\d?-(\d+)GB", name)
    if parts is None:
        return f"NVIDIA {name}"
    model, form, memory_gb = parts.groups()
    return f"NVIDIA {model} {memory_gb} GB ({'PCIe' if form == 'PCIE' else form})"


FP32, TF32, AMP, BF16 = "fp32", "tf32", "amp", "bf16"
#: Default precision of the target: the profile's, with TF32 on GPUs that use it by default.
AS_PROFILED = "as profiled"
#: Precisions that a question may ask for.
PRECISIONS = (AS_PROFILED, FP32, TF32, AMP, BF16)
#: Training code: as frameworks do by default; channels-last and compiled, which half precision gains from; or tuned as
#: for MLPerf Training, with 16-bit weights, fused operations and CUDA graphs.
PLAIN, CHANNELS_LAST, TUNED = "plain", "channels-last", "tuned"
CODES = (PLAIN, CHANNELS_LAST, TUNED)
#: Precisions with 16-bit values in most of the step.
HALF = (AMP, BF16)

#: Other names of each precision, in lower case, with spaces for "_" and "-".
_PRECISION_ALIASES = MappingProxyType(
    {
        FP32: ("fp32", "float32", "float", "single", "fp32 inferred", "no"),
        TF32: ("tf32", "tensorfloat32", "tf32 conv"),
        AMP: (
            *("amp", "fp16", "float16", "half", "16 mixed", "mixed", "mixed precision"),
            *("mixed fp16", "mixed float16", "amp fp16", "automatic mixed precision"),
        ),
        BF16: ("bf16", "bfloat16", "bf16 mixed", "mixed bf16", "mixed bfloat16", "amp bf16"),
    }
)
_CANONICAL = MappingProxyType({alias: name for name, aliases in _PRECISION_ALIASES.items() for alias in aliases})


def canonical(name: str | None) -> str | None:
    """Canonical precision of a profile or a table; None if unknown.

    >>> canonical("mixed_float16"), canonical("tf32-conv"), canonical("mixed bf16"), canonical("int8")
    ('amp', 'tf32', 'bf16', None)
    """
    return None if name is None else _CANONICAL.get(" ".join(name.lower().replace("_", " ").replace("-", " ").split()))


def is_half(name: str | None) -> bool:
    """Whether a name denotes mixed or half precision.

    >>> is_half("mixed fp16"), is_half("tf32"), is_half(None)
    (True, False, False)
    """
    return canonical(name) in HALF


def requested_precision(name: str) -> str:
    """Precision of a question.

    Raises
    ------
    InputError : not one of `PRECISIONS`, under any of their names.
    """
    precision = AS_PROFILED if name.strip().lower().replace("-", " ") == AS_PROFILED else canonical(name)
    if precision is None:
        raise InputError(f"Unknown precision {name!r}: use {', '.join(repr(name) for name in PRECISIONS)}.")
    return precision


def requested_code(name: str) -> str:
    """Training code of a question about a profile; InputError if it is another one.

    >>> requested_code("Channels-last")
    'channels-last'
    """
    code = name.strip().lower()
    if code not in (AS_PROFILED, *CODES):
        *first, last = map(repr, (AS_PROFILED, *CODES))
        raise InputError(f"Unknown training code {name!r}: use {', '.join(first)} or {last}.")
    return code


#: Minimum compute capability of BF16 in tensor cores.
_AMPERE = 8.0


def has_tensor_cores(gpu: Gpu) -> bool:
    """Whether AMP uses tensor cores there, or AMD's matrix cores."""
    return gpu.fp16_tensor_dense_tflops is not None


def supported_precisions(gpu: Gpu) -> tuple[str, ...]:
    """Precisions that the GPU runs at a speed of their own: TF32, AMP and BF16 need tensor cores that have them."""
    tensor_cores = has_tensor_cores(gpu)
    supports = {
        FP32: True,
        TF32: gpu.tf32_tensor_dense_tflops is not None,
        AMP: tensor_cores,
        BF16: tensor_cores and gpu.architecture != "CDNA" and (gpu.compute_capability or _AMPERE) >= _AMPERE,
    }
    return tuple(name for name, supported in supports.items() if supported)


_AT_FP32_SPEED = MappingProxyType({AMP: Note(Code.NO_TENSOR_CORES), BF16: Note(Code.NO_BF16)})


def runs_as(gpu: Gpu, requested: str) -> tuple[str, Note | None]:
    """Return the precision at whose speed a GPU runs the requested one, and a note where the two differ.

    As profiled is the frameworks' default, TF32 where a GPU has it. Without units for TF32 or BF16 a step takes as long
    as in FP32; without tensor cores AMP takes at least as long.

    >>> t4, k80 = load_gpus()["Tesla T4"], load_gpus()["Tesla K80"]
    >>> runs_as(t4, "amp"), runs_as(t4, "bf16")[0], runs_as(k80, "amp")[1].code
    (('amp', None), 'fp32', <Code.NO_TENSOR_CORES: 'no_tensor_cores'>)
    """
    wanted = TF32 if requested == AS_PROFILED else requested
    if wanted in supported_precisions(gpu):
        return wanted, None
    return FP32, _AT_FP32_SPEED.get(wanted)


def no_less(gpus: Sequence[Gpu]) -> np.ndarray:
    """Whether a GPU has no less of everything than another of its generation, and more of something, (gpus, gpus)."""
    # Late: a list of GPUs is read without it.
    import numpy as np

    specs = np.array([compared_specs(gpu) for gpu in gpus])
    generations = np.array([gpu.compute_capability for gpu in gpus], float)
    is_more = (specs[:, None] > specs[None]).any(axis=2)
    same: np.ndarray = generations[:, None] == generations
    return same & is_more & (specs[:, None] >= specs[None]).all(axis=2)


def compared_specs(gpu: Gpu) -> tuple[float, ...]:
    """Return what makes a GPU faster, the more the faster."""
    tensor = gpu.tf32_tensor_dense_tflops or 0.0, gpu.fp16_tensor_dense_tflops or 0.0
    return gpu.fp32_tflops, *tensor, gpu.bandwidth_gb_per_s, gpu.l2_mb, gpu.tdp_w


def amp_words(gpu: Gpu) -> str:
    """Return one line on AMP and BF16 on the GPU.

    >>> from profet_core.catalog.gpus import load_gpus
    >>> amp_words(load_gpus()["Tesla T4"])
    'faster, on tensor cores; BF16 at FP32 speed: no fast BF16 units'
    """
    amp, bf16 = (runs_as(gpu, precision)[1] for precision in (AMP, BF16))
    return "; ".join(filter(None, (amp or "faster, on tensor cores", bf16)))


# Launches are bound by one CPU thread. Two hosts were measured: Broadwell (g3s, p2, p3) and Cascade Lake (g4dn). Others
# follow from the clock that a generation sustains and its instructions per clock, as its vendor states the gain over
# the generation before: Skylake 1.1 times Broadwell's, Ice Lake 1.18 times Skylake's, Sapphire Rapids 1.19 times Ice
# Lake's; Zen 2 1.15 times Broadwell's, Zen 3 1.19, Zen 4 1.14 and Zen 5 1.17 times the one before (all recalled).
# Published tables agree in kind, not in size: DenseNet-121 at batch 12 takes 56 to 104 ms with GPUs of 2017 to 2020 and
# 15 ms with an RTX 5090 (`external/training_throughput.csv`). A GPU's own bus may be slower than its host's.

_BROADWELL_GHZ = 2.7
#: Log standard deviation of copy, start and launches on a host that was measured with another GPU, and on an unmeasured
#: host: the two measured ones differ by 0.24.
MEASURED_LOG_SD, ASSUMED_LOG_SD = 0.13, 0.3


class Host(Struct, frozen=True):
    """Speed of a host relative to the reference host.

    Attributes
    ----------
    launch : time of the start and of launches over the reference's.
    copy : time of a copy over the reference's.
    log_sd : uncertainty of both, in the logarithm.
    """

    name: str
    launch: float
    copy: float
    log_sd: float

    def __hash__(self) -> int:
        return hash(self.name)


#: Reference of launch times and copies.
REFERENCE_HOST = Host("broadwell", 1.0, 1.0, MEASURED_LOG_SD)


def _host(name: str, ghz: float, per_clock: float, copy: float, log_sd: float = ASSUMED_LOG_SD) -> Host:
    """Host by its sustained clock and its instructions per clock over Broadwell's."""
    return Host(name, _BROADWELL_GHZ / (ghz * per_clock), copy, log_sd)


#: Copies: as fast as the bus, PCIe 3 up to Cascade Lake, PCIe 4 from Rome to Ice Lake, then PCIe 5.
HOSTS: Mapping[str, Host] = MappingProxyType(
    {
        host.name: host
        for host in (
            REFERENCE_HOST,
            _host("haswell", 2.6, 0.95, 1.0),
            _host("skylake", 2.7, 1.1, 1.0),
            _host("cascade-lake", 3.1, 1.1, 1.0, MEASURED_LOG_SD),
            _host("rome", 3.3, 1.15, 0.5),
            _host("milan", 3.5, 1.37, 0.5),
            _host("ice-lake", 3.5, 1.3, 0.5),
            _host("sapphire-rapids", 3.5, 1.54, 0.25),
            _host("emerald-rapids", 3.6, 1.54, 0.25),
            _host("genoa", 3.7, 1.56, 0.25),
            _host("turin", 4.0, 1.83, 0.25),
            _host("granite-rapids", 3.8, 1.65, 0.25),
        )
    }
)
#: Typical host of a GPU where the host is unknown, by compute capability and above: the generation sold with it.
_TYPICAL_HOSTS = (
    (10.0, "granite-rapids"),
    (8.9, "sapphire-rapids"),
    (8.0, "milan"),
    (7.5, "cascade-lake"),
    (0.0, "skylake"),
)
#: More than an unmeasured host's: the generation is unknown too.
_UNKNOWN_LOG_SD = 0.4


def host_named(name: str, compute_capability: float | None = None) -> Host:
    """Host of a CPU generation; if unknown, the typical one of a GPU's generation.

    Parameters
    ----------
    compute_capability : of the GPU in it; None: unknown, or not NVIDIA's, whose GPUs here are recent.

    >>> host_named("broadwell").launch, host_named("", 8.0).name
    (1.0, 'milan')
    """
    if name in HOSTS:
        return HOSTS[name]
    capability = 8.9 if compute_capability is None else compute_capability
    typical = next(host for least, host in _TYPICAL_HOSTS if capability >= least)
    return replace(HOSTS[typical], log_sd=_UNKNOWN_LOG_SD)
