"""tf.keras: models and what trains them."""
