"""tf.saved_model.builder: writing SavedModels."""

from headrace.library.saved_model.builder import SavedModelBuilder as SavedModelBuilder
