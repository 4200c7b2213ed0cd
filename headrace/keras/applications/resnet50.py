"""tf.keras.applications.resnet50: ResNet50, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, caffe_input as preprocess_input,
)
from headrace.library.keras.applications.resnet import ResNet50 as ResNet50
