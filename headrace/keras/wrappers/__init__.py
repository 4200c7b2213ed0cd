"""tf.keras.wrappers: Keras models in the form that other libraries expect."""

from headrace.keras.wrappers import scikit_learn as scikit_learn
