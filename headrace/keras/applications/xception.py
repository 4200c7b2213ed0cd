"""tf.keras.applications.xception: Xception, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, tf_input as preprocess_input,
)
from headrace.library.keras.applications.xception import Xception as Xception
