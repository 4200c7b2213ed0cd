"""tf.keras.datasets.mnist: handwritten digits."""

from headrace.library.keras.datasets.mnist import load_data as load_data
