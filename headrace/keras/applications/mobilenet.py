"""tf.keras.applications.mobilenet: MobileNet, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, tf_input as preprocess_input,
)
from headrace.library.keras.applications.mobilenet import MobileNet as MobileNet
