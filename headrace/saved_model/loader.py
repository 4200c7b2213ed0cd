"""tf.saved_model.loader: loading SavedModels."""

from headrace.library.saved_model.loader import load as load
from headrace.library.saved_model.loader import maybe_saved_model_directory as maybe_saved_model_directory
