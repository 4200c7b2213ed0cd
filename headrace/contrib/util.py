"""tf.contrib.util: values as protocol buffers, and constants of the graph."""

from headrace.library.tensor.array import get_static_value as constant_value
from headrace.library.system.graph_util import make_ndarray as make_ndarray
from headrace.library.system.graph_util import make_tensor_proto as make_tensor_proto
