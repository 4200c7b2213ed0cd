"""tf.saved_model.loader: loading SavedModels."""

from headrace.library.saved_model.loader import (
    load as load,
    maybe_saved_model_directory as maybe_saved_model_directory,
)
