"""tf.contrib.rnn: all cells, wrappers and ways to unroll."""

from headrace.library.rnn.base import LayerRNNCell as LayerRNNCell, RNNCell as RNNCell
from headrace.library.rnn.block_wrapper import LSTMBlockWrapper as LSTMBlockWrapper
from headrace.library.rnn.cell import (
    BasicLSTMCell as BasicLSTMCell, BasicRNNCell as BasicRNNCell, GRUCell as GRUCell, LSTMCell as LSTMCell,
    LSTMStateTuple as LSTMStateTuple,
)
from headrace.library.rnn.conv_cell import (
    Conv1DLSTMCell as Conv1DLSTMCell, Conv2DLSTMCell as Conv2DLSTMCell, Conv3DLSTMCell as Conv3DLSTMCell,
    ConvLSTMCell as ConvLSTMCell,
)
from headrace.library.rnn.dynamic import stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn
from headrace.library.rnn.experimental_cell import (
    GRUBlockCell as GRUBlockCell, GRUBlockCellV2 as GRUBlockCellV2, LayerNormBasicLSTMCell as LayerNormBasicLSTMCell,
    LSTMBlockCell as LSTMBlockCell, NASCell as NASCell, UGRNNCell as UGRNNCell,
)
from headrace.library.rnn.gated_cell import (
    GLSTMCell as GLSTMCell, IntersectionRNNCell as IntersectionRNNCell, PhasedLSTMCell as PhasedLSTMCell,
)
from headrace.library.rnn.grid_cell import (
    BidirectionalGridLSTMCell as BidirectionalGridLSTMCell, GridLSTMCell as GridLSTMCell,
)
from headrace.library.rnn.independent_cell import (
    IndRNNCell as IndRNNCell, IndyGRUCell as IndyGRUCell, IndyLSTMCell as IndyLSTMCell, SRUCell as SRUCell,
)
from headrace.library.rnn.sharded_cell import (
    CoupledInputForgetGateLSTMCell as CoupledInputForgetGateLSTMCell, TimeFreqLSTMCell as TimeFreqLSTMCell,
)
from headrace.library.rnn.fused import (
    FusedRNNCell as FusedRNNCell, FusedRNNCellAdaptor as FusedRNNCellAdaptor, LSTMBlockFusedCell as LSTMBlockFusedCell,
    TimeReversedFusedRNN as TimeReversedFusedRNN,
)
from headrace.library.rnn.projection import (
    AttentionCellWrapper as AttentionCellWrapper, EmbeddingWrapper as EmbeddingWrapper,
    HighwayWrapper as HighwayWrapper,
    InputProjectionWrapper as InputProjectionWrapper, OutputProjectionWrapper as OutputProjectionWrapper,
)
from headrace.library.rnn.static import (
    stack_bidirectional_rnn as stack_bidirectional_rnn, static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn, static_state_saving_rnn as static_state_saving_rnn,
)
from headrace.library.rnn.step import (
    best_effort_input_batch_size as best_effort_input_batch_size, transpose_batch_time as transpose_batch_time,
)
from headrace.library.rnn.wrapper import (
    CompiledWrapper as CompiledWrapper, DeviceWrapper as DeviceWrapper, DropoutWrapper as DropoutWrapper,
    MultiRNNCell as MultiRNNCell, ResidualWrapper as ResidualWrapper,
)
