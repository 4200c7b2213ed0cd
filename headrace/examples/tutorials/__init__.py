"""What TF1's tutorials import."""

from headrace.examples.tutorials import mnist as mnist
