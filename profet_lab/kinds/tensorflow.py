"""Kinds of TensorFlow's operations: the first matching rule wins.

A name is compared without oneDNN's prefix (`_Mkl`, `_MklNative`), leading underscores and its version (`V2`): those say
who wrote the kernel, not what it does.
"""

from __future__ import annotations

from profet_core.features.operations import stem
from profet_lab.kinds.rules import first_kind, matches, patterns, rules

#: Operations that no training step shows on a GPU: another accelerator's, a compiler's own, inference with 8-bit
#: integers, trees, remote calls, and TensorFlow's tests.
ELSEWHERE = patterns(r"""
    .*TPU.* .*Xla.* .*SparseCore.* (In|Out)feed.* Prelinearize.* .*Minibatch.* ConvertToCooTensor GlobalIterId
    (Fused)?Quantized.* Uniform(Deq|Q|Req)uantize.* Quantize QuantizeDownAndShrinkRange Requanti.* .*BoostedTrees.*
    Sdca.* KMC2.* Kmeans.* NearestNeighbors .*Rpc.* Old TestAttr KernelLabel.* ConstructionFails DevicePlacementOp
    DtypeWithDefaultOp DumpTensor GetDeadline GraphDefVersion Stub.* Resource(Create|Initialized|Using)Op Sleep.*Op
    IsTensorFloat32Enabled StochasticCastToInt NegTrain Skipgram AudioMicrofrontend Calibration.* CustomAggregator
    IsotonicRegression WorkerHeartbeat sys
""")

RULES = rules(r"""
communication:
    Nccl.* Horovod.* Collective.* CrossReplicaSum AllToAll MemcpyP(To|2)P
receive:
    (Host)?Recv MemcpyH(To|2)D
send:
    (Host)?Send MemcpyD(To|2)H
idle:
    IDLE
input pipeline:
    (?!.*Variant).*Dataset.* .*Iterator.* (?!Dynamic).*Queue.* .*Reader.* (?!Decode(Base64|Proto)).*Decode(?!r).*
    Encode(Jpeg|Png|Wav).* Parse.* ReadFile MatchingFiles RecordInput ExtractJpegShape AudioSpectrogram Mfcc
    (Ordered)?Map(Stage|Unstage|Peek|Clear|Size|IncompleteSize|UnstageNoKey) Stage.* Unstage Barrier.*
    (Batch|Unbatch)(Function|Grad)? .*MemoryCache .*ThreadPool.* .*StatsAggregator.* ComputeBatchSize
    (C|Unc)ompressElement WindowOp
depthwise filter gradient:
    DepthwiseConv2dNativeBackpropFilter
depthwise input gradient:
    DepthwiseConv2dNativeBackpropInput
depthwise:
    (Fused)?DepthwiseConv2dNative
convolution filter gradient:
    Conv[23]DBackpropFilter(WithBias)?
convolution input gradient:
    Conv[23]DBackpropInput
convolution:
    (PadWith|FusedPad|FusedResizeAndPad)?(Fused)?Conv([23]D)?(WithBias)?
recurrent:
    CudnnRNN(Backprop)? (Block)?LSTM.* GRUBlock.*
matrix product:
    .*MatMul(?!Grad) Einsum
normalization gradient:
    .*BatchNorm.*Grad(Ex)? LRNGrad
normalization:
    (Fused)?BatchNorm.* LRN LayerNorm FusedInstanceNorm
pooling gradient:
    .*(Avg|Max)Pool.*Grad.* Dilation2DBackprop.*
pooling:
    .*(Avg|Max)Pool.* Dilation2D
activation gradient:
    (Relu6?|LeakyRelu|Elu|Selu|Sigmoid|Tanh|Softplus|Softsign)Grad
activation:
    Relu6? LeakyRelu Elu Selu Sigmoid Tanh Softplus Softsign Swish FusedMish BiasAdd
bias gradient:
    BiasAddGrad
addition:
    Add AddN AccumulateN InplaceAdd
loss:
    (Sparse)?SoftmaxCrossEntropyWithLogits CTCLoss
softmax:
    (Log|Sparse|SparseMatrix)?Softmax SparseMatrixSoftmaxGrad
optimizer update:
    (Resource)?(Sparse)?Apply[A-Z].*
variable assignment:
    Assign(Add|Sub)?(VariableOp)? (Resource)?CountUpTo
random numbers:
    (?!.*Seed).*Random(?!Shuffle|Crop|Index).* State(less|ful)(.*Normal|.*Uniform.*|Multinomial) .*TruncatedNormal
    Multinomial .*CandidateSampler Rng.* NonDeterministicInts SobolSample
gather and scatter:
    (?!TensorArray|TensorList).*(Gather|Scatter).* (Parallel)?DynamicStitch DynamicPartition OneHot
    (Unsorted|Sparse)?Segment.* .*Shuffle
sorting and counting:
    (Approx|In)?TopK NthElement Unique.* Where .*NonMaxSuppression.* LowerBound UpperBound .*Bincount
    HistogramFixedWidth Bucketize ListDiff .*CountSparseOutput ComputeAccidentalHits CTC.*Decoder EditDistance
    .*SetOperation SetSize
Fourier transform:
    (Batch)?I?R?FFT([23N]D?)?
linear algebra:
    (Batch)?Cholesky(Grad)? (Batch)?(Log)?MatrixDeterminant (Batch)?Matrix(Inverse|Solve|SolveLs|TriangularSolve)
    Matrix(Exponential|Logarithm|SquareRoot) (Batch)?(SelfAdjointEig|Svd) Eig Qr Lu TridiagonalSolve
    BandedTriangularSolve SparseMatrix(SparseCholesky|OrderingAMD)
picture processing:
    Resize.* CropAndResize.* ExtractGlimpse ImageProjectiveTransform ScaleAndTranslate.* Adjust.* HSVToRGB RGBToHSV
    DrawBoundingBoxes .*SampleDistortedBoundingBox GenerateBoundingBoxProposals RandomCrop
reduction:
    Sum Mean Max Min Prod All Any EuclideanNorm ArgMax ArgMin L2Loss Cumsum Cumprod CumulativeLogsumexp
    SparseReduce.*
files and text:
    .*String.* .*Regex.* Unicode.* Substr (De|En)codeBase64 (De|En)codeProto .*Summary.* .*Save.* .*Restore.*
    .*Fingerprint .*LookupTable.* .*HashTable.* InitializeTable.* GenerateVocabRemapping LoadAndRemapMatrix
    Sharded.* WriteFile FileSystemSetConfiguration MergeV2Checkpoints ReduceJoin Print (Eager)?PyFunc.*
    .*[Ss]erialize.* ImportEvent TensorToHashBucketFast SparseCross.*
data movement:
    (Parallel|Scoped.*|Sparse)?Concat(?!Offset).* (Mirror)?Pad(Grad)? Slice .*StridedSlice.* (Conjugate)?Transpose
    Tile(Grad)? (Host)?Cast (?!ScopedAllocator)(Sparse)?Split V?SplitV? Pack Unpack Reverse(Sequence)? Roll
    SpaceTo.* DepthToSpace BatchToSpace.* BroadcastTo Fill (Zeros|Ones)Like .*MatrixDiag.* .*MatrixBandPart
    .*MatrixSetDiag Diag(Part)? Snapshot (Deep)?Copy(Host)? Inplace(Update|Sub) TensorArray.* TensorList.* Bitcast
    LinSpace Range Empty Extract(Image|Volume)Patches CudnnRNN.*Params.* Ragged.* (?!SparseApply)Sparse.*
    .*Sparse.*Tensor.* CSRSparse.* DenseTo.* ScopedAllocator.* InvertPermutation UnravelIndex MemcpyDToD MemcpyD2D
    MemcpyHToH MemcpyH2H Memset DataFormat.* TensorMap.* EmptyTensor.* Stack(Push|Pop)?
elementwise:
    Abs (Cos|Sin|Tan|Acos|Asin|Atan)h? Atan2 Angle ApproximateEqual Bessel.* Betainc Bitwise.* Ceil CheckNumerics
    ClipByValue Complex(Abs)? Conj Cross Dawsn Dequantize Digamma Div(NoNan)? Equal Erf.* Exp Expm1 Expint
    FakeQuant.* Floor(Div|Mod)? Fresnel.* Greater(Equal)? I[gG]amma.* Imag Inv(Grad)? Invert Is(Finite|Inf|Nan)
    LeftShift Less(Equal)? Lgamma Log(1p)? Logical.* Maximum Minimum (Truncate)?Mod Mul(NoNan)? Ndtri Neg NextAfter
    NotEqual Polygamma PopulationCount Pow QuantizeAndDequantize.* Real RealDiv Reciprocal(Grad)? RightShift Rint
    Round Rsqrt(Grad)? (Ref)?Select Sign Spence Sqrt(Grad)? Square SquaredDifference Sub TruncateDiv
    UnaryOpsComposition Xdivy Xlog1py Xlogy Zeta ToBool
bookkeeping:
    Abort .*Accumulat.* Anonymous.* Arg Array.* Assert.* Broadcast(Args|GradientArgs) (Stateless)?Case .*Seed.*
    CheckPinned CompositeTensorVariant.* ConcatOffset (Eager|Host|Immutable|Guarantee)?Const ConsumeMutexLock
    ControlTrigger Debug.* DeleteSessionTensor Destroy.* Device.* DisableCopyOnRead .*Dummy.* EnsureShape
    (Ref)?(Enter|Exit|Merge|NextIteration|Switch|SwitchN|Identity|IdentityN) ExpandDims Fact FakeParam For
    GetElementAtIndex GetOptions GetSession.* (Stateless)?(If|While) Is.*Initialized IsResourceHandleRefCounting
    ListToArray LoopCond MakeWeakResourceHandle MapDefun Mutex.* NoOp Optional.* (Stateful)?PartitionedCall
    Placeholder.* PreventGradient Rank Read(Variables?Op|VariableOp) RemoteCall Reshape Retval (?!Sparse)Shape(N)?
    Size Squeeze StackClose StopGradient SymbolicGradient SyncDevice TemporaryVariable Timestamp
    (Un)?[Ww]rap.*Variant VarHandles?Op VarIsInitializedOp Variable(Shape)?
""")


def tensorflow_kind(name: str) -> str | None:
    """The kind of an operation; None for one that no training step shows on a GPU.

    Raises
    ------
    LookupError : no rule covers it.
    """
    short = stem(name)
    if matches(ELSEWHERE, short):
        return None
    kind = first_kind(RULES, short)
    if kind is None:
        raise LookupError(f"No rule says what TensorFlow's {name} does: add one to profet_lab/kinds/tensorflow.py.")
    return kind
