"""The ranks that ops ask of inputs, one line an op: ``Conv2D  input=4 filter=4``; ``2+`` is two or more, ``1-`` one at most.

They are those of TensorFlow's shape functions, and of its kernels for gradients.  They are checked before the op's shape
rule, in TensorFlow's words, while a graph is built; and again, with the ranks that inputs turn out to have, when a kernel has
failed.  The table was taken from TensorFlow by asking it, op by op, which ranks it refuses.
"""

from __future__ import annotations

from headrace.core.registry import ANY_RANK as ANY
from headrace.core.registry import REGISTRY
from headrace.core.signature import Arg

_RANKS = """
AdjustContrastv2  images=3+ contrast_factor=0
AdjustHue  images=3+
AdjustSaturation  images=3+
AllCandidateSampler  true_classes=2
ArgMax  dimension=0
ArgMin  dimension=0
AudioSpectrogram  input=2
AvgPool  value=4
AvgPool3D  input=5
AvgPool3DGrad  orig_input_shape=1 grad=5
AvgPoolGrad  orig_input_shape=1 grad=4
BatchMatMul  x=2+ y=2+
BatchMatMulV2  x=2+ y=2+
BatchToSpaceND  block_shape=1 crops=2
BiasAdd  value=2+ bias=1
BiasAddGrad  out_backprop=2+
BiasAddV1  value=2+ bias=1
Bincount  size=0
BroadcastArgs  s0=1 s1=1
BroadcastGradientArgs  s0=1 s1=1
BroadcastTo  shape=1
CTCBeamSearchDecoder  inputs=3 sequence_length=1
CTCGreedyDecoder  inputs=3 sequence_length=1
CTCLoss  inputs=3 labels_indices=2 labels_values=1 sequence_length=1
Cholesky  input=2+
CombinedNonMaxSuppression  boxes=4 scores=3 max_output_size_per_class=0 max_total_size=0 iou_threshold=0 score_threshold=0
ComputeAccidentalHits  true_classes=2 sampled_candidates=1
Concat  concat_dim=0
ConcatOffset  concat_dim=0 shape=1
ConcatV2  axis=0
Conv2D  input=4 filter=4
Conv2DBackpropFilter  filter_sizes=1 input=4 out_backprop=4
Conv2DBackpropInput  input_sizes=1 filter=4 out_backprop=4
Conv3D  input=5 filter=5
Conv3DBackpropFilterV2  filter_sizes=1 input=5 out_backprop=5
Conv3DBackpropInputV2  input_sizes=1 filter=5 out_backprop=5
CropAndResize  image=4 boxes=2 box_ind=1 crop_size=1
CropAndResizeGradBoxes  grads=4 image=4 boxes=2 box_ind=1
CropAndResizeGradImage  image_size=1 grads=4 boxes=2 box_ind=1
Cross  a=1+ b=1+
Cumprod  axis=0
Cumsum  axis=0
CumulativeLogsumexp  axis=0
DecodeAndCropJpeg  contents=0 crop_window=1
DecodeBmp  contents=0
DecodeCSV  record_defaults=1-
DecodeGif  contents=0
DecodeImage  contents=0
DecodeJpeg  contents=0
DecodePaddedRaw  fixed_length=0
DecodePng  contents=0
DecodeWav  contents=0
DenseToDenseSetOperation  set1=2+ set2=2+
DenseToSparseSetOperation  set1=2+ set2_indices=2 set2_values=1 set2_shape=1
DepthToSpace  input=4
DepthwiseConv2dNative  input=4 filter=4
DepthwiseConv2dNativeBackpropFilter  filter_sizes=1 input=4 out_backprop=4
DepthwiseConv2dNativeBackpropInput  input_sizes=1 filter=4 out_backprop=4
DeserializeManySparse  serialized_sparse=2
DeserializeSparse  serialized_sparse=1+
Diag  diagonal=1+
Dilation2D  input=4 filter=3
Dilation2DBackpropFilter  input=4 filter=3 out_backprop=4
Dilation2DBackpropInput  input=4 filter=3 out_backprop=4
DrawBoundingBoxes  images=4 boxes=3
DrawBoundingBoxesV2  images=3+ boxes=3 colors=2
EditDistance  hypothesis_indices=2 hypothesis_values=1 hypothesis_shape=1 truth_indices=2 truth_values=1 truth_shape=1
EncodeJpeg  image=3
EncodeJpegVariableQuality  images=3 quality=0
EncodePng  image=3+
EncodeWav  audio=2 sample_rate=0
ExtractGlimpse  input=4 size=1 offsets=2
ExtractImagePatches  images=4
ExtractJpegShape  contents=0
ExtractVolumePatches  input=5
FFT  input=1+
FFT2D  input=2+
FFT3D  input=3+
FakeQuantWithMinMaxVars  min=0 max=0
FakeQuantWithMinMaxVarsGradient  min=0 max=0
FakeQuantWithMinMaxVarsPerChannel  inputs=1+ min=1 max=1
Fill  dims=1 value=0
Fingerprint  data=1+ method=0
FixedUnigramCandidateSampler  true_classes=2
FractionalAvgPool  value=4
FractionalAvgPoolGrad  orig_input_tensor_shape=1 out_backprop=4 row_pooling_sequence=1 col_pooling_sequence=1
FractionalMaxPool  value=4
FractionalMaxPoolGrad  orig_input=4 orig_output=4 out_backprop=4 row_pooling_sequence=1 col_pooling_sequence=1
FusedBatchNorm  x=4 scale=1 offset=1 mean=1 variance=1
FusedBatchNormGrad  y_backprop=4 x=4 scale=1 reserve_space_1=1 reserve_space_2=1
FusedBatchNormGradV2  y_backprop=4 x=4 scale=1 reserve_space_1=1 reserve_space_2=1
FusedBatchNormGradV3  scale=1 reserve_space_1=1 reserve_space_2=1
FusedBatchNormV2  x=4 scale=1 offset=1 mean=1 variance=1
FusedBatchNormV3  scale=1 offset=1 mean=1 variance=1
Gather  params=1+
GatherNd  indices=1+
GatherTree  step_ids=3 parent_ids=3 max_sequence_lengths=1 end_token=0
GatherV2  params=1+ axis=0
HSVToRGB  images=1+
HistogramFixedWidth  value_range=1 nbins=0
IFFT  input=1+
IFFT2D  input=2+
IFFT3D  input=3+
IRFFT  input=1+ fft_length=1
IRFFT2D  input=2+ fft_length=1
IRFFT3D  input=3+ fft_length=1
ImageProjectiveTransformV2  images=4 output_shape=1
InTopK  predictions=2 targets=1
InTopKV2  predictions=2 targets=1
InvertPermutation  x=1
LRN  input=4
LRNGrad  input_grads=4 input_image=4 output_image=4
LearnedUnigramCandidateSampler  true_classes=2
LinSpace  start=0 stop=0 num=0
ListDiff  x=1 y=1
LogMatrixDeterminant  input=2+
LogSoftmax  logits=1+
LogUniformCandidateSampler  true_classes=2
LowerBound  sorted_inputs=2 values=2
Lu  input=2+
MatMul  a=2 b=2
MatchingFiles  pattern=1-
MatrixBandPart  num_lower=0 num_upper=0
MatrixDeterminant  input=2+
MatrixDiag  diagonal=1+
MatrixDiagPart  input=2+
MatrixDiagPartV2  input=2+ k=1- padding_value=0
MatrixDiagV2  diagonal=1+ k=1- num_rows=0 num_cols=0 padding_value=0
MatrixInverse  input=2+
MatrixSetDiag  input=2+ diagonal=1+
MatrixSetDiagV2  input=2+ diagonal=1+ k=1-
MatrixSolve  matrix=2+ rhs=2+
MatrixSquareRoot  input=2+
MatrixTriangularSolve  matrix=2+ rhs=2+
MaxPool  input=4
MaxPool3D  input=5
MaxPool3DGrad  orig_input=5 orig_output=5 grad=5
MaxPool3DGradGrad  orig_input=5 orig_output=5 grad=5
MaxPoolGrad  orig_input=4 orig_output=4 grad=4
MaxPoolGradGrad  orig_input=4 orig_output=4 grad=4
MaxPoolGradWithArgmax  input=4 grad=4 argmax=4
MaxPoolWithArgmax  input=4
Mfcc  spectrogram=3 sample_rate=0
MirrorPad  paddings=2
MirrorPadGrad  paddings=2
Multinomial  logits=2 num_samples=0
MutableDenseHashTableV2  empty_key=1-
NonMaxSuppression  boxes=2 scores=1 max_output_size=0
NonMaxSuppressionV2  boxes=2 scores=1 max_output_size=0 iou_threshold=0
NonMaxSuppressionV3  boxes=2 scores=1 max_output_size=0 iou_threshold=0 score_threshold=0
NonMaxSuppressionV4  boxes=2 scores=1 max_output_size=0 iou_threshold=0 score_threshold=0
NonMaxSuppressionV5  boxes=2 scores=1 max_output_size=0 iou_threshold=0 score_threshold=0 soft_nms_sigma=0
NonMaxSuppressionWithOverlaps  overlaps=2 scores=1 max_output_size=0 overlap_threshold=0 score_threshold=0
NthElement  input=1+ n=0
OneHot  depth=0 on_value=0 off_value=0
Pad  paddings=2
PadV2  paddings=2 constant_values=0
ParameterizedTruncatedNormal  shape=1 means=1- stdevs=1- minvals=1- maxvals=1-
ParseExample  serialized=1 names=1 sparse_keys=0 dense_keys=0
ParseExampleV2  serialized=1- names=1- sparse_keys=1 dense_keys=1 ragged_keys=1
ParseSequenceExample  serialized=1 debug_name=1
ParseSingleExample  serialized=0
ParseSingleSequenceExample  context_sparse_keys=0 context_dense_keys=0 feature_list_sparse_keys=0 feature_list_dense_keys=0
Qr  input=2+
QuantizeAndDequantizeV2  input_min=0 input_max=0
QuantizeV2  min_range=0 max_range=0
RFFT  input=1+ fft_length=1
RFFT2D  input=2+ fft_length=1
RFFT3D  input=3+ fft_length=1
RGBToHSV  images=1+
RandomGamma  shape=1
RandomPoissonV2  shape=1
RandomStandardNormal  shape=1
RandomUniform  shape=1
RandomUniformInt  shape=1
Range  start=0 limit=0 delta=0
ReadFile  filename=0
ReduceJoin  reduction_indices=1-
RegexFullMatch  pattern=0
RegexReplace  pattern=0 rewrite=0
Reshape  shape=1
ResizeArea  images=4 size=1
ResizeBicubic  images=4 size=1
ResizeBicubicGrad  grads=4 original_image=4
ResizeBilinear  images=4 size=1
ResizeBilinearGrad  grads=4 original_image=4
ResizeNearestNeighbor  images=4 size=1
ResizeNearestNeighborGrad  grads=4 size=1
ReverseSequence  seq_lengths=1
ReverseV2  axis=1
Roll  input=1+ shift=1- axis=1-
SampleDistortedBoundingBoxV2  image_size=1 bounding_boxes=3 min_object_covered=0
ScatterNd  indices=1+ shape=1
ScatterNdNonAliasingAdd  input=1+ indices=1+
SegmentMax  data=1+ segment_ids=1
SegmentMean  data=1+ segment_ids=1
SegmentMin  data=1+ segment_ids=1
SegmentProd  data=1+ segment_ids=1
SegmentSum  data=1+ segment_ids=1
SelfAdjointEigV2  input=2+
SerializeManySparse  sparse_indices=2 sparse_values=1 sparse_shape=1
SerializeSparse  sparse_indices=2 sparse_values=1 sparse_shape=1
SetSize  set_indices=2 set_values=1 set_shape=1
ShardedFilename  basename=0 shard=0 num_shards=0
ShardedFilespec  basename=0 num_shards=0
Slice  begin=1 size=1
Softmax  logits=1+
SpaceToBatchND  block_shape=1 paddings=2
SpaceToDepth  input=4
SparseAccumulatorApplyGradient  gradient_shape=1
SparseAdd  a_shape=1 a_indices=2 a_values=1 b_indices=2 b_values=1 b_shape=1 thresh=0
SparseAddGrad  a_indices=2 b_indices=2 backprop_val_grad=1 sum_indices=2
SparseConcat  indices=2 values=1 shapes=1
SparseCross  indices=2 values=1 shapes=1 dense_inputs=2
SparseDenseCwiseAdd  sp_indices=2 sp_values=1 sp_shape=1
SparseDenseCwiseDiv  sp_indices=2 sp_values=1 sp_shape=1
SparseDenseCwiseMul  sp_indices=2 sp_values=1 sp_shape=1
SparseFillEmptyRows  indices=2 values=1 dense_shape=1 default_value=0
SparseFillEmptyRowsGrad  reverse_index_map=1 grad_values=1
SparseMatMul  a=2 b=2
SparseReduceMax  input_indices=2 input_values=1 input_shape=1
SparseReduceMaxSparse  input_indices=2 input_values=1 input_shape=1
SparseReduceSum  input_indices=2 input_values=1 input_shape=1
SparseReduceSumSparse  input_indices=2 input_values=1 input_shape=1
SparseReorder  input_indices=2 input_values=1 input_shape=1
SparseReshape  input_indices=2 input_shape=1 new_shape=1
SparseSegmentMean  data=1+ indices=1 segment_ids=1
SparseSegmentMeanWithNumSegments  data=1+ indices=1 segment_ids=1 num_segments=0
SparseSegmentSqrtN  data=1+ indices=1 segment_ids=1
SparseSegmentSqrtNWithNumSegments  data=1+ indices=1 segment_ids=1 num_segments=0
SparseSegmentSum  data=1+ indices=1 segment_ids=1
SparseSegmentSumWithNumSegments  data=1+ indices=1 segment_ids=1 num_segments=0
SparseSlice  indices=2 values=1 shape=1 start=1 size=1
SparseSliceGrad  input_indices=2 backprop_val_grad=1 input_start=1 output_indices=2
SparseSoftmax  sp_indices=2 sp_values=1 sp_shape=1
SparseSoftmaxCrossEntropyWithLogits  features=2 labels=1
SparseSparseMaximum  a_indices=2 a_values=1 a_shape=1 b_indices=2 b_values=1 b_shape=1
SparseSparseMinimum  a_indices=2 a_values=1 a_shape=1 b_indices=2 b_values=1 b_shape=1
SparseSplit  split_dim=0 indices=2 values=1 shape=1
SparseTensorDenseAdd  a_indices=2 a_values=1 a_shape=1
SparseTensorDenseMatMul  a_indices=2 a_values=1 a_shape=1 b=2
SparseToDense  output_shape=1
SparseToSparseSetOperation  set1_indices=2 set1_values=1 set1_shape=1 set2_indices=2 set2_values=1 set2_shape=1
Split  split_dim=0
SplitV  size_splits=1 split_dim=0
StatelessMultinomial  logits=2 num_samples=0 seed=1
StatelessRandomNormal  shape=1 seed=1
StatelessRandomUniform  shape=1 seed=1
StatelessRandomUniformFullInt  shape=1 seed=1
StatelessRandomUniformInt  shape=1 seed=1
StatelessTruncatedNormal  shape=1 seed=1
StridedSlice  begin=1 end=1 strides=1
StridedSliceAssign  begin=1 end=1 strides=1
StridedSliceGrad  shape=1 begin=1 end=1 strides=1
StringNGrams  data=1 data_splits=1
StringSplit  input=1 delimiter=0
StringSplitV2  input=1 sep=0
Svd  input=2+
TensorScatterAdd  tensor=1+ indices=1+
TensorScatterSub  tensor=1+ indices=1+
TensorScatterUpdate  tensor=1+ indices=1+
ThreadUnsafeUnigramCandidateSampler  true_classes=2
Tile  multiples=1
TopK  input=1+
TopKV2  input=1+ k=0
TridiagonalMatMul  superdiag=2+ maindiag=2+ subdiag=2+ rhs=2+
TridiagonalSolve  diagonals=2+ rhs=2+
TruncatedNormal  shape=1
UnicodeEncode  input_values=1 input_splits=1
UniformCandidateSampler  true_classes=2
Unique  x=1
UniqueV2  axis=1 x=1+
UniqueWithCounts  x=1
UnravelIndex  dims=1
UnsortedSegmentJoin  num_segments=0
UnsortedSegmentMax  num_segments=0
UnsortedSegmentMin  num_segments=0
UnsortedSegmentProd  num_segments=0
UnsortedSegmentSum  num_segments=0
UpperBound  sorted_inputs=2 values=2
WriteFile  filename=0 contents=0
_SparseReducedShape  shape=1
_SumToShape  shape=1
"""


def install() -> None:
    """Tells every op of the table what ranks it asks for."""
    for line in _RANKS.split("\n"):
        name, *limits = line.split() or [""]
        if name:
            op_def = REGISTRY.get(name)
            op_def.ranks = tuple(sorted(_limit(op_def.signature.inputs, name, limit) for limit in limits))


def _limit(inputs: tuple[Arg, ...], name: str, text: str) -> tuple[int, int, int]:
    """``filter=4`` -> the position of the input, the least and the greatest rank."""
    argument, _, rank = text.partition("=")
    position = next((i for i, arg in enumerate(inputs) if arg.name == argument), None)
    if position is None:
        raise ValueError(f"op {name} has no input {argument!r}")
    number = int(rank.rstrip("+-"))
    return position, 0 if rank.endswith("-") else number, ANY if rank.endswith("+") else number
