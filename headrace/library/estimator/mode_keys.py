"""What a model function is called for."""

from __future__ import annotations


class ModeKeys:
    """The values of a model function's argument ``mode``.

    >>> tf.estimator.ModeKeys.PREDICT
    'infer'
    """

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
