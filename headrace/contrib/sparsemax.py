"""tf.contrib.sparsemax: a softmax with zeros in it, and its loss."""

from headrace.library.contrib.sparsemax import sparsemax as sparsemax
from headrace.library.contrib.sparsemax import sparsemax_loss as sparsemax_loss
