"""tf.keras: layers, models and what trains them."""

import headrace.library.keras.layer_table as _layer_table
from headrace.keras import (
    activations as activations, applications as applications, backend as backend, callbacks as callbacks,
    constraints as constraints, datasets as datasets, estimator as estimator, experimental as experimental,
    initializers as initializers, layers as layers, losses as losses, metrics as metrics, models as models,
    optimizers as optimizers, preprocessing as preprocessing, regularizers as regularizers, utils as utils,
    wrappers as wrappers,
)
from headrace.library.keras.engine.model import Model as Model
from headrace.library.keras.engine.sequential import Sequential as Sequential
from headrace.library.layers.input_layer import Input as Input
