"""Whole TensorFlow 1 programs, as users write them: `python program.py STEPS`; each prints its last figure. For `programs`."""
