"""Bytes, text, and TF1's whole interface again: ``tf.compat``."""

from headrace.compat import v1 as v1
from headrace.library.compat import as_bytes as as_bytes
from headrace.library.compat import as_str as as_str
from headrace.library.compat import as_str_any as as_str_any
from headrace.library.compat import as_text as as_text
from headrace.library.compat import bytes_or_text_types as bytes_or_text_types
from headrace.library.compat import complex_types as complex_types
from headrace.library.compat import dimension_at_index as dimension_at_index
from headrace.library.compat import dimension_value as dimension_value
from headrace.library.compat import forward_compatible as forward_compatible
from headrace.library.compat import integral_types as integral_types
from headrace.library.compat import path_to_str as path_to_str
from headrace.library.compat import real_types as real_types
