"""``tf.manip``: rearranging tensors."""

from headrace.library.tensor.array import reshape as reshape
from headrace.library.tensor.array import reverse as reverse
from headrace.library.tensor.array import roll as roll
from headrace.library.tensor.array import tile as tile
from headrace.library.tensor.indexing import gather_nd as gather_nd
from headrace.library.tensor.indexing import scatter_nd as scatter_nd
from headrace.library.tensor.space import batch_to_space_nd as batch_to_space_nd
from headrace.library.tensor.space import space_to_batch_nd as space_to_batch_nd
