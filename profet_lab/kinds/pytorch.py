"""Kinds of PyTorch's operations: the first matching rule wins.

A name is compared without `aten::`, leading underscores and the underscore of "in place" at its end.
"""

from __future__ import annotations

from profet_core.features.operations import COMMUNICATION, stem
from profet_lab.kinds.rules import first_kind, matches, patterns, rules

#: Namespaces whose operations a trace may show with time on a GPU.
NAMESPACES = ("aten", "c10d", "_c10d_functional")
#: Tests, TorchScript's own helpers and inference with 8-bit integers.
ELSEWHERE = patterns(r"""
    test_.* foobar (Bool|Int|Float|Complex|String|Scalar)(Implicit)? list_to_tensor tensor_to_list dict clear
    contains count Delete get getitem items keys len pop popitem remove set_item setdefault sorted update
    quantized_.* fbgemm_.* wrapped_.* weight_int.* dyn_quant.* int_repr q_.* qscheme choose_qparams.* quantize_per.*
    make_per_.* empty_.*quantized convert_weight_to.*
""")

RULES = rules(r"""
optimizer update:
    foreach_(?!mm).* fused_(sgd|adam|adamw|adagrad) amp_foreach.* amp_update_scale
depthwise input gradient:
    (thnn_)?conv_depthwise.*backward
depthwise:
    (thnn_)?conv_depthwise.* miopen_depthwise_convolution
convolution input gradient:
    .*convolution_backward_input conv_transpose.* .*convolution_transpose.* slow_conv_transpose.*
convolution filter gradient:
    .*convolution_backward_(weights?|bias)
convolution gradient:
    .*convolution_(double_)?backward.* (thnn|slow)_conv.*_backward conv_.*_backward
convolution:
    (?!mkldnn_reorder).*convolution.* (thnn_|slow_)?conv(_tbc|_dilated)?[123]?d?(_forward)?
attention:
    .*attention.* transform_bias_rescale_qkv fused_sdp_choice transformer_encoder.*
recurrent:
    .*(cudnn|miopen|mkldnn)_rnn(?!.*flatten).* (thnn.*)?(lstm|gru|rnn)(_.*)?
matrix product:
    (mkldnn_|mixed_dtypes_)?linear(_backward.*)? (sparse_|sspadd|spadd|add|badd|int_|hsp|s)?b?mm m?v addb?mm.* addmv
    .*grouped_mm.* .*scaled_mm.* .*matmul.* einsum tensordot inner outer ger addr linalg_multi_dot
    .*sparse_semi_structured.* .*cslt_.* sparse_mm.* v?dot linalg_vecdot bilinear trilinear kron foreach_mm
    sparse_sampled_addmm sparse_addmm
normalization gradient:
    .*batch_norm_.*backward.* .*(layer|group|instance|rms)_norm.*backward weight_norm.*backward
normalization:
    .*batch_norm.* .*(layer|group|instance|rms)_norm.* (?!.*norm_except).*weight_norm.* native_norm
pooling gradient:
    .*pool.*backward
pooling:
    .*pool[123]d.*
loss:
    .*loss.* .*cross_entropy.* kl_div
softmax:
    .*softmax.*
activation gradient:
    .*(elu|mish|silu|sigmoid|softplus|shrink|hardswish|glu|relu.*|threshold|tanh)_(backward|backward_jvp|jvp)
    prelu_kernel_backward
activation:
    .*relu6? threshold hardtanh [cgs]?elu mish silu .*sigmoid(_forward)? tanh softplus .*shrink hardswish glu
    prelu.* rrelu.*
Fourier transform:
    fft_(?!.*freq|.*shift).* i?stft
linear algebra:
    linalg_(?!.*norm|diagonal|cross|vander|powsum).* cholesky.* svd qr geqrf orgqr ormqr lu_.* .*slogdet log?det det
    inverse pinverse matrix_(exp|power).* triangular_solve spsolve
random numbers:
    .*dropout.* bernoulli uniform normal.* rand.* .*philox.* multinomial poisson binomial exponential geometric
    cauchy log_normal sample_dirichlet dirichlet_grad standard_gamma.* sobol.* no_grad_(uniform|normal) masked_scale
sorting and counting:
    sort argsort msort topk kthvalue .*median mode .*quantile unique.* nonzero.* argwhere .*bincount histc
    histogram.* searchsorted bucketize isin count_nonzero
picture processing:
    .*upsample.* .*interpolate .*grid_sampler.* .*affine_grid.* pixel_(un)?shuffle .*channel_shuffle
gather and scatter:
    .*embedding.* .*gather.* .*scatter.*
    .*index(_(add|copy|fill|put|put_impl|put_accumulate|reduce|select))?(_backward)? take(_along_dim)? put one_hot
    masked_select.* .*segment_reduce.* repeat_interleave renorm
bookkeeping:
    (?!.*_copy).*view(_as|_as_real|_as_complex|_from.*)? reshape(_as|_alias)? (un)?flatten (un)?squeeze(_multiple)?
    transpose permute t numpy_T m[HT] matrix_H adjoint expand(_as)? as_strided select slice narrow
    (?!.*copy)(tensor_|unsafe_)?split.* (unsafe_)?chunk unbind alias detach diagonal linalg_diagonal swap(axes|dims)
    move(axis|dim) unfold real imag item
    (?!.*backward|.*copy).*(empty|resize|set)(_like|_permuted|_strided|_output|_as.*|_data)? lift.* is_.* size
    result_type sym_.* stride numel dim .*_dim .*assert.* version data requires_grad retains?_grad output_nr
    backward grad get_.* record_stream pin_memory local_scalar_dense .*sparse.*_args .*tensor_unsafe dim[IV] .*nnz
    .*indices .*values coalesced equal allclose resolve_(conj|neg) positive (make|unpack|fw)_(dual|primal)
    broadcast_tensors atleast_.* element_size efficientzerotensor propagate.* debug_.* .*is_acceptable autocast.*
    .*dep_token functional_.* conj hash_tensor has_.* nested_(tensor_(size|str.*|sto.*)|get.*)
    nested_(compute.*|get_.*) ncf_.* [hv]?[dhv]split type_as lazy_clone fused_moving_avg.*helper_functional
    shape_as_tensor from_file grad_sum_to_size
elementwise:
    abs absolute a(rc)?(cos|sin|tan)h? (cos|sin|tan)h? a(rc)?tan2 addc(div|mul) angle bitwise.* ceil clamp.* clip
    copysign cross deg2rad rad2deg digamma div(ide)? true_divide eq erf.* exp(2|m1)? .*fake_quant.* .*fused_moving.*
    fix float_power floor.* f(max|min|mod) frac.* frexp gcd lcm ge gt greater.* heaviside hypot i0 igammac?
    is(close|finite|inf|nan) is(neg|pos)inf isreal l?gamma ldexp le lerp less.* lt
    log(2|10|1p|addexp2?|ical_.*|it.*)? maximum minimum mul(tiply)? mvlgamma ne neg(ative)? nextafter not_equal
    polygamma pow reciprocal remainder round rsqrt r?sub(tract)? s(gn|ign) signbit sinc where special_.* sqrt square
    trunc xlogy (i|r)?(and|or|xor|lshift|rshift|ilshift|irshift) gradient diff dequantize linalg_cross
    compute_linear_combination rowwise_prune masked_fill nan_to_num
data movement:
    (un)?pad.* .*_copy copy(_.*)? .*(con)?cat .*stack clone contiguous .*pad[123]d.* constant_pad_nd tile repeat
    roll flip.* rot90 (new_)?(zeros|ones|full|fill|zero)(_like|_.*)? .*fill eye (lin|log)space a?range dim_arange
    to.* cast_.* scalar_tensor tensor as_tensor im2col col2im diag.* tri[lu].* block_diag meshgrid .*_to_.*
    broadcast_to complex polar concatenate slice_.* select_.* unfold_backward value_selecting_reduction_backward
    cartesian_prod combinations .*sparse.* coalesce .*nested.* .*(pack|padded).* mkldnn_.* no_grad_.* .*_window
    cudnn_rnn_flatten_weight .*conj_physical chalf cpu cuda spdiags cov corrcoef ravel vander unflatten.* flatten.*
    fft_fft(freq|shift) fft_(ifft|rfft)(freq|shift) linalg_vander reshape_from_tensor
reduction:
    sum.* nansum mean nanmean prod max min a(max|min) aminmax arg(max|min) std.* var.* .*norm.* any all log?cumsum.*
    cum(sum|prod|max|min).* .*logsumexp trace(_backward)? dist(_backward)? .*cdist.* .*pdist.* euclidean_dist
    cosine_similarity pairwise_distance cum.* trap.*
addition:
    add
""")


def pytorch_kind(name: str) -> str | None:
    """The kind of an operation; None for one that no training step shows on a GPU.

    Raises
    ------
    LookupError : no rule covers it.
    """
    namespace, _, short = stem(name).partition("::")
    if namespace != "aten":
        return COMMUNICATION
    if matches(ELSEWHERE, short):
        return None
    kind = first_kind(RULES, short)
    if kind is None:
        raise LookupError(f"No rule says what PyTorch's {name} does: add one to profet_lab/kinds/pytorch.py.")
    return kind
