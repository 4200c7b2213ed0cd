"""tf.keras.datasets.boston_housing: prices of houses."""

from headrace.library.keras.datasets.boston_housing import load_data as load_data
