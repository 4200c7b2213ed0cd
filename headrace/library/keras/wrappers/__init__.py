"""Keras models in the form that other libraries expect."""
