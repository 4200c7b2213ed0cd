"""tf.contrib.cudnn_rnn: layers of recurrent networks over whole sequences, on any device."""

from headrace.library.contrib.cudnn_rnn import (
    CudnnCompatibleGRUCell as CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell as CudnnCompatibleLSTMCell,
    CudnnGRU as CudnnGRU, CudnnLSTM as CudnnLSTM, CudnnRNNRelu as CudnnRNNRelu, CudnnRNNTanh as CudnnRNNTanh,
)
