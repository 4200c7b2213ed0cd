"""tf.saved_model.main_op: what runs when a SavedModel is loaded."""

from headrace.library.saved_model.main_op import main_op as main_op
from headrace.library.saved_model.main_op import main_op_with_restore as main_op_with_restore
