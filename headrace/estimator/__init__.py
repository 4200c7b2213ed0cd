"""tf.estimator: models as one function, and the loops that train, evaluate, ask and export them."""

from headrace.estimator import inputs as inputs
from headrace.library.estimator.mode_keys import ModeKeys as ModeKeys
