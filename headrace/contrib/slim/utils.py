"""slim.utils: named outputs in collections."""

from headrace.library.contrib.outputs import append_tensor_alias as append_tensor_alias
from headrace.library.contrib.outputs import collect_named_outputs as collect_named_outputs
from headrace.library.contrib.outputs import convert_collection_to_dict as convert_collection_to_dict
from headrace.library.contrib.outputs import get_tensor_aliases as get_tensor_aliases
from headrace.library.state.smart_cond import smart_cond as smart_cond
from headrace.library.state.smart_cond import smart_constant_value as constant_value
