"""Where the names of standalone Keras 2's modules are: in those of tf.keras, whose layout is another one in places."""

from __future__ import annotations

# Module of ``keras`` -> the places below headrace where its names are, the first one that has a name wins.
_KERAS = """
applications.imagenet_utils      library.keras.applications.imagenet keras.applications
backend.common                   keras.backend
backend.tensorflow_backend       keras.backend
engine                           keras.layers keras.models keras library.layers.input_layer
engine.base_layer                keras.layers library.layers.base_layer library.layers.input_layer
engine.input_layer               keras.layers library.layers.input_layer
engine.network                   library.keras.engine.network
engine.saving                    keras.models
engine.sequential                keras.models
engine.topology                  keras.layers keras.models library.layers.input_layer library.keras.engine.network keras.utils
engine.training                  keras.models
layers.advanced_activations      keras.layers
layers.convolutional             keras.layers
layers.convolutional_recurrent   keras.layers
layers.core                      keras.layers
layers.cudnn_recurrent           keras.layers
layers.embeddings                keras.layers
layers.local                     keras.layers
layers.merge                     keras.layers
layers.noise                     keras.layers
layers.normalization             keras.layers
layers.pooling                   keras.layers
layers.recurrent                 keras.layers
layers.wrappers                  keras.layers
objectives                       keras.losses
utils.conv_utils                 library.layers.data_format
utils.data_utils                 keras.utils
utils.generic_utils              keras.utils library.layers.named_object
utils.io_utils                   keras.utils
utils.layer_utils                keras.utils
utils.multi_gpu_utils            keras.utils
utils.np_utils                   keras.utils
utils.training_utils             keras.utils
utils.vis_utils                  keras.utils
"""
MODULES = {line.split()[0]: tuple(line.split()[1:]) for line in _KERAS.strip().split("\n")}
VERSION = "2.2.4"


def keras_places(module: str) -> tuple[str, ...]:
    """Where the names of ``keras.<module>`` may be, below ``headrace``, in order."""
    return MODULES.get(module, (f"keras.{module}" if module else "keras",))
