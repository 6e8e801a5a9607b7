"""The operation a kernel runs for, inferred from its name: names as libraries write them."""

from __future__ import annotations

from profet_core.profiles.trace_events.kernel_names import operation_of_kernel

KERNELS = {
    # Copies and memory.
    "MemcpyH2D": "MemcpyHToD",
    "Memcpy HtoD (Pageable -> Device)": "MemcpyHToD",
    "Memcpy DtoH (Device -> Pinned)": "MemcpyDToH",
    "Memcpy PtoP (Device -> Device)": "MemcpyDToD",
    "Memset (Device)": "Memset",
    "__amd_rocclr_fillBufferAligned": "Memset",
    # cuDNN.
    "volta_scudnn_128x64_relu_interior_nn_v1": "Conv2D",
    "volta_scudnn_128x64_stridedB_interior_nn_v1": "Conv2DBackpropInput",
    "cudnn_turing_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1": "Conv2DBackpropFilter",
    "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int)": "Conv2DBackpropInput",
    "void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int)": "Conv2DBackpropFilter",
    "void cudnn::winograd_nonfused::winogradWgradDelta4x4<float, float>()": "Conv2DBackpropFilter",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_splitK": "Conv2D",
    "sm80_xmma_dgrad_implicit_gemm_indexed_tf32f32": "Conv2DBackpropInput",
    "cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_128x128>": "Conv2DBackpropFilter",
    "void cudnn::cnn::wgrad2d_c1_k1_nhwc_kernel<float>": "DepthwiseConv2dNativeBackpropFilter",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>": "FusedBatchNormV3",
    "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>": "FusedBatchNormGradV3",
    "void cudnn::pooling_fw_4d_kernel<float, float, cudnn::maxpooling_func<float>>": "MaxPool",
    "void cudnn::pooling_bw_kernel_max<float, float>": "MaxPoolGrad",
    "void cudnn::ops::pooling_bw_kernel_avg<float>": "AvgPoolGrad",
    # TensorFlow.
    "void tensorflow::DepthwiseConv2dGPUKernelNHWC<float, 3, 3, 1>": "DepthwiseConv2dNative",
    "void tensorflow::DepthwiseConv2dBackpropInputGPUKernelNHWC<float>": "DepthwiseConv2dNativeBackpropInput",
    "void tensorflow::BiasNHWCKernel<float>": "BiasAdd",
    "void tensorflow::BiasGradNHWC_SharedAtomics<float>": "BiasAddGrad",
    "void tensorflow::functor::ApplyAdamKernel<float>": "ResourceApplyAdam",
    "void tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<unsigned int>": "Transpose",
    "void tensorflow::functor::FillPhiloxRandomKernelLaunch<float>": "RandomUniform",
    "AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel": "AddV2",
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<float>>>": "Mul",
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorConversionOp<float, Eigen::half>>": "Cast",
    "void tensorflow::functor::ColumnReduceKernel<float const*>": "Sum",
    # PyTorch, cuBLAS, NCCL.
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>": "Mul",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>": "AddV2",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>": "Softmax",
    "volta_sgemm_64x64_nn": "MatMul",
    "ampere_fp16_s16816gemm_fp16_128x64": "MatMul",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)": "NcclAllReduce",
    # AMD.
    "Cijk_Ailk_Bjlk_SB_MT64x64x8_SE": "MatMul",
    "MIOpenBatchNormFwdTrainSpatial": "FusedBatchNormV3",
    "MIOpenBatchNormBwdSpatial": "FusedBatchNormGradV3",
    "mloPoolingMaxBwd": "MaxPoolGrad",
    "naive_conv_ab_nonpacked_bwd_nchw_float": "Conv2DBackpropInput",
    "naive_conv_ab_nonpacked_wrw_nchw_float": "Conv2DBackpropFilter",
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x64x32": "Conv2D",
    "igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x32": "Conv2DBackpropInput",
    "batched_transpose_32x32_half": "Transpose",
    # Made by a compiler, or unknown.
    "fusion_12": None,
    "triton_poi_fused_add_convolution_0": None,
    "some_kernel": None,
    "": None,
}


def test_a_kernels_name_tells_its_operation():
    assert {name: operation_of_kernel(name) for name in KERNELS} == KERNELS
