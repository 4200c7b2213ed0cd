"""tf.layers: layers with variables, as functions and as classes."""

from headrace.library.layers.base import InputSpec as InputSpec, Layer as Layer
from headrace.library.layers.scoped.convolutional import (
    Conv1D as Conv1D, Conv2D as Conv2D, Conv2DTranspose as Conv2DTranspose, Conv3D as Conv3D,
    Conv3DTranspose as Conv3DTranspose, SeparableConv1D as SeparableConv1D, SeparableConv2D as SeparableConv2D,
    conv1d as conv1d, conv2d as conv2d, conv2d_transpose as conv2d_transpose, conv3d as conv3d,
    conv3d_transpose as conv3d_transpose, separable_conv1d as separable_conv1d, separable_conv2d as separable_conv2d,
)
from headrace.library.layers.scoped.core import (
    Dense as Dense, Dropout as Dropout, Flatten as Flatten, dense as dense, dropout as dropout, flatten as flatten,
)
from headrace.library.layers.scoped.normalization import (
    BatchNormalization as BatchNormalization, batch_normalization as batch_normalization,
)
from headrace.library.layers.scoped.pooling import (
    AveragePooling1D as AveragePooling1D, AveragePooling2D as AveragePooling2D, AveragePooling3D as AveragePooling3D,
    MaxPooling1D as MaxPooling1D, MaxPooling2D as MaxPooling2D, MaxPooling3D as MaxPooling3D,
    average_pooling1d as average_pooling1d, average_pooling2d as average_pooling2d,
    average_pooling3d as average_pooling3d, max_pooling1d as max_pooling1d, max_pooling2d as max_pooling2d,
    max_pooling3d as max_pooling3d,
)
