"""tf.keras.applications.densenet: densely connected networks, and images as they expect them."""

from headrace.library.keras.applications.densenet import (
    DenseNet121 as DenseNet121, DenseNet169 as DenseNet169, DenseNet201 as DenseNet201,
)
from headrace.library.keras.applications.imagenet import (
    decode_predictions as decode_predictions, torch_input as preprocess_input,
)
