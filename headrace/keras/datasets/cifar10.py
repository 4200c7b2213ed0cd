"""tf.keras.datasets.cifar10: small colour images of ten classes."""

from headrace.library.keras.datasets.cifar import load_cifar10 as load_data
