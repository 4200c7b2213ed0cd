"""tf.lookup.experimental."""

from headrace.library.text.lookup import DenseHashTable as DenseHashTable
