"""tf.contrib.nn: the n-th element."""

from headrace.library.numeric.search import nth_element as nth_element
