"""tf.keras.applications.imagenet_utils: images as networks expect them, and names of classes."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, preprocess_input as preprocess_input,
)
