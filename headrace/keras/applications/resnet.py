"""tf.keras.applications.resnet: residual networks, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, caffe_input as preprocess_input,
)
from headrace.library.keras.applications.resnet import (
    ResNet50 as ResNet50, ResNet101 as ResNet101, ResNet152 as ResNet152,
)
