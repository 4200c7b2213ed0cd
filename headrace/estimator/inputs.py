"""tf.estimator.inputs: input functions of arrays in memory."""

from headrace.library.estimator.array_input import numpy_input_fn as numpy_input_fn, pandas_input_fn as pandas_input_fn
