"""``tf.manip``: rearranging tensors."""

from headrace.library.array import reshape as reshape
from headrace.library.array import reverse as reverse
from headrace.library.array import roll as roll
from headrace.library.array import tile as tile
from headrace.library.indexing import gather_nd as gather_nd
from headrace.library.indexing import scatter_nd as scatter_nd
from headrace.library.space import batch_to_space_nd as batch_to_space_nd
from headrace.library.space import space_to_batch_nd as space_to_batch_nd
