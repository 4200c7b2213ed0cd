"""tf.contrib.stateless: random numbers that depend on a seed only; `tf.random` has them too."""

from headrace.random import stateless_multinomial as stateless_multinomial
from headrace.random import stateless_normal as stateless_random_normal
from headrace.random import stateless_truncated_normal as stateless_truncated_normal
from headrace.random import stateless_uniform as stateless_random_uniform
