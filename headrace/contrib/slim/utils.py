"""slim.utils: named outputs in collections, and checks of shapes."""

from headrace.library.contrib.outputs import append_tensor_alias as append_tensor_alias
from headrace.library.contrib.outputs import collect_named_outputs as collect_named_outputs
from headrace.library.contrib.outputs import convert_collection_to_dict as convert_collection_to_dict
from headrace.library.contrib.outputs import get_tensor_aliases as get_tensor_aliases
from headrace.library.contrib.slim.dimension import channel_dimension as channel_dimension
from headrace.library.contrib.slim.dimension import last_dimension as last_dimension
from headrace.library.contrib.slim.dimension import n_positive_integers as n_positive_integers
from headrace.library.contrib.slim.dimension import two_element_tuple as two_element_tuple
from headrace.library.state.smart_cond import smart_cond as smart_cond
from headrace.library.state.smart_cond import smart_cond as static_cond
from headrace.library.state.smart_cond import smart_constant_value as constant_value
