"""tf.keras.applications.resnet_v2: residual networks, version 2, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, tf_input as preprocess_input,
)
from headrace.library.keras.applications.resnet import (
    ResNet50V2 as ResNet50V2, ResNet101V2 as ResNet101V2, ResNet152V2 as ResNet152V2,
)
