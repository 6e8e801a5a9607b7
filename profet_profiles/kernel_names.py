"""Tells the operation that a GPU's kernel runs for from the kernel's own name, where the profiler noted no operation.

Names of NVIDIA's libraries (cuDNN, cuBLAS, CUTLASS, NCCL), of AMD's (MIOpen, rocBLAS, Composable Kernel), of
TensorFlow and of PyTorch. Checked against the kernels of recorded ResNets whose operations are known: cuDNN's `scudnn`
kernels are a filter's gradient with `splitK`, an input's gradient with `stridedB`, else forward. Winograd's and FFT's
kernels run forward and for the input's gradient alike and count as forward; products of matrices that cuDNN starts for
1 x 1 convolutions can't be distinguished from dense layers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from profet_profiles.record import ProfileMeta

#: What a kernel of one element at a time counts as, if its name does not say more.
ELEMENTWISE = "Mul"
#: Collective operations between GPUs.
COLLECTIVE = "NcclAllReduce"
#: Setting memory, for which TensorFlow has no operation.
MEMSET = "Memset"

#: Names of templates have thousands of characters; what tells the operation stands further to the front, in Eigen's
#: behind the first 300.
MAX_KERNEL_CHARACTERS = 600

#: What MLIR makes for TensorFlow: "AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel".
_GENERATED = re.compile(r"(_?[A-Z][A-Za-z0-9]{1,60})_GPU_DT_")
_COPY = re.compile(r"memcpy ?([hdp])(?:to|2)([hdp])")
_MOVES = re.compile(r"memcpy|memset|rocclr_fillbuffer|rocclr_copybuffer")
_COMPILED = re.compile(r"^triton_|fusion")
_CONVOLUTION = re.compile(
    r"conv(?!er)|scudnn|winograd|implicit_?gemm|igemm_|_fprop|dgrad|wgrad|fft\dd|flip_filter|gcgemm|im2col|col2im"
    r"|first_layer|computeb?offsets|scalepackedtensor|2d_c1_k1"
)
#: Which part of a convolution, the first that is found: what says so before what only hints at it.
_PARTS = (
    (
        re.compile(r"wgrad|wrw|bwd_?filter|bwd_?weight|backward_?(?:filter|weight)|backpropfilter|grad_weight"),
        "BackpropFilter",
    ),
    (re.compile(r"dgrad|bwd|backward|backpropinput|col2im|computeboffsets|scalepackedtensor"), "BackpropInput"),
    (re.compile(r"fprop|fwd|forward"), ""),
    (re.compile(r"splitk"), "BackpropFilter"),
    (re.compile(r"strided_?b"), "BackpropInput"),
)
_DEPTHWISE = re.compile(r"depthwise|2d_c1_k1")

_BACKWARD = r"bw|back|grad"
_AVERAGE = r"avg|average|poolingave"
#: Texts that must all be in a name in small letters, and what it is then: the first that fits, so those that say more
#: stand first. No repetition in them: every name is searched in a time that goes with its length.
_RULES: tuple[tuple[tuple[re.Pattern[str], ...], str], ...] = tuple(
    (tuple(re.compile(text) for text in texts), kind)
    for *texts, kind in (
        (r"nccl|rccl|cross_device_reduce", COLLECTIVE),
        (r"memset|rocclr_fillbuffer", MEMSET),
        (r"rocclr_copybuffer", "MemcpyDToD"),
        # Normalization.
        (r"bn_bw|batch_?norm|layer_?norm|group_?norm", _BACKWARD, "FusedBatchNormGradV3"),
        (r"bn_fw|batch_?norm|layer_?norm|group_?norm|rowwisemoments", "FusedBatchNormV3"),
        (r"\blrn", _BACKWARD, "LRNGrad"),
        (r"\blrn", "LRN"),
        # Pooling.
        (r"pool", r"adaptive", r"av", _BACKWARD, "Tile"),
        (r"pool", r"adaptive", r"av", "Mean"),
        (r"pool", _AVERAGE, _BACKWARD, "AvgPoolGrad"),
        (r"pool", _AVERAGE, "AvgPool"),
        (r"pool", _BACKWARD, "MaxPoolGrad"),
        (r"pool", "MaxPool"),
        # Losses and their gradients.
        (r"nll_?loss|classnllcriterion|cross_?entropy", "SoftmaxCrossEntropyWithLogits"),
        (r"soft_?max", _BACKWARD, "SoftmaxCrossEntropyWithLogits"),
        (r"soft_?max", "Softmax"),
        # Biases.
        (r"bias", r"grad", "BiasAddGrad"),
        (r"bgrad", "BiasAddGrad"),
        (r"biasn|addbias|bias_?add|op_generic_tensor|optensorfwdbias", "BiasAdd"),
        # Optimizers.
        (r"adam", "ResourceApplyAdam"),
        (r"rms_?prop", "ResourceApplyRMSProp"),
        (r"momentum", "ResourceApplyMomentum"),
        (r"multi_tensor_apply|fused_?sgd|applygradientdescent", "ResourceApplyGradientDescent"),
        # Products of matrices.
        (r"gemm|gemv|cutlass|splitkreduce|cijk_|nvjet|\bdot_kernel", "MatMul"),
        (r"flash|fmha|attention", "BatchMatMulV2"),
        # Activations.
        (r"relu6", r"grad", "Relu6Grad"),
        (r"relu|activation|neuron", r"grad|bwd", "ReluGrad"),
        (r"threshold_", "ReluGrad"),
        (r"relu|clamp_min|clamp_scalar|activation|neuronfwd", "Relu"),
        # Data movement.
        (r"nchwtonhwc|nhwctonchw|transpose|swapdimension|shuffleintensor|permute", "Transpose"),
        (r"concat|catarray", "ConcatV2"),
        (r"gather|index_?select|embedding", "GatherV2"),
        (r"padinput|padding|reflection_pad|\bpad_", "Pad"),
        (r"split(?!k)", "Split"),
        (r"resize|upsampl", "ResizeBilinear"),
        (r"direct_copy|copy_device_to_device|conversionop|scalar_cast|withcasttensor", "Cast"),
        (r"fillfunctor|subtensoropwithscalar|fill_kernel|\bsetzero|setone", "Fill"),
        (r"random|philox|distribution_|curand|bernoulli|dropout", "RandomUniform"),
        # Reductions.
        (r"argmax|argmin", "ArgMax"),
        (r"meanops|meanreducer", "Mean"),
        (r"reduce|reduction|\bsum_functor", "Sum"),
        # One element at a time.
        (r"functor\w{0,6}_add|addfunctor|scalar_sum_op|addtensor", "AddV2"),
        (r"elementwise|vectorized|eigenmetakernel|eigen::internal|functor|binaryop|unaryop", ELEMENTWISE),
    )
)


@lru_cache(8192)
def operation_of_kernel(name: str) -> str | None:
    """Return the TensorFlow type that a kernel of this name runs for; None if its name does not tell.

    What a compiler made is none's:

    >>> operation_of_kernel("volta_sgemm_64x64_nn"), operation_of_kernel("MemcpyH2D"), operation_of_kernel("fusion_12")
    ('MatMul', 'MemcpyHToD', None)
    """
    if generated := _GENERATED.match(name):
        return generated[1]
    name = name[:MAX_KERNEL_CHARACTERS].lower()
    if copy := _COPY.search(name):
        source, target = copy.group(1, 2)
        return f"Memcpy{_MEMORY[source]}To{_MEMORY[target]}"
    if _COMPILED.search(name):
        return None
    if _CONVOLUTION.search(name):
        part = next((part for pattern, part in _PARTS if pattern.search(name)), "")
        return f"DepthwiseConv2dNative{part}" if _DEPTHWISE.search(name) else f"Conv2D{part}"
    return next((kind for texts, kind in _RULES if all(text.search(name) for text in texts)), None)


@lru_cache(8192)
def moves_memory(name: str) -> bool:
    """Return True for copies and settings of memory, which the GPU lists beside its kernels."""
    return _MOVES.search(name[:MAX_KERNEL_CHARACTERS].lower()) is not None


@lru_cache(8192)
def is_convolution_kernel(name: str) -> bool:
    """Return True for a kernel that a library runs for a convolution or one of its gradients."""
    return _CONVOLUTION.search(name[:MAX_KERNEL_CHARACTERS].lower()) is not None


#: Copies to another GPU, peer to peer, stay on devices.
_MEMORY = {"h": "H", "d": "D", "p": "D"}


#: Kernels that a compiler made below this share of the time are a part of the step: Keras 2.11 to 2.15 compile the
#: optimizer's update alone.
MIN_COMPILED_SHARE = 0.05
#: Kernels of 16 bits below this share of the time are conversions at the edges, not mixed precision.
MIN_SHARE = 0.02
#: NHWC kernels below this share of the time are single convolutions of an NCHW step.
MIN_NHWC_SHARE = 0.2

AMP = "amp"
BF16 = "bf16"
TF32 = "tf32"
FP32 = "fp32"

# Names of cuDNN's, cuBLAS's and PyTorch's kernels: h884, h1688, h16816 and s884, s16816 are tensor-core instructions
# that take 16 bits; s1688 takes 16 bits or TF32, and then the name says which, or it is TF32.
_HALF_KERNEL = re.compile(
    r"c10::(?:Half|BFloat16)|Eigen::(?:half|bfloat16)|__half|__nv_bfloat16|(?:^|[_<, ])half(?:[_>, \d]|$)|fp16|float16"
    r"|bf16|[_.]f16|h884|h1688|h16816|s884|s16816|hgemm|hmma"
)
_TF32_KERNEL = re.compile(r"tf32|s1688")
_HALF_INPUT = re.compile(r"c10::(?:Half|BFloat16)")
_BF16 = re.compile(r"bf16|bfloat16", re.IGNORECASE)
_AMP_OPERATION = re.compile(r"autocast_to_reduced_precision|_amp_foreach_non_finite_check|_amp_update_scale")
_COMPILED_OPERATION = re.compile(r"CompiledFunction|CompiledFxGraph|Torch-Compiled Region|TorchDynamo")
_XLA_OPERATION = re.compile(r"XlaLaunch|XlaRun|XlaCompile")
# torch.compile's since 2.1 are triton_poi_fused_..., before that triton__0d1d2d; TorchScript's are CudaCodeGen's and
# nvFuser's; XLA's are fusions, its products gemm_fusion_dot, its single operations wrapped_transpose.
_COMPILED_KERNEL = re.compile(
    r"^triton_|CudaCodeGen::kernel|^nvfuser_|(?:^|_)fusion(?:_dot(?:_general)?)?(?:[._]+\d+)*$|^wrapped_[a-z]"
)
# Kernels that run only on tensors of this layout, kernels that cuDNN and MIOpen also run on converted NCHW tensors, and
# these conversions. Dense layers add their bias with NHWC kernels.
_NHWC_TENSOR = re.compile(r"batch_?norm\w*(?:nhwc|channels_last)|pool\w*nhwc|average_\w*nhwc", re.IGNORECASE)
_NHWC = re.compile(r"nhwc", re.IGNORECASE)
_NOT_NHWC = re.compile(r"bias|_nchw", re.IGNORECASE)
_CONVERSION = re.compile(r"nchwtonhwc|nhwctonchw|batched_transpose|SwapDimension1And2InTensor3", re.IGNORECASE)


def detect_traits(
    kernels_us: Mapping[str, float],
    operations: Iterable[str] = (),
    input_types: Iterable[str] = (),
    compute_capability: int | None = None,
    channels_last_inputs: bool | None = None,
    check_time: Callable[[], None] = lambda: None,
) -> ProfileMeta:
    """Precision, compilation and layout of a step, None where the names leave them open or deny them.

    Parameters
    ----------
    kernels_us : kernel name -> microseconds.
    operations : names of operations on the host.
    input_types : types of the inputs of convolutions and matrix products, where they were recorded.
    compute_capability : the GPU's major one: below 8 there is no TF32, so that no sign of 16 bits means FP32.
    channels_last_inputs : whether most inputs of convolutions are NHWC in memory; None if the trace has no strides.
    check_time : called now and then; what it raises ends the reading.
    """

    def named(pattern: re.Pattern[str]) -> set[str]:
        """Kernels whose names match, searched anywhere in them."""
        names = set()
        for name in kernels_us:
            check_time()
            if pattern.search(name):
                names.add(name)
        return names

    def time_of(names: set[str]) -> float:
        return sum(kernels_us[name] for name in names)

    total_us = sum(kernels_us.values())
    halves = named(_HALF_KERNEL)
    half_us, bf16_us = time_of(halves), time_of(halves & named(_BF16))
    tf32_us = time_of(named(_TF32_KERNEL) - halves)
    operations = tuple(operations)
    half_kernels = total_us > 0 and half_us >= MIN_SHARE * total_us
    half_inputs = {kind for kind in input_types if _HALF_INPUT.search(kind)}
    precision = None
    if half_kernels or half_inputs or any(_AMP_OPERATION.search(name) for name in operations):
        # Kernels of AMP's matrix instructions don't always name the format; those of BF16 do.
        is_bf16 = all(map(_BF16.search, half_inputs)) if half_inputs else 2 * bf16_us > half_us
        precision = BF16 if is_bf16 else AMP
    elif total_us and tf32_us >= MIN_SHARE * total_us:
        precision = TF32
    elif total_us and compute_capability is not None and compute_capability < 8:
        precision = FP32
    made = named(_COMPILED_KERNEL)
    if any(_COMPILED_OPERATION.search(name) for name in operations):
        compiled = True
    elif made and time_of(made) > 0:
        compiled = time_of(made) >= MIN_COMPILED_SHARE * total_us
    else:
        # The host's operations tell where kernels don't.
        compiled = any(_XLA_OPERATION.search(name) for name in operations)
    if channels_last_inputs is None:
        # Kernels that take nothing else, or many without conversions.
        nhwc_us = time_of(named(_NHWC) - named(_NOT_NHWC))
        many = nhwc_us > 0 and nhwc_us >= MIN_NHWC_SHARE * total_us
        channels_last_inputs = bool(named(_NHWC_TENSOR)) or (many and not named(_CONVERSION))
    return ProfileMeta(precision=precision, compiled=compiled or None, channels_last=channels_last_inputs or None)
