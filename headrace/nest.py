"""tf.nest: nested structures of lists, tuples, dictionaries and named tuples."""

from headrace.library.nest import assert_same_structure as assert_same_structure
from headrace.library.nest import flatten as flatten
from headrace.library.nest import is_nested as is_nested
from headrace.library.nest import map_structure as map_structure
from headrace.library.nest import pack_sequence_as as pack_sequence_as
