"""tf.keras.datasets.fashion_mnist: images of clothes in the format of MNIST."""

from headrace.library.keras.datasets.mnist import load_fashion_data as load_data
