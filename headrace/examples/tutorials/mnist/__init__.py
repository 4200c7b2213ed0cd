"""MNIST, as TF1's tutorials read it."""

from headrace.examples.tutorials.mnist import input_data as input_data
