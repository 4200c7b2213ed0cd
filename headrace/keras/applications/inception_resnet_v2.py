"""tf.keras.applications.inception_resnet_v2: InceptionResNetV2, and images as they expect them."""

from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, tf_input as preprocess_input,
)
from headrace.library.keras.applications.inception import InceptionResNetV2 as InceptionResNetV2
