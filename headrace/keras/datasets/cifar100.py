"""tf.keras.datasets.cifar100: small colour images of a hundred classes."""

from headrace.library.keras.datasets.cifar import load_cifar100 as load_data
