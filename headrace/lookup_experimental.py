"""tf.lookup.experimental."""

from headrace.library.lookup import DenseHashTable as DenseHashTable
