"""tf.keras.layers: layers, which models are made of."""

from headrace.library.keras.dense_features import DenseFeatures as DenseFeatures
from headrace.library.layers.advanced_activations import (
    ELU as ELU, LeakyReLU as LeakyReLU, PReLU as PReLU, ReLU as ReLU, Softmax as Softmax,
    ThresholdedReLU as ThresholdedReLU,
)
from headrace.library.layers.attention import AdditiveAttention as AdditiveAttention, Attention as Attention
from headrace.library.layers.base_layer import Layer as Layer
from headrace.library.layers.convolutional import (
    Conv1D as Conv1D, Conv1D as Convolution1D, Conv2D as Conv2D, Conv2D as Convolution2D, Conv3D as Conv3D,
    Conv3D as Convolution3D,
)
from headrace.library.layers.core import (
    Activation as Activation, ActivityRegularization as ActivityRegularization, Dense as Dense, Masking as Masking,
)
from headrace.library.layers.dot import Dot as Dot, dot as dot
from headrace.library.layers.dropout import (
    Dropout as Dropout, SpatialDropout1D as SpatialDropout1D, SpatialDropout2D as SpatialDropout2D,
    SpatialDropout3D as SpatialDropout3D,
)
from headrace.library.layers.embedding import Embedding as Embedding
from headrace.library.layers.input_layer import Input as Input, InputLayer as InputLayer
from headrace.library.layers.lambda_layer import Lambda as Lambda
from headrace.library.layers.layer_normalization import LayerNormalization as LayerNormalization
from headrace.library.layers.local import (
    LocallyConnected1D as LocallyConnected1D, LocallyConnected2D as LocallyConnected2D,
)
from headrace.library.layers.merge import (
    Add as Add, Average as Average, Concatenate as Concatenate, Maximum as Maximum, Minimum as Minimum,
    Multiply as Multiply, Subtract as Subtract, add as add, average as average, concatenate as concatenate,
    maximum as maximum, minimum as minimum, multiply as multiply, subtract as subtract,
)
from headrace.library.layers.noise import (
    AlphaDropout as AlphaDropout, GaussianDropout as GaussianDropout, GaussianNoise as GaussianNoise,
)
from headrace.library.layers.normalization import BatchNormalization as BatchNormalization
from headrace.library.layers.pooling import (
    AveragePooling1D as AveragePooling1D, AveragePooling1D as AvgPool1D, AveragePooling2D as AveragePooling2D,
    AveragePooling2D as AvgPool2D, AveragePooling3D as AveragePooling3D, AveragePooling3D as AvgPool3D,
    GlobalAveragePooling1D as GlobalAveragePooling1D, GlobalAveragePooling1D as GlobalAvgPool1D,
    GlobalAveragePooling2D as GlobalAveragePooling2D, GlobalAveragePooling2D as GlobalAvgPool2D,
    GlobalAveragePooling3D as GlobalAveragePooling3D, GlobalAveragePooling3D as GlobalAvgPool3D,
    GlobalMaxPooling1D as GlobalMaxPooling1D, GlobalMaxPooling1D as GlobalMaxPool1D,
    GlobalMaxPooling2D as GlobalMaxPooling2D, GlobalMaxPooling2D as GlobalMaxPool2D,
    GlobalMaxPooling3D as GlobalMaxPooling3D, GlobalMaxPooling3D as GlobalMaxPool3D, MaxPooling1D as MaxPooling1D,
    MaxPooling1D as MaxPool1D, MaxPooling2D as MaxPooling2D, MaxPooling2D as MaxPool2D, MaxPooling3D as MaxPooling3D,
    MaxPooling3D as MaxPool3D,
)
from headrace.library.layers.recurrent.base import RNN as RNN
from headrace.library.layers.recurrent.bidirectional import Bidirectional as Bidirectional
from headrace.library.layers.recurrent.cell import AbstractRNNCell as AbstractRNNCell
from headrace.library.layers.recurrent.convolutional import ConvLSTM2D as ConvLSTM2D
from headrace.library.layers.recurrent.cudnn import CuDNNGRU as CuDNNGRU, CuDNNLSTM as CuDNNLSTM
from headrace.library.layers.recurrent.gru import GRU as GRU, GRUCell as GRUCell
from headrace.library.layers.recurrent.lstm import LSTM as LSTM, LSTMCell as LSTMCell
from headrace.library.layers.recurrent.simple import SimpleRNN as SimpleRNN, SimpleRNNCell as SimpleRNNCell
from headrace.library.layers.recurrent.stacked import StackedRNNCells as StackedRNNCells
from headrace.library.layers.recurrent.time_distributed import TimeDistributed as TimeDistributed
from headrace.library.layers.recurrent.wrapper import Wrapper as Wrapper
from headrace.library.layers.registry import deserialize as deserialize, serialize as serialize
from headrace.library.layers.reshaping import (
    Flatten as Flatten, Permute as Permute, RepeatVector as RepeatVector, Reshape as Reshape,
)
from headrace.library.layers.resizing import (
    Cropping1D as Cropping1D, Cropping2D as Cropping2D, Cropping3D as Cropping3D, UpSampling1D as UpSampling1D,
    UpSampling2D as UpSampling2D, UpSampling3D as UpSampling3D, ZeroPadding1D as ZeroPadding1D,
    ZeroPadding2D as ZeroPadding2D, ZeroPadding3D as ZeroPadding3D,
)
from headrace.library.layers.separable import (
    DepthwiseConv2D as DepthwiseConv2D, SeparableConv1D as SeparableConv1D, SeparableConv1D as SeparableConvolution1D,
    SeparableConv2D as SeparableConv2D, SeparableConv2D as SeparableConvolution2D,
)
from headrace.library.layers.spec import InputSpec as InputSpec
from headrace.library.layers.transposed import (
    Conv2DTranspose as Conv2DTranspose, Conv2DTranspose as Convolution2DTranspose, Conv3DTranspose as Conv3DTranspose,
    Conv3DTranspose as Convolution3DTranspose,
)
