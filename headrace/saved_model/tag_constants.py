"""tf.saved_model.tag_constants: the usual tags."""

from headrace.library.saved_model.tag import GPU as GPU
from headrace.library.saved_model.tag import SERVING as SERVING
from headrace.library.saved_model.tag import TPU as TPU
from headrace.library.saved_model.tag import TRAINING as TRAINING
