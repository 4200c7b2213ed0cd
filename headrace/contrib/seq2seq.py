"""tf.contrib.seq2seq: decoders, helpers, attention, beam search."""

from headrace.library.seq2seq.attention import (
    AttentionMechanism as AttentionMechanism, BahdanauAttention as BahdanauAttention, LuongAttention as LuongAttention,
    hardmax as hardmax,
)
from headrace.library.seq2seq.attention_wrapper import (
    AttentionWrapper as AttentionWrapper, AttentionWrapperState as AttentionWrapperState,
)
from headrace.library.seq2seq.basic_decoder import (
    BasicDecoder as BasicDecoder, BasicDecoderOutput as BasicDecoderOutput,
)
from headrace.library.seq2seq.beam_search import (
    BeamSearchDecoder as BeamSearchDecoder, BeamSearchDecoderOutput as BeamSearchDecoderOutput,
    BeamSearchDecoderState as BeamSearchDecoderState, FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
    gather_tree as gather_tree, tile_batch as tile_batch,
)
from headrace.library.seq2seq.decoder import Decoder as Decoder, dynamic_decode as dynamic_decode
from headrace.library.seq2seq.helper import (
    CustomHelper as CustomHelper, GreedyEmbeddingHelper as GreedyEmbeddingHelper, Helper as Helper,
    InferenceHelper as InferenceHelper, SampleEmbeddingHelper as SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper, TrainingHelper as TrainingHelper,
)
from headrace.library.seq2seq.loss import sequence_loss as sequence_loss
from headrace.library.seq2seq.monotonic import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention, LuongMonotonicAttention as LuongMonotonicAttention,
    monotonic_attention as monotonic_attention, safe_cumprod as safe_cumprod,
)
