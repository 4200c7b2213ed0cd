"""tf.keras.applications.vgg16: VGG16, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, caffe_input as preprocess_input,
)
from headrace.library.keras.applications.vgg import VGG16 as VGG16
