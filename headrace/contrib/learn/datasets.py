"""tf.contrib.learn.datasets: MNIST from local files."""

from headrace.examples.tutorials.mnist import input_data as mnist
