"""tf.saved_model.tag_constants: the usual tags."""

from headrace.library.saved_model.tag import (
    GPU as GPU,
    SERVING as SERVING,
    TPU as TPU,
    TRAINING as TRAINING,
)
