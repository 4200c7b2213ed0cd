"""tf.sets: sets along the last dimension."""

from headrace.library.tensor.set import set_difference as difference
from headrace.library.tensor.set import set_difference as set_difference
from headrace.library.tensor.set import set_intersection as intersection
from headrace.library.tensor.set import set_intersection as set_intersection
from headrace.library.tensor.set import set_size as set_size
from headrace.library.tensor.set import set_size as size
from headrace.library.tensor.set import set_union as set_union
from headrace.library.tensor.set import set_union as union
