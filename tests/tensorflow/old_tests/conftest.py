"""Every module here is of the time before TensorFlow 2: graphs, sessions, reference variables."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
