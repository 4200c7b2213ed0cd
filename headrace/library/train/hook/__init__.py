"""Hooks of `tf.train`: what runs beside the steps of a monitored session."""
