"""tf.keras.activations: activation functions by name."""

from headrace.library.layers.activations import (
    deserialize as deserialize, elu as elu, exponential as exponential, get as get, hard_sigmoid as hard_sigmoid,
    linear as linear, relu as relu, selu as selu, serialize as serialize, sigmoid as sigmoid, softmax as softmax,
    softplus as softplus, softsign as softsign, tanh as tanh,
)
