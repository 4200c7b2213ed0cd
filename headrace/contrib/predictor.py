"""tf.contrib.predictor: a saved model as a function from arrays to arrays."""

from headrace.library.saved_model.predictor import from_saved_model as from_saved_model
