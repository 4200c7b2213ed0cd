"""tf.saved_model.utils: tensors in signatures."""

from headrace.library.saved_model.signature import build_tensor_info as build_tensor_info
from headrace.library.saved_model.signature import get_tensor_from_tensor_info as get_tensor_from_tensor_info
