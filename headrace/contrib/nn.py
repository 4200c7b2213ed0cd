"""tf.contrib.nn: the n-th element; cross entropies with logits before labels."""

from headrace.library.contrib.flipped import (
    deprecated_flipped_sigmoid_cross_entropy_with_logits as deprecated_flipped_sigmoid_cross_entropy_with_logits,
    deprecated_flipped_softmax_cross_entropy_with_logits as deprecated_flipped_softmax_cross_entropy_with_logits,
    deprecated_flipped_sparse_softmax_cross_entropy_with_logits as deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
)
from headrace.library.numeric.search import nth_element as nth_element
