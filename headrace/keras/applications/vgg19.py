"""tf.keras.applications.vgg19: VGG19, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, caffe_input as preprocess_input,
)
from headrace.library.keras.applications.vgg import VGG19 as VGG19
