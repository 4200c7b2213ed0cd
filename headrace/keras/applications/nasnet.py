"""tf.keras.applications.nasnet: networks that a search found, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, tf_input as preprocess_input,
)
from headrace.library.keras.applications.nasnet import NASNetLarge as NASNetLarge, NASNetMobile as NASNetMobile
