"""All layers and models by the names of their classes: fills the table that `tf.keras.layers.deserialize` looks in.

Whoever writes a module with layers adds it here.
"""

from __future__ import annotations

from headrace.library.keras import dense_features
from headrace.library.keras.applications import inception
from headrace.library.keras.engine import added_layers, model, sequential
from headrace.library.layers import (
    advanced_activations,
    attention,
    base_layer,
    convolutional,
    core,
    dot,
    dropout,
    embedding,
    input_layer,
    lambda_layer,
    layer_normalization,
    local,
    merge,
    noise,
    normalization,
    op_layer,
    pooling,
    reshaping,
    resizing,
    separable,
    transposed,
)
from headrace.library.layers.recurrent import base as rnn
from headrace.library.layers.recurrent import (
    bidirectional,
    cell,
    cudnn,
    gru,
    lstm,
    simple,
    stacked,
    time_distributed,
    wrapper,
)
from headrace.library.layers.recurrent import convolutional as convolutional_rnn
from headrace.library.layers.registry import LAYERS, add_layers

add_layers(
    added_layers, advanced_activations, attention, base_layer, convolutional, core, dense_features, dot, dropout, embedding,
    inception, input_layer, lambda_layer, layer_normalization, local, merge, model, noise, normalization, op_layer, pooling,
    reshaping, resizing, separable, sequential, transposed,
    bidirectional, cell, convolutional_rnn, cudnn, gru, lstm, rnn, simple, stacked, time_distributed, wrapper,
)  # fmt: skip
LAYERS["Functional"] = model.Model  # the name that later versions of Keras give to a graph of layers
for _name, _layer in {
    "Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
    "Convolution2DTranspose": "Conv2DTranspose", "Convolution3DTranspose": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D", "SeparableConvolution2D": "SeparableConv2D",
    "BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization",
}.items():  # fmt: skip
    LAYERS[_name] = LAYERS[_layer]  # older names in configurations
