"""``tf.contrib.learn``: the estimators from before ``tf.estimator``, over it."""
