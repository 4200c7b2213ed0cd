"""tf.contrib.learn.datasets: MNIST and comma-separated values, from local files."""

from headrace.contrib.learn.datasets import base as base
from headrace.examples.tutorials.mnist import input_data as mnist
