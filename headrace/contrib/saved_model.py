"""tf.contrib.saved_model: what is in a SavedModel."""

from headrace.library.saved_model.predictor import get_signature_def_by_key as get_signature_def_by_key
