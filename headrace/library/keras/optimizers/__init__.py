"""tf.keras.optimizers: rules that change variables by gradients, with state and hyper-parameters that are variables."""
