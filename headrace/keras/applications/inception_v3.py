"""tf.keras.applications.inception_v3: InceptionV3, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, tf_input as preprocess_input,
)
from headrace.library.keras.applications.inception import InceptionV3 as InceptionV3
