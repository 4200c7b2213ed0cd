"""tf.contrib.util: values as protocol buffers, and constants of the graph."""

from headrace.library.array import get_static_value as constant_value
from headrace.library.graph_util import make_ndarray as make_ndarray
from headrace.library.graph_util import make_tensor_proto as make_tensor_proto
