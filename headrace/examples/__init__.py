"""What TF1's tutorials import: ``tf.examples``."""

from headrace.examples import tutorials as tutorials
